// Draws the cut of a nog's rule anew and keeps its direction: a proposal from the prior given phi,
// so that only the likelihoods are left of the ratio.
#include "moves/move.h"

namespace obart {

void propose_recut(MoveContext& context, const Tree& tree, RulePools& pools, Rng& rng,
                   Proposal& proposal) {
  proposal.effect = Effect::replace_rule;
  context.choose_nog(tree, rng, proposal);
  const Rule& old = tree.node(proposal.node).rule;
  if (old.kind != RuleKind::continuous || old.n_items == 0) return;
  // A copy: the pool may move when it grows.
  context.phi.assign(pools.phi.at(old.offset), pools.phi.at(old.offset) + old.n_items);
  const Range range = context.geometry.range(pools, tree, proposal.node, context.phi);
  proposal.rule = old;
  if (!range.valid || !RulePrior::place_cut(range, rng.uniform(), proposal.rule.cut)) return;
  proposal.rule.offset = pools.phi.allocate(old.n_items);
  std::copy(context.phi.begin(), context.phi.end(), pools.phi.at(proposal.rule.offset));
  proposal.valid = true;
}

}  // namespace obart
