// A sum of trees, and what the rows of a table know of it. A chain may have several.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/aligned_buffer.h"
#include "draws/draws.h"
#include "ensemble/code_masks.h"
#include "ensemble/leaf_model.h"
#include "ensemble/route_plan.h"
#include "ensemble/soft_plan.h"
#include "model/data.h"
#include "model/settings.h"
#include "model/theta.h"
#include "model/tree.h"
#include "moves/move.h"

namespace obart {

// Counts of proposals, by move.
struct MoveCounts {
  using ByMove = std::array<std::int64_t, kNumMoves>;
  ByMove proposed{}, accepted{}, invalid{};
  MoveCounts& operator+=(const MoveCounts& other);
};

// The trees of an ensemble as plain values.
struct TreesRecord {
  Draws trees;                          // one draw
  std::vector<std::uint8_t> leaf_code;  // by tree, leaves in preorder
};

struct Ensemble {
  // Without a backend it has room for the state's values only, not for the leaf codes of the rows.
  Ensemble(const Data& table, const EnsembleSettings& settings, Backend* backend);
  Ensemble(const Ensemble&) = delete;
  Ensemble& operator=(const Ensemble&) = delete;

  const Data data;  // without the columns that the rules do not see
  const EnsembleSettings settings;
  Backend* const backend;  // where the rows are worked on, or null

  // ---- state ----
  std::vector<Tree> trees;
  RulePools pools;  // of the trees' rules
  double leaf_sd;
  std::vector<double> tree_scales;        // of the trees' outputs, over leaf_sd; none: all are one
  std::vector<double> theta;              // one value, or one for each continuous column
  std::vector<double> direction_weights;  // of a mixture; none where it has one component
  std::vector<std::uint8_t> changed;      // trees that differ from the last kept draw
  MoveCounts total_moves;
  AlignedBuffer<double> target;  // what the trees are to explain: the likelihood writes it
  AlignedBuffer<float>
      residual;  // what the trees leave of it: target - sum of the trees, if normal

  // ---- given ----
  AlignedBuffer<float> weight;  // of the rows, from the likelihood; empty: all are one
  bool uses_data = true;        // otherwise the chain samples the prior

  // ---- what follows from the state ----
  AlignedBuffer<std::uint8_t> code;    // leaf codes, n_trees x n_padded
  AlignedBuffer<std::uint64_t> right;  // n_trees x n_groups; not written in blocks without the leaf
  CodeMasks masks;                     // codes of each tree in each block
  RuleCounts rule_counts;

  // ---- how it moves ----
  LeafModel leaf_model;
  Proposer proposer;
  RoutePlan plan;            // scratch
  SoftPlan soft_plan;        // scratch of a refresh of soft rules
  std::vector<float> terms;  // scratch of a refresh, kTableSize for each tree
  std::vector<TreeTerms> tree_terms;

  std::uint8_t* codes(std::size_t m) { return code.data() + m * n_padded(); }
  const std::uint8_t* codes(std::size_t m) const { return code.data() + m * n_padded(); }
  std::uint64_t* rights(std::size_t m) {
    return right.data() + m * static_cast<std::size_t>(data.n_groups());
  }
  double tree_scale(std::size_t m) const { return tree_scales.empty() ? 1.0 : tree_scales[m]; }
  double leaf_sd_of(std::size_t m) const { return leaf_sd * tree_scale(m); }
  std::size_t n_padded() const { return static_cast<std::size_t>(data.n_padded()); }
  const float* weights() const { return weight.size() > 0 ? weight.data() : nullptr; }
  void set_weights(const double* values);
  // One value stands for all columns where each has its own.
  void set_theta(const std::vector<double>& values);
  void set_direction_weights(const std::vector<double>& values);
  void set_tree_scales(const std::vector<double>& values);

  // Adds the task that evaluates a rule on the rows of tree m.
  void add_route_task(std::size_t m, const Rule& rule, std::uint8_t left, std::uint8_t right_code);

  // The float residual drifts by rounding; this computes it anew.
  void refresh_residual(const std::atomic<bool>* stop = nullptr);
  double weighted_squares() const;  // of w r^2
  FitSums fit_sums() const;
  // All outputs times a factor, or to its power if they are factors; and the residual with them.
  void scale_terms(double factor);
  // Of an ensemble of sums: all of f moves by so much, an equal part in each tree, and the target
  // with it.
  void shift_outputs(double shift);

  Draws to_draws() const;
  void save_trees(TreesRecord& record) const;
  // Throws std::invalid_argument if the record does not fit, and says what is wrong.
  void check_trees(const TreesRecord& record) const;
  // Codes are computed anew for the trees that differ from those that are here.
  void restore_trees(const TreesRecord& record);

  // The sum of the trees' terms at each row, by plain traversal.
  std::vector<double> fit() const;
  // Everything that should follow from the state and does not.
  void check(std::vector<std::string>& problems) const;

 private:
  void refresh_soft(const std::atomic<bool>* stop);
  void scale_outputs(double factor);
  void raise_outputs(double power);
  FitRows fit_rows() const;
  std::int64_t most_leaves() const;
  void reserve();
  void rebuild_codes(const std::vector<std::uint8_t>& wanted);
};

using Ensembles = std::deque<Ensemble>;

}  // namespace obart
