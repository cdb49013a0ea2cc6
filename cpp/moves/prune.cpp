// Merges the two leaves of a nog: the reverse of grow.
#include "base/planted_bugs.h"
#include "moves/move.h"

namespace obart {

void propose_prune(MoveContext& context, const Tree& tree, RulePools&, Rng& rng,
                   Proposal& proposal) {
  proposal.effect = Effect::merge_leaves;
  context.choose_nog(tree, rng, proposal);
  const Node& nx = tree.node(proposal.node);
  const int n_leaves = tree.n_leaves() - 1;
  proposal.valid = true;
  proposal.log_prior_ratio = -context.log_depth_ratio(nx.depth);
  if (OBART_BUG(prune_not_inverted)) proposal.log_prior_ratio = context.log_depth_ratio(nx.depth);
  proposal.log_transition_ratio = (context.log_p_grow(n_leaves) - context.log_int(n_leaves)) -
                                  (context.log_p_prune() - context.log_int(tree.n_nogs())) -
                                  context.rule_prior.log_mass(nx.rule);
}

}  // namespace obart
