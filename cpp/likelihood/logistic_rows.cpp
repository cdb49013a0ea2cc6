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

void LogisticRows::draw_latent(Ensemble& ensemble, std::size_t row, bool label, double offset,
                               Rng& rng) const {
  const double f = fit(ensemble, row);
  const Latent latent = weights_.are_ones() ? Latent{0.5, polya_gamma(offset + f, rng)}
                                            : draw_weighted(row, label, offset + f, rng);
  const double size = OBART_BUG(logistic_kappa_whole) ? 2.0 * latent.kappa : latent.kappa;
  const double kappa = label ? size : -size;
  const double target = kappa / latent.omega - (OBART_BUG(logistic_offset_dropped) ? 0.0 : offset);
  ensemble.target[row] = target;
  ensemble.residual[row] = static_cast<float>(target - f);
  ensemble.weight[row] =
      static_cast<float>(OBART_BUG(logistic_weight_missing) ? 0.25 : latent.omega);
}

// A row that is there n_own times with its label and n_others times with the other.
LogisticRows::Latent LogisticRows::draw_weighted(std::size_t row, bool label, double psi,
                                                 Rng& rng) const {
  const std::int64_t n_own = weights_.n_own(row);
  std::int64_t n_others = 0;
  if (!weights_.is_whole(row)) {
    const double p = 1.0 / (1.0 + det_exp(label ? -psi : psi));
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
