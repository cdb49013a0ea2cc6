#include "sweep/accept.h"

#include "base/planted_bugs.h"

namespace obart {
namespace {

void drop_rule(Ensemble& ensemble, const Rule& rule) {
  ensemble.rule_counts.add(ensemble.pools, rule, -1);
  ensemble.pools.release(rule);
}

}  // namespace

void accept_move(Ensemble& ensemble, Workspace& work, std::size_t m) {
  Tree& tree = ensemble.trees[m];
  const Proposal& proposal = work.proposals[m];
  const RightCounts& counts = work.right_counts[m];
  Node& node = tree.node(proposal.node);
  ensemble.changed[m] = 1;
  ++work.moves.accepted[static_cast<std::size_t>(proposal.move)];
  switch (proposal.effect) {
    case Effect::split_leaf: {
      const std::int64_t n_left =
          OBART_BUG(stale_counts_after_swap) ? node.n_rows : node.n_rows - counts.of_left;
      ensemble.rule_counts.add(ensemble.pools, proposal.rule, 1);
      tree.grow(proposal.node, proposal.rule, n_left, counts.of_left);
      break;
    }
    case Effect::merge_leaves:
      drop_rule(ensemble, node.rule);
      tree.prune(proposal.node);
      break;
    case Effect::replace_rule: {
      Node& left = tree.node(node.left);
      Node& right = tree.node(node.right);
      const std::int64_t n_all = left.n_rows + right.n_rows;
      right.n_rows = counts.of_left + counts.of_right;
      left.n_rows = n_all - right.n_rows;
      drop_rule(ensemble, node.rule);
      ensemble.rule_counts.add(ensemble.pools, proposal.rule, 1);
      node.rule = proposal.rule;
      break;
    }
  }
  // The rule's span is the tree's now; the proposal only remembers that there was a rule.
}

}  // namespace obart
