// Draws the rule of a nog from the prior again.
#include "base/planted_bugs.h"
#include "moves/move.h"

namespace obart {

void propose_change(MoveContext& context, const Tree& tree, RulePools& pools, Rng& rng,
                    Proposal& proposal) {
  proposal.effect = Effect::replace_rule;
  context.choose_nog(tree, rng, proposal);
  proposal.valid = context.draw_rule(tree, pools, rng, proposal);
  if (!proposal.valid || OBART_BUG(change_factor_missing)) return;
  proposal.log_transition_ratio = context.rule_prior.log_mass(proposal.rule) -
                                  context.rule_prior.log_mass(tree.node(proposal.node).rule);
}

}  // namespace obart
