#include "sweep/scales.h"

#include <cmath>
#include <limits>

#include "base/planted_bugs.h"
#include "base/slice.h"

namespace obart {
namespace {

// A joint scaling reads and writes all rows: where they are many, not in every sweep.
constexpr std::int64_t kScalingSweeps = 4;

// Factors stay within floats.
constexpr double kMostLogFactor = 35.0;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// What the density of the outputs and the Jacobian contribute where all terms and leaf_sd are
// scaled by a factor. If outputs are normal, that is nothing: the two cancel. If they are factors
// h, these become h^factor.
double log_scaled_outputs(const Ensemble& ensemble, double factor) {
  const auto of_leaf = [&]<class Leaf>(const Leaf&) {
    if constexpr (Leaf::kScaleIsConjugate) {
      return 0.0;
    } else {
      typename Leaf::OutputSums sums;
      double log_jacobian = 0.0;
      for (const Tree& tree : ensemble.trees)
        for (int c = 0; c < tree.n_leaves(); ++c) {
          const double log_h = det_log(static_cast<double>(tree.leaf_node(c).output));
          if (!(std::abs(factor * log_h) < kMostLogFactor)) return kImpossible;
          Leaf::add_output(det_exp(factor * log_h), factor * log_h, sums);
          log_jacobian += (factor - 1.0) * log_h;
        }
      log_jacobian += sums.n * det_log(factor);
      return Leaf::log_outputs(ensemble.leaf_sd * factor, sums) +
             (OBART_BUG(scaling_jacobian_missing) ? 0.0 : log_jacobian);
    }
  };
  return std::visit(of_leaf, ensemble.leaf_model);
}

// A step in u = log factor: the likelihood, the prior of log leaf_sd, and that of the outputs.
double draw_factor(ChainState& state, std::size_t e) {
  const Ensemble& ensemble = state.ensembles[e];
  const LeafSettings& prior = ensemble.settings.leaf;
  const Likelihood& likelihood = *state.likelihood;
  Rng& rng = state.rng;
  state.likelihood->begin_scaling(state.ensembles, e, state.sigma);
  const double pull = prior.leaf_rate / (ensemble.leaf_sd * ensemble.leaf_sd);
  const auto log_density = [&](double u) {
    const double factor = det_exp(u);
    double out = OBART_BUG(scaling_fit_missing) ? 0.0 : likelihood.log_scaled(factor);
    if (!OBART_BUG(scaling_prior_missing))
      out -= 2.0 * prior.leaf_shape * u + pull / (factor * factor);
    return out + log_scaled_outputs(ensemble, factor);
  };
  return det_exp(slice_step(log_density, likelihood.scaling().width, rng));
}

// Where leaf_sd is not conjugate: a step in u, by which log leaf_sd moves.
template <class Leaf>
double draw_scale(const Ensemble& ensemble, Rng& rng) {
  const LeafSettings& prior = ensemble.settings.leaf;
  typename Leaf::OutputSums sums;
  for (const Tree& tree : ensemble.trees)
    for (int c = 0; c < tree.n_leaves(); ++c) {
      const auto output = static_cast<double>(tree.leaf_node(c).output);
      Leaf::add_output(output, det_log(output), sums);
    }
  const auto log_density = [&](double u) {
    const double leaf_sd = ensemble.leaf_sd * det_exp(u);
    const double log_prior =
        -2.0 * prior.leaf_shape * det_log(leaf_sd) - prior.leaf_rate / (leaf_sd * leaf_sd);
    return (OBART_BUG(gamma_scale_prior_missing) ? 0.0 : log_prior) +
           Leaf::log_outputs(leaf_sd, sums);
  };
  return ensemble.leaf_sd * det_exp(slice_step(log_density, 0.2, rng));
}

void add_squares(const Tree& tree, double unit, double& sum) {
  for (int c = 0; c < tree.n_leaves(); ++c) {
    const double output = static_cast<double>(tree.leaf_node(c).output) / unit;
    sum += output * output;
  }
}

// Given the outputs, leaf_sd^2 is inverse-gamma.
double draw_conjugate_scale(const Ensemble& ensemble, Rng& rng) {
  const LeafSettings& prior = ensemble.settings.leaf;
  double squares = 0.0;
  std::int64_t n_leaves = 0;
  for (std::size_t m = 0; m < ensemble.trees.size(); ++m) {
    n_leaves += ensemble.trees[m].n_leaves();
    const double scale = OBART_BUG(leaf_sd_without_tree_scales) ? 1.0 : ensemble.tree_scale(m);
    add_squares(ensemble.trees[m], scale, squares);
  }
  return std::sqrt((prior.leaf_rate + 0.5 * squares) /
                   rng.gamma(prior.leaf_shape + 0.5 * static_cast<double>(n_leaves)));
}

}  // namespace

// Two steps. Given the outputs leaf_sd moves slowly: there are hundreds of them, which hold it. So
// first leaf_sd and all outputs are scaled together by a factor, which
// only the data and the prior of leaf_sd hold.
void update_leaf_sd(ChainState& state, std::size_t e) {
  Ensemble& ensemble = state.ensembles[e];
  const LeafSettings& prior = ensemble.settings.leaf;
  const bool is_turn = ensemble.data.n_rows_in_all() <= state.likelihood->scaling().many_rows ||
                       state.n_sweeps % kScalingSweeps == 0;
  if (prior.scale_jointly && state.likelihood->can_scale(e) && is_turn) {
    const double factor = draw_factor(state, e);
    ensemble.leaf_sd *= factor;
    ensemble.scale_terms(factor);
    state.likelihood->end_scaling(factor);
  }
  ensemble.leaf_sd = std::visit(
      [&]<class Leaf>(const Leaf&) {
        if constexpr (Leaf::kScaleIsConjugate)
          return draw_conjugate_scale(ensemble, state.rng);
        else
          return draw_scale<Leaf>(ensemble, state.rng);
      },
      ensemble.leaf_model);
}

void update_tree_scales(Ensemble& ensemble, Rng& rng) {
  const double half_df = 0.5 * ensemble.settings.leaf.tree_df;
  for (std::size_t m = 0; m < ensemble.tree_scales.size(); ++m) {
    const Tree& tree = ensemble.trees[m];
    const double n_leaves = OBART_BUG(tree_scale_one_leaf) ? 1.0 : tree.n_leaves();
    double squares = 0.0;
    add_squares(tree, OBART_BUG(tree_scale_of_outputs) ? 1.0 : ensemble.leaf_sd, squares);
    ensemble.tree_scales[m] =
        std::sqrt((half_df + 0.5 * squares) / rng.gamma(half_df + 0.5 * n_leaves));
  }
}

}  // namespace obart
