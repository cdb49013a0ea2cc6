// Proposals: grow, prune, change, perturb, with the terms of log_accept that need no data.
#pragma once

#include <cstdint>

#include "prior.h"

namespace obart {

enum class Move : std::uint8_t { grow, prune, change, perturb };
inline constexpr int kNumMoves = 4;
inline constexpr const char* kMoveNames[kNumMoves] = {"grow", "prune", "change", "perturb"};

struct Proposal {
  Move move = Move::grow;
  bool valid = false;  // a proposal that is not valid is rejected without a look at the data
  int node = 0;        // the leaf to split, or the nog to prune or to give another rule
  Rule rule;           // the new rule of grow, change and perturb; its span is the proposal's
  std::uint8_t left_code = 0;  // codes of the node's children (grow: left_code is the leaf's)
  std::uint8_t right_code = 0;
  double log_prior_ratio = 0.0;       // depth terms of p(T*) / p(T)
  double log_transition_ratio = 0.0;  // q(T | T*) / q(T* | T), rules' densities taken together
  bool has_rule() const { return valid && move != Move::prune; }
};

class MoveMaker {
 public:
  MoveMaker(const Data& data, const Settings& settings);
  void set_theta(const std::vector<double>& theta) { rule_prior_.set_theta(theta); }
  Proposal propose(const Tree& tree, RulePools& pools, Rng& rng);
  CellGeometry& geometry() { return geometry_; }

 private:
  Move choose(const Tree& tree, Rng& rng) const;
  void grow(const Tree& tree, RulePools& pools, Rng& rng, Proposal& proposal);
  void prune(const Tree& tree, Rng& rng, Proposal& proposal);
  void change(const Tree& tree, RulePools& pools, Rng& rng, Proposal& proposal);
  void perturb(const Tree& tree, RulePools& pools, Rng& rng, Proposal& proposal);
  bool perturb_continuous(const Tree& tree, RulePools& pools, Rng& rng, int node, Rule& rule);
  bool perturb_categorical(const Tree& tree, RulePools& pools, Rng& rng, int node, Rule& rule);
  void choose_nog(const Tree& tree, Rng& rng, Proposal& proposal) const;
  double log_depth_ratio(int depth) const;
  double log_p_grow(int n_leaves) const;

  const Data& data_;
  const Settings& settings_;
  DepthPrior depth_prior_;
  RulePrior rule_prior_;
  CellGeometry geometry_;
  double p_prune_;  // also of grow, but at a root-only tree
  double log_p_prune_;
  std::vector<double> log_int_;
  std::vector<PhiEntry> phi_;
  std::vector<double> direction_;
  std::vector<std::uint32_t> available_;
};

}  // namespace obart
