// What a sweep does after the trees: sigma, theta and the scale of the outputs.
#include <cmath>

#include "planted.h"
#include "sampler.h"

namespace obart {
namespace {

// A stretch reads and writes all rows: where they are many, not in every sweep. In a probit model
// it reads them several times.
constexpr std::int64_t kManyRows = 8192;
constexpr std::int64_t kManyLabels = 1024;
constexpr std::int64_t kStretchSweeps = 4;

}  // namespace

void Sampler::update_scales() {
  likelihood_.draw_sigma(residual_.data(), sigma_, rng_);
  update_theta(*data_, settings_, n_nonzero_, n_continuous_, rng_, theta_);
  if (!settings_.leaf_sd_fixed) update_leaf_sd();
}

// Two steps. Given the outputs, leaf_sd^2 is inverse-gamma; but hundreds of outputs hold it, so
// that it moves slowly. So first leaf_sd and all outputs are stretched together by a factor, which
// only the data and the prior of leaf_sd hold.
void Sampler::update_leaf_sd() {
  const bool is_probit = settings_.likelihood == LikelihoodKind::probit;
  const std::int64_t many = is_probit ? kManyLabels : kManyRows;
  const bool is_turn = data_->n_rows() <= many || n_sweeps_ % kStretchSweeps == 0;
  if (settings_.stretch && is_turn) stretch(draw_stretch());
  double squares = 0.0;
  std::int64_t n_leaves = 0;
  for (const Tree& tree : trees_) {
    n_leaves += tree.n_leaves();
    for (int c = 0; c < tree.n_leaves(); ++c) {
      const auto output = static_cast<double>(tree.leaf_node(c).output);
      squares += output * output;
    }
  }
  leaf_sd_ = std::sqrt((settings_.leaf_rate + 0.5 * squares) /
                       rng_.gamma(settings_.leaf_shape + 0.5 * static_cast<double>(n_leaves)));
}

// Slice sampling (Neal 2003: step out, shrink) of u = log factor. The outputs' density and the
// Jacobian cancel; left are the likelihood and the prior of log leaf_sd. A Gaussian likelihood is
// quadratic in the factor. Latents would hold f where they are, so a probit likelihood is that of
// the labels; the latents are stale then, but the next sweep draws them before it uses them.
double Sampler::draw_stretch() {
  const bool is_probit = settings_.likelihood == LikelihoodKind::probit;
  Likelihood::FitSums sums;
  if (is_probit)
    likelihood_.take_fit(residual_.data());
  else
    sums = likelihood_.fit_sums(residual_.data());
  const double inv_sigma2 = 1.0 / (sigma_ * sigma_);
  const double pull = settings_.leaf_rate / (leaf_sd_ * leaf_sd_);
  const auto log_likelihood = [&](double factor) {
    if (OBART_BUG(stretch_fit_missing)) return 0.0;
    if (is_probit)
      return likelihood_.log_probit(OBART_BUG(stretch_labels_flipped) ? -factor : factor);
    return inv_sigma2 * factor * (sums.target_fit - 0.5 * factor * sums.fit_fit);
  };
  const auto log_density = [&](double u) {
    const double factor = det_exp(u);
    double out = log_likelihood(factor);
    if (!OBART_BUG(stretch_prior_missing))
      out -= 2.0 * settings_.leaf_shape * u + pull / (factor * factor);
    return out;
  };
  const double width = is_probit ? 0.5 : 0.1;  // labels say less about the scale of f
  constexpr int max_steps = 20;
  const double level = log_density(0.0) + det_log(rng_.uniform());
  double low = -width * rng_.uniform();
  double high = low + width;
  int steps = static_cast<int>(rng_.below(max_steps));
  for (int k = steps; k > 0 && log_density(low) > level; --k) low -= width;
  for (int k = max_steps - 1 - steps; k > 0 && log_density(high) > level; --k) high += width;
  for (;;) {
    const double u = low + rng_.uniform() * (high - low);
    if (log_density(u) > level) return det_exp(u);
    (u < 0.0 ? low : high) = u;
    if (high - low < 1e-12) return 1.0;
  }
}

void Sampler::stretch(double factor) {
  leaf_sd_ *= factor;
  for (Tree& tree : trees_)
    for (int c = 0; c < tree.n_leaves(); ++c) {
      float& output = tree.leaf_node(c).output;
      output = static_cast<float>(static_cast<double>(output) * factor);
    }
  likelihood_.stretch(residual_.data(), factor);
}

}  // namespace obart
