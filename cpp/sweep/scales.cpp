#include "sweep/scales.h"

#include <cmath>

#include "base/planted_bugs.h"

namespace obart {
namespace {

// A joint scaling reads and writes all rows: where they are many, not in every sweep.
constexpr std::int64_t kScalingSweeps = 4;

// Slice sampling (Neal 2003: step out, shrink) of u = log factor. The outputs' density and the
// Jacobian cancel; left are the likelihood and the prior of log leaf_sd.
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
    return out;
  };
  const double width = likelihood.scaling().width;
  constexpr int max_steps = 20;
  const double level = log_density(0.0) + det_log(rng.uniform());
  double low = -width * rng.uniform();
  double high = low + width;
  const int steps = static_cast<int>(rng.below(max_steps));
  for (int k = steps; k > 0 && log_density(low) > level; --k) low -= width;
  for (int k = max_steps - 1 - steps; k > 0 && log_density(high) > level; --k) high += width;
  for (;;) {
    const double u = low + rng.uniform() * (high - low);
    if (log_density(u) > level) return det_exp(u);
    (u < 0.0 ? low : high) = u;
    if (high - low < 1e-12) return 1.0;
  }
}

}  // namespace

// Two steps. Given the outputs, leaf_sd^2 is inverse-gamma; but hundreds of outputs hold it, so
// that it moves slowly. So first leaf_sd and all outputs are scaled together by a factor, which
// only the data and the prior of leaf_sd hold.
void update_leaf_sd(ChainState& state, std::size_t e) {
  Ensemble& ensemble = state.ensembles[e];
  const LeafSettings& prior = ensemble.settings.leaf;
  const bool is_turn = ensemble.data.n_rows() <= state.likelihood->scaling().many_rows ||
                       state.n_sweeps % kScalingSweeps == 0;
  // Other ensembles have moved since the target of this one was written.
  const bool is_alone = state.ensembles.size() == 1;
  if (prior.scale_jointly && is_alone && is_turn) {
    const double factor = draw_factor(state, e);
    ensemble.leaf_sd *= factor;
    ensemble.scale_outputs(factor);
  }
  double squares = 0.0;
  std::int64_t n_leaves = 0;
  for (const Tree& tree : ensemble.trees) {
    n_leaves += tree.n_leaves();
    for (int c = 0; c < tree.n_leaves(); ++c) {
      const auto output = static_cast<double>(tree.leaf_node(c).output);
      squares += output * output;
    }
  }
  ensemble.leaf_sd =
      std::sqrt((prior.leaf_rate + 0.5 * squares) /
                state.rng.gamma(prior.leaf_shape + 0.5 * static_cast<double>(n_leaves)));
}

}  // namespace obart
