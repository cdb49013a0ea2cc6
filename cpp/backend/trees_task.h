// All trees of an ensemble, to be updated one after the other without coming back in between. Also
// compiled for graphics cards.
#pragma once

#include <cstdint>

#include "base/prune_codes.h"

namespace obart {

// What a proposal does to a tree.
enum class TreeEffect : std::uint8_t { split, merge, replace };

// A tree, and what is proposed for it.
struct TreeTask {
  double log_prior_ratio, log_transition_ratio;
  double right_of_left, right_of_right;  // rows that the rule sends right, by code
  double inv_tau2;                       // of an output, a priori
  std::int32_t n_leaves;
  std::int32_t first;  // of its outputs; there is room for one more than it has leaves
  TreeEffect effect;
  bool is_valid;
  std::uint8_t left_code, right_code;
  PruneCodes prune;

  bool has_rule() const { return is_valid && effect != TreeEffect::merge; }
  bool replaces() const { return is_valid && effect == TreeEffect::replace; }
  int n_cells() const {
    return n_leaves + (has_rule() ? (effect == TreeEffect::split ? 1 : 2) : 0);
  }
};

// The prior and the noise that outputs have, as in ensemble/normal_leaf.h.
struct NormalOutputs {
  double inv_sigma2;
  double correlation, fresh;
  bool keeps_deviations, uses_data;
};

struct TreesTask {
  const TreeTask* trees;
  std::int32_t n_trees;
  std::int32_t n_outputs;  // with the room for one more
  const double* n_rows;    // of each leaf
  const float* outputs;    // of each leaf
  NormalOutputs leaves;
  const float* weight;     // of the rows, or null
  std::uint64_t* rng;      // the four words of the chain's generator, in and out
  std::uint8_t* accepted;  // out, by tree
  float* new_outputs;      // out
};

}  // namespace obart
