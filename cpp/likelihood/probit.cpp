#include "likelihood/probit.h"

#include "base/normal_kernels.h"
#include "base/planted_bugs.h"

namespace obart {

Probit::Probit(const Data& data, const Settings& settings)
    : Likelihood(settings.likelihood),
      offset_(settings.likelihood.offset),
      label_(static_cast<std::size_t>(data.n_rows())) {
  if (!settings.ensembles[0].leaf.leaf_sd_fixed) fit_.resize(label_.size());
}

void Probit::set_y(const double* y, Ensembles& ensembles) {
  for (std::size_t row = 0; row < label_.size(); ++row) {
    label_[row] = y[row] > 0.5 ? 1 : 0;
    ensembles[0].target[row] = (label_[row] != 0 ? 0.5 : -0.5) - offset_;
  }
}

// Latents z on the label's side of 0. The residual z - offset - f is the truncated noise itself.
void Probit::prepare(Ensembles& ensembles, std::size_t, double, Rng& rng) {
  double* target = ensembles[0].target.data();
  float* residual = ensembles[0].residual.data();
  for (std::size_t row = 0; row < label_.size(); ++row) {
    const double f = target[row] - static_cast<double>(residual[row]);
    const double mean = offset_ + f;
    const bool positive = (label_[row] != 0) != OBART_BUG(probit_sign_flipped);
    const double noise = positive ? rng.normal_above(-mean) : -rng.normal_above(mean);
    target[row] = f + noise;
    residual[row] = static_cast<float>(noise);
  }
}

void Probit::begin_scaling(const Ensembles& ensembles, std::size_t, double) {
  const Ensemble& f = ensembles[0];
  for (std::size_t i = 0; i < fit_.size(); ++i)
    fit_[i] = static_cast<float>(f.target[i] - static_cast<double>(f.residual[i]));
}

double Probit::log_scaled(double factor) const {
  if (OBART_BUG(scaling_labels_flipped)) factor = -factor;
  return normal_kernels().log_cdf(fit_.data(), label_.data(), static_cast<float>(offset_),
                                  static_cast<float>(factor),
                                  static_cast<std::int64_t>(label_.size()));
}

std::unique_ptr<Likelihood> make_probit(const Data& data, const Settings& settings) {
  return std::make_unique<Probit>(data, settings);
}

}  // namespace obart
