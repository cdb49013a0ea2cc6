// The prior of a tree: how deep it is, and what rules it has.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/random.h"
#include "model/cell.h"
#include "model/data.h"
#include "model/directions.h"
#include "model/patch.h"
#include "model/settings.h"
#include "model/support.h"
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

// A number folded into [0, 1] at both ends.
double reflect(double u);

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
  // Of the components of a mixture; nothing where there is only one.
  void set_direction_weights(const std::vector<double>& weights);

  // Draws a rule for `node`. Returns false, and holds no span, where the draw is not valid.
  bool draw(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry, const Tree& tree,
            int node, Rule& rule);

  // Log of the prior mass of non-trivial rules of this kind at the node: p(rule) / q(rule).
  double log_mass(const Rule& rule) const {
    return rule.kind == RuleKind::categorical ? rule.log_subset_mass
                                              : components_[rule.component].log_mass;
  }

  // Another direction of the same component near this one, by steps that are symmetric up to the
  // ratio whose log is returned; nothing where there is none. A direction may stay as it is.
  std::optional<double> perturb_direction(std::uint8_t component, double angle, Rng& rng,
                                          std::vector<PhiEntry>& phi);
  // The side of missing values after such a step: from its prior where it had no meaning before.
  void update_missing_side(const RulePools& pools, const Rule& old, Rule& rule, Rng& rng) const;
  // Another width of a soft rule, by a step that keeps its prior; false where it is not valid.
  bool perturb_width(const RulePools& pools, Rng& rng, Rule& rule) const;
  // Rules at near places have columns in common, where the directions tell; else all are at 0.
  bool has_places() const { return has_places_; }
  std::uint64_t place(const RulePools& pools, const Rule& rule) const;
  // Whether a continuous rule may come from the component it names.
  bool is_member(const RulePools& pools, const Rule& rule) const;

  // The cut at relative position u of the range, rounded; false where rounding leaves the range.
  static bool place_cut(const Range& range, double u, float& cut);
  bool has_missing(const RulePools& pools, const Rule& rule) const;

 private:
  // A kind of directions with what it needs.
  struct Component {
    DirectionKind kind = DirectionKind::sparse;
    std::vector<std::uint32_t> columns;  // axis: none are all
    std::vector<SupportPrior> supports;  // one, or one for each group
    std::optional<PatchPrior> patch;
    double log_mass = 0.0;  // of directions that are not zero, where zero rules are not legal
  };

  static std::vector<Component> make_components(const Data& data, const RuleSettings& settings);
  bool draw_categorical(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry,
                        const Tree& tree, int node, Rule& rule);
  bool draw_continuous(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry,
                       const Tree& tree, int node, Rule& rule);
  std::uint8_t draw_component(Rng& rng) const;
  bool draw_phi(Component& component, bool given_nonzero, Rng& rng);
  bool draw_values(Rng& rng);
  void draw_signs(Rng& rng);
  std::uint32_t draw_axis(const Component& component, Rng& rng) const;

  const Data& data_;
  bool is_soft_;
  double width_scale_;  // of soft rules
  bool zero_is_legal_;  // phi = 0, where leaves may be empty
  bool any_missing_ = false;
  bool has_places_ = false;
  std::vector<Component> components_;
  std::vector<double> component_cdf_;  // of several
  std::vector<double> column_cdf_;     // axis rules with weights
  std::vector<PhiEntry> phi_;          // scratch
  std::vector<double> slab_;
  std::vector<std::uint32_t> available_;
};

}  // namespace obart
