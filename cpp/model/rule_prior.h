// The prior of a tree: how deep it is, and what rules it has.
#pragma once

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "model/cell.h"
#include "model/data.h"
#include "model/settings.h"
#include "model/tree.h"

namespace obart {

// Logs of alpha (1 + d)^-beta and of its complement, by depth.
class DepthPrior {
 public:
  explicit DepthPrior(const DepthSettings& settings);
  double split(int depth) const { return split_[index(depth)]; }
  double log_split(int depth) const { return log_split_[index(depth)]; }
  double log_stay(int depth) const { return log_stay_[index(depth)]; }

 private:
  std::size_t index(int depth) const {
    return std::min(static_cast<std::size_t>(depth), split_.size() - 1);
  }
  std::vector<double> split_, log_split_, log_stay_;
};

// Log of the probability that random sides for n levels leave neither side empty: 1 - 2^(1 - n).
double log_proper_mass(std::uint32_t n_levels);

enum class DrawMode {
  raw,          // the prior as written; a trivial rule is not valid (the simulator's mode)
  non_trivial,  // given phi != 0 and a proper subset, the mass of which log_mass() gives
};

class RulePrior {
 public:
  RulePrior(const Data& data, const EnsembleSettings& settings);
  // One probability for all columns (a vector of length 1), or one for each; with axis rules, the
  // columns' weights.
  void set_theta(const std::vector<double>& theta);

  // Draws a rule for `node`. Returns false, and holds no span, where the draw is not valid.
  bool draw(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry, const Tree& tree,
            int node, Rule& rule);

  // Log of the prior mass of non-trivial rules of this kind at the node: p(rule) / q(rule).
  double log_mass(const Rule& rule) const {
    return rule.kind == RuleKind::categorical ? rule.log_subset_mass : log_nonzero_mass_;
  }

  // The cut at relative position u of the range, rounded; false where rounding leaves the range.
  static bool place_cut(const Range& range, double u, float& cut);
  bool has_missing(const RulePools& pools, const Rule& rule) const;

 private:
  bool draw_categorical(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry,
                        const Tree& tree, int node, Rule& rule);
  bool draw_continuous(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry,
                       const Tree& tree, int node, Rule& rule);
  void draw_support(bool given_nonzero, Rng& rng);
  bool draw_direction(Rng& rng);
  std::uint32_t draw_axis(Rng& rng) const;

  const Data& data_;
  bool axis_rules_;
  bool zero_is_legal_;  // phi = 0, where leaves may be empty
  bool any_missing_ = false;
  bool all_columns_ = false;         // theta is 1
  std::vector<double> theta_;        // as it was set
  std::vector<double> zero_run_;     // probability that none of columns 0..j is in the support
  std::vector<double> nonzero_run_;  // its complement
  std::vector<double> column_cdf_;   // axis rules with weights
  double nonzero_mass_ = 1.0;        // 1 - product of (1 - theta_j)
  double log_nonzero_mass_ = 0.0;    // its log, where zero rules are not legal; else 0
  std::vector<PhiEntry> phi_;        // scratch
  std::vector<double> slab_;
  std::vector<std::uint32_t> available_;
};

}  // namespace obart
