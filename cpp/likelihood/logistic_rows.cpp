#include "likelihood/logistic_rows.h"

#include "base/normal_kernels.h"
#include "base/planted_bugs.h"
#include "base/polya_gamma.h"

namespace obart {

LogisticRows::LogisticRows(const Data& data, bool can_scale)
    : size_(static_cast<std::size_t>(data.n_rows())), weights_(size_) {
  if (!can_scale) return;
  fit_.resize(size_);
  offset_.resize(size_);
}

void LogisticRows::begin(Ensemble& ensemble) const {
  const std::vector<double> ones(size_, 1.0);
  ensemble.set_weights(ones.data());
}

void LogisticRows::draw_block(Ensemble& ensemble, const Block& block, Rng& rng) const {
  double f[kBlockRows], psi[kBlockRows], kappa[kBlockRows], omega[kBlockRows];
  for (std::size_t i = 0; i < block.n; ++i) {
    f[i] = fit(ensemble, block.first + i);
    psi[i] = block.offset[i] + f[i];
  }
  const std::int64_t n_of_all = weights_.of_all();
  if (n_of_all > 0 && n_of_all <= Rng::kExactSum) {
    // Draws of many rows are quicker than those of one after the other.
    std::fill_n(kappa, block.n, 0.5 * static_cast<double>(n_of_all));
    polya_gamma(psi, block.n, omega, rng);
    for (std::int64_t k = OBART_BUG(logistic_latent_missing) ? 2 : 1; k < n_of_all; ++k) {
      double added[kBlockRows];
      polya_gamma(psi, block.n, added, rng);
      for (std::size_t i = 0; i < block.n; ++i) omega[i] += added[i];
    }
  } else {
    for (std::size_t i = 0; i < block.n; ++i) {
      const Latent latent = draw_weighted(block.first + i, block.sign[i], psi[i], rng);
      kappa[i] = latent.kappa;
      omega[i] = latent.omega;
    }
  }
  double* target = ensemble.target.data() + block.first;
  float* residual = ensemble.residual.data() + block.first;
  float* weight = ensemble.weight.data() + block.first;
  const double times = OBART_BUG(logistic_kappa_whole) ? 2.0 : 1.0;
  const double share = OBART_BUG(logistic_offset_dropped) ? 0.0 : 1.0;
  const bool latents_weigh = !OBART_BUG(logistic_weight_missing);
  for (std::size_t i = 0; i < block.n; ++i) {
    target[i] = block.sign[i] * (times * kappa[i]) / omega[i] - share * block.offset[i];
    residual[i] = static_cast<float>(target[i] - f[i]);
    weight[i] = static_cast<float>(latents_weigh ? omega[i] : 0.25);
  }
}

// A row that is there n_own times with its label and n_others times with the other.
LogisticRows::Latent LogisticRows::draw_weighted(std::size_t row, double sign, double psi,
                                                 Rng& rng) const {
  const std::int64_t n_own = weights_.n_own(row);
  std::int64_t n_others = 0;
  if (!weights_.is_whole(row)) {
    const double p = 1.0 / (1.0 + det_exp(-sign * psi));
    n_others = weights_.draw_others(row, p, rng);
  }
  return {0.5 * static_cast<double>(n_own - n_others), polya_gamma(n_own + n_others, psi, rng)};
}

void LogisticRows::keep(const Ensemble& ensemble, std::size_t row, bool label, double offset) {
  const double sign = label ? 1.0 : -1.0;
  fit_[row] = static_cast<float>(sign * fit(ensemble, row));
  offset_[row] = static_cast<float>(OBART_BUG(logistic_scaling_bare) ? 0.0 : sign * offset);
}

double LogisticRows::log_scaled(double factor) const {
  return normal_kernels().log_logistic(fit_.data(), offset_.data(), weights_.given(),
                                       static_cast<float>(factor),
                                       static_cast<std::int64_t>(size_));
}

}  // namespace obart
