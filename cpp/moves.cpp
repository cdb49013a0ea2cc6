#include "moves.h"

#include <algorithm>
#include <cmath>

#include "planted.h"

namespace obart {

MoveMaker::MoveMaker(const Data& data, const Settings& settings)
    : data_(data),
      settings_(settings),
      depth_prior_(settings),
      rule_prior_(data, settings),
      geometry_(data.p_cont(), data.n_levels()),
      p_prune_(0.5 * (1.0 - settings.p_change - settings.p_perturb)),
      log_p_prune_(det_log(p_prune_)) {
  for (int k = 0; k <= kMaxLeaves + 2; ++k) log_int_.push_back(det_log(static_cast<double>(k)));
  phi_.reserve(static_cast<std::size_t>(data.p_cont()));
  direction_.reserve(static_cast<std::size_t>(data.p_cont()));
  std::uint32_t words = 0;
  for (const std::uint32_t n : data.n_levels()) words = std::max(words, level_words(n));
  available_.resize(words);
}

// A root-only tree can only grow.
Move MoveMaker::choose(const Tree& tree, Rng& rng) const {
  if (tree.is_root_only()) return Move::grow;
  const double u = rng.uniform();
  if (u < p_prune_) return Move::grow;
  if (u < 2.0 * p_prune_) return Move::prune;
  return u < 2.0 * p_prune_ + settings_.p_change ? Move::change : Move::perturb;
}

double MoveMaker::log_p_grow(int n_leaves) const {
  return n_leaves == 1 && !OBART_BUG(root_ratio_missing) ? 0.0 : log_p_prune_;
}

// First factor of the paper's grow ratio, for a node at this depth.
double MoveMaker::log_depth_ratio(int depth) const {
  const int d = OBART_BUG(depth_off_by_one) ? depth + 1 : depth;
  return depth_prior_.log_split(d) + 2.0 * depth_prior_.log_stay(d + 1) - depth_prior_.log_stay(d);
}

Proposal MoveMaker::propose(const Tree& tree, RulePools& pools, Rng& rng) {
  Proposal proposal;
  proposal.move = choose(tree, rng);
  switch (proposal.move) {
    case Move::grow:
      grow(tree, pools, rng, proposal);
      break;
    case Move::prune:
      prune(tree, rng, proposal);
      break;
    case Move::change:
      change(tree, pools, rng, proposal);
      break;
    case Move::perturb:
      perturb(tree, pools, rng, proposal);
      break;
  }
  return proposal;
}

void MoveMaker::grow(const Tree& tree, RulePools& pools, Rng& rng, Proposal& proposal) {
  const int n_leaves = tree.n_leaves();
  const int nx = tree.leaf(static_cast<int>(rng.below(static_cast<std::uint32_t>(n_leaves))));
  const Node& node = tree.node(nx);
  proposal.node = nx;
  proposal.left_code = proposal.right_code = node.code;
  if (node.depth >= settings_.max_depth || n_leaves >= kMaxLeaves) return;
  if (node.n_rows < 2 * settings_.min_samples_leaf && !OBART_BUG(min_leaf_ignored)) return;
  if (!rule_prior_.draw(DrawMode::non_trivial, rng, pools, geometry_, tree, nx, proposal.rule))
    return;
  proposal.valid = true;
  const bool parent_was_nog = node.parent != kNone && tree.is_nog(node.parent);
  int n_nogs = tree.n_nogs() + (parent_was_nog ? 0 : 1);
  if (OBART_BUG(nog_count_off_by_one)) n_nogs += 1;
  const int n_choices = OBART_BUG(leaf_count_off_by_one) ? n_leaves + 1 : n_leaves;
  proposal.log_prior_ratio = log_depth_ratio(node.depth);
  proposal.log_transition_ratio =
      (log_p_prune_ - log_int_[static_cast<std::size_t>(n_nogs)]) -
      (log_p_grow(n_leaves) - log_int_[static_cast<std::size_t>(n_choices)]) +
      rule_prior_.log_mass(proposal.rule);
}

void MoveMaker::choose_nog(const Tree& tree, Rng& rng, Proposal& proposal) const {
  const auto n_nogs = static_cast<std::uint32_t>(tree.n_nogs());
  proposal.node = tree.nth_nog(static_cast<int>(rng.below(n_nogs)));
  const Node& nog = tree.node(proposal.node);
  proposal.left_code = tree.node(nog.left).code;
  proposal.right_code = tree.node(nog.right).code;
}

void MoveMaker::prune(const Tree& tree, Rng& rng, Proposal& proposal) {
  choose_nog(tree, rng, proposal);
  const Node& nx = tree.node(proposal.node);
  const int n_leaves = tree.n_leaves() - 1;
  proposal.valid = true;
  proposal.log_prior_ratio = -log_depth_ratio(nx.depth);
  if (OBART_BUG(prune_not_inverted)) proposal.log_prior_ratio = log_depth_ratio(nx.depth);
  proposal.log_transition_ratio =
      (log_p_grow(n_leaves) - log_int_[static_cast<std::size_t>(n_leaves)]) -
      (log_p_prune_ - log_int_[static_cast<std::size_t>(tree.n_nogs())]) -
      rule_prior_.log_mass(nx.rule);
}

void MoveMaker::change(const Tree& tree, RulePools& pools, Rng& rng, Proposal& proposal) {
  choose_nog(tree, rng, proposal);
  proposal.valid = rule_prior_.draw(DrawMode::non_trivial, rng, pools, geometry_, tree,
                                    proposal.node, proposal.rule);
  if (!proposal.valid || OBART_BUG(change_factor_missing)) return;
  proposal.log_transition_ratio =
      rule_prior_.log_mass(proposal.rule) - rule_prior_.log_mass(tree.node(proposal.node).rule);
}

void MoveMaker::perturb(const Tree& tree, RulePools& pools, Rng& rng, Proposal& proposal) {
  choose_nog(tree, rng, proposal);
  const RuleKind kind = tree.node(proposal.node).rule.kind;
  proposal.rule = tree.node(proposal.node).rule;
  proposal.valid = kind == RuleKind::continuous
                       ? perturb_continuous(tree, pools, rng, proposal.node, proposal.rule)
                       : perturb_categorical(tree, pools, rng, proposal.node, proposal.rule);
}

// In (phi, u), u = (cut - lo) / (hi - lo), the prior is uniform and the step symmetric: a step on
// the sphere of the support by normalising phi + angle z, a reflected step of u.
bool MoveMaker::perturb_continuous(const Tree& tree, RulePools& pools, Rng& rng, int node,
                                   Rule& rule) {
  if (rule.n_items == 0) return false;
  phi_.assign(pools.phi.at(rule.offset), pools.phi.at(rule.offset) + rule.n_items);
  const Range old_range = geometry_.range(pools, tree, node, phi_);
  Range range = old_range;
  if (phi_.size() > 1) {
    double norm = 0.0;
    direction_.clear();
    for (const PhiEntry& entry : phi_) {
      const double value =
          static_cast<double>(entry.value) + settings_.perturb_angle * rng.normal();
      direction_.push_back(value);
      norm += value * value;
    }
    norm = std::sqrt(norm);
    if (!(norm > 0.0)) return false;
    for (std::size_t k = 0; k < phi_.size(); ++k)
      phi_[k].value = static_cast<float>(direction_[k] / norm);
    range = geometry_.range(pools, tree, node, phi_);
  }
  if (!old_range.valid || !range.valid) return false;
  double u = (static_cast<double>(rule.cut) - old_range.lo) / (old_range.hi - old_range.lo);
  u += settings_.perturb_shift * (2.0 * rng.uniform() - 1.0);
  if (OBART_BUG(perturb_unreflected)) u = std::clamp(u, 0.01, 0.99);
  // Reflection at 0 and 1: fold into [0, 2), then mirror.
  u = std::abs(u);
  u -= 2.0 * std::floor(0.5 * u);
  if (u > 1.0) u = 2.0 - u;
  if (!RulePrior::place_cut(range, u, rule.cut)) return false;
  rule.offset = pools.phi.allocate(rule.n_items);
  std::copy(phi_.begin(), phi_.end(), pools.phi.at(rule.offset));
  return true;
}

// Sends one level of those available to the other side.
bool MoveMaker::perturb_categorical(const Tree& tree, RulePools& pools, Rng& rng, int node,
                                    Rule& rule) {
  const std::uint32_t count =
      geometry_.available_levels(pools, tree, node, rule.column, available_.data());
  std::uint32_t k = rng.below(count);
  std::uint32_t word = 0;
  for (;; ++word) {
    const auto here = static_cast<std::uint32_t>(std::popcount(available_[word]));
    if (k < here) break;
    k -= here;
  }
  std::uint32_t bits = available_[word];
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
    any_left |= right[w] != available_[w];
  }
  if (any_left && any_right) return true;
  pools.release(rule);
  return false;
}

}  // namespace obart
