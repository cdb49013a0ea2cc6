// Splits a leaf by a rule from the prior.
#include "base/planted_bugs.h"
#include "moves/move.h"

namespace obart {

void propose_grow(MoveContext& context, const Tree& tree, RulePools& pools, Rng& rng,
                  Proposal& proposal) {
  proposal.effect = Effect::split_leaf;
  context.choose_leaf(tree, rng, proposal);
  const int n_leaves = tree.n_leaves();
  const Node& nx = tree.node(proposal.node);
  const EnsembleSettings& settings = context.settings;
  if (nx.depth >= settings.depth.max_depth || n_leaves >= kMaxLeaves) return;
  if (nx.n_rows < 2 * settings.min_samples_leaf && !OBART_BUG(min_leaf_ignored)) return;
  if (!context.draw_rule(tree, pools, rng, proposal)) return;
  proposal.valid = true;
  const bool parent_was_nog = nx.parent != kNone && tree.is_nog(nx.parent);
  int n_nogs = tree.n_nogs() + (parent_was_nog ? 0 : 1);
  if (OBART_BUG(nog_count_off_by_one)) n_nogs += 1;
  const int n_choices = OBART_BUG(leaf_count_off_by_one) ? n_leaves + 1 : n_leaves;
  proposal.log_prior_ratio = context.log_depth_ratio(nx.depth);
  proposal.log_transition_ratio = (context.log_p_prune() - context.log_int(n_nogs)) -
                                  (context.log_p_grow(n_leaves) - context.log_int(n_choices)) +
                                  context.rule_prior.log_mass(proposal.rule);
}

}  // namespace obart
