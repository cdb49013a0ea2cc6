// Moves the rule of a nog a little: its direction and cut, or its width if it is soft, or one level
// of its category.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/planted_bugs.h"
#include "model/gate.h"
#include "moves/move.h"

namespace obart {
namespace {

// In (phi, u), u = (cut - lo) / (hi - lo), the prior of u is uniform and its step symmetric, by
// reflection; the component of the rule steps from phi to another direction.
bool perturb_continuous(MoveContext& context, const Tree& tree, RulePools& pools, Rng& rng,
                        Proposal& proposal) {
  Rule& rule = proposal.rule;
  const int node = proposal.node;
  std::vector<PhiEntry>& phi = context.phi;
  if (rule.n_items == 0) return false;
  phi.assign(pools.phi.at(rule.offset), pools.phi.at(rule.offset) + rule.n_items);
  const Range old_range = context.geometry.range(pools, tree, node, phi);
  const std::optional<double> log_ratio = context.rule_prior.perturb_direction(
      rule.component, context.settings.moves.perturb_angle, rng, phi);
  if (!log_ratio) return false;
  const PhiEntry first = *pools.phi.at(rule.offset);
  const bool is_same = phi.size() == 1 && rule.n_items == 1 && phi[0].column == first.column &&
                       phi[0].value == first.value;
  const Range range = is_same ? old_range : context.geometry.range(pools, tree, node, phi);
  if (!old_range.valid || !range.valid) return false;
  double u = (static_cast<double>(rule.cut) - old_range.lo) / (old_range.hi - old_range.lo);
  u += context.settings.moves.perturb_shift * (2.0 * rng.uniform() - 1.0);
  if (OBART_BUG(perturb_unreflected)) u = std::clamp(u, 0.01, 0.99);
  if (!RulePrior::place_cut(range, reflect(u), rule.cut)) return false;
  const Rule& old = tree.node(node).rule;
  if (context.settings.rules.soft && !OBART_BUG(width_not_rescaled)) {
    // The width stays the same part of what phi'x may be.
    const double old_half = half_range({pools.phi.at(rule.offset), rule.n_items});
    rule.width = static_cast<float>(static_cast<double>(rule.width) * half_range(phi) / old_half);
    if (!is_valid_width(rule.width)) return false;
  }
  rule.n_items = static_cast<std::uint32_t>(phi.size());
  rule.offset = pools.phi.allocate(rule.n_items);
  std::copy(phi.begin(), phi.end(), pools.phi.at(rule.offset));
  context.rule_prior.update_missing_side(pools, old, rule, rng);
  proposal.log_transition_ratio = *log_ratio;
  return true;
}

// Another width, the direction and the cut as they are.
bool perturb_width(MoveContext& context, RulePools& pools, Rng& rng, Rule& rule) {
  if (rule.n_items == 0 || !context.rule_prior.perturb_width(pools, rng, rule)) return false;
  const std::uint32_t old_offset = rule.offset;
  rule.offset = pools.phi.allocate(rule.n_items);
  const PhiEntry* const phi = pools.phi.at(old_offset);
  std::copy(phi, phi + rule.n_items, pools.phi.at(rule.offset));
  return true;
}

// Sends one level of those available to the other side.
bool perturb_categorical(MoveContext& context, const Tree& tree, RulePools& pools, Rng& rng,
                         int node, Rule& rule) {
  std::vector<std::uint32_t>& available = context.available;
  const std::uint32_t count =
      context.geometry.available_levels(pools, tree, node, rule.column, available.data());
  std::uint32_t k = rng.below(count);
  std::uint32_t word = 0;
  for (;; ++word) {
    const auto here = static_cast<std::uint32_t>(std::popcount(available[word]));
    if (k < here) break;
    k -= here;
  }
  std::uint32_t bits = available[word];
  for (; k > 0; --k) bits &= bits - 1U;
  const std::uint32_t flip = bits & (~bits + 1U);
  const std::uint32_t old_offset = rule.offset;
  rule.offset = pools.levels.allocate(rule.n_items);
  const std::uint32_t* old_right = pools.levels.at(old_offset);
  std::uint32_t* right = pools.levels.at(rule.offset);
  bool any_left = false;
  bool any_right = false;
  for (std::uint32_t w = 0; w < rule.n_items; ++w) {
    right[w] = old_right[w] ^ (w == word ? flip : 0U);
    any_right |= right[w] != 0;
    any_left |= right[w] != available[w];
  }
  if (any_left && any_right) return true;
  pools.release(rule);
  return false;
}

}  // namespace

void propose_perturb(MoveContext& context, const Tree& tree, RulePools& pools, Rng& rng,
                     Proposal& proposal) {
  proposal.effect = Effect::replace_rule;
  context.choose_nog(tree, rng, proposal);
  const Rule& old = tree.node(proposal.node).rule;
  proposal.rule = old;
  if (context.settings.rules.soft && old.kind == RuleKind::continuous && rng.coin()) {
    proposal.valid = perturb_width(context, pools, rng, proposal.rule);
    return;
  }
  proposal.valid =
      old.kind == RuleKind::continuous
          ? perturb_continuous(context, tree, pools, rng, proposal)
          : perturb_categorical(context, tree, pools, rng, proposal.node, proposal.rule);
}

}  // namespace obart
