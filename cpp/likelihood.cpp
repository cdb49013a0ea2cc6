#include "likelihood.h"

#include <cmath>

#include "kernels.h"
#include "planted.h"

namespace obart {
namespace {

// Sum of w r^2 in double, in lanes and blocks of fixed order.
double weighted_squares(const float* residual, const float* weight, std::int64_t n_padded) {
  double total = 0.0;
  for (std::int64_t start = 0; start < n_padded; start += kBlockRows) {
    double lane[kLanes] = {};
    const std::int64_t end = std::min(start + kBlockRows, n_padded);
    for (std::int64_t i = start; i < end; i += kLanes)
      for (int l = 0; l < kLanes; ++l) {
        const auto r = static_cast<double>(residual[i + l]);
        lane[l] += weight != nullptr ? static_cast<double>(weight[i + l]) * r * r : r * r;
      }
    for (int width = kLanes / 2; width >= 1; width /= 2)
      for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
    total += lane[0];
  }
  return total;
}

}  // namespace

Likelihood::Likelihood(const Data& data, const Settings& settings, const double* y,
                       const double* weights)
    : settings_(settings),
      n_rows_(data.n_rows()),
      target_(static_cast<std::size_t>(data.n_padded())) {
  if (weights != nullptr) {
    weight_ = AlignedBuffer<float>(static_cast<std::size_t>(data.n_padded()));
    for (std::int64_t i = 0; i < n_rows_; ++i)
      weight_[static_cast<std::size_t>(i)] = static_cast<float>(weights[i]);
  }
  if (settings.likelihood == LikelihoodKind::probit) {
    label_.resize(static_cast<std::size_t>(n_rows_));
    if (!settings.leaf_sd_fixed) fit_.resize(static_cast<std::size_t>(n_rows_));
  }
  set_y(y);
}

// Where the latents start does not matter: a sweep draws them before it uses them.
void Likelihood::set_y(const double* y) {
  for (std::int64_t i = 0; i < n_rows_; ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (settings_.likelihood == LikelihoodKind::probit) {
      label_[row] = y[i] > 0.5 ? 1 : 0;
      target_[row] = (label_[row] != 0 ? 0.5 : -0.5) - settings_.offset;
    } else {
      target_[row] = y[i];
    }
  }
}

// sigma^2 | ... ~ Inv-Gamma((nu + n) / 2, (nu lambda + sum w r^2) / 2).
void Likelihood::draw_sigma(const float* residual, double& sigma, Rng& rng) const {
  if (settings_.sigma_fixed || settings_.likelihood == LikelihoodKind::probit) return;
  double shape = 0.5 * settings_.nu;
  double rate = 0.5 * settings_.nu * settings_.lambda;
  if (!is_off()) {
    if (!OBART_BUG(sigma_shape_without_n)) shape += 0.5 * static_cast<double>(n_rows_);
    const double squares =
        weighted_squares(residual, weight(), static_cast<std::int64_t>(target_.size()));
    rate += OBART_BUG(sigma_rate_half) ? squares : 0.5 * squares;
  }
  sigma = std::sqrt(rate / rng.gamma(shape));
}

// Albert and Chib: z_i ~ N(offset + f_i, 1) on the label's side of 0. The residual z - offset - f
// is the truncated noise itself.
void Likelihood::set_target(const double* target) {
  for (std::int64_t i = 0; i < n_rows_; ++i) target_[static_cast<std::size_t>(i)] = target[i];
}

void Likelihood::draw_latents(float* residual, Rng& rng) {
  if (settings_.likelihood != LikelihoodKind::probit) return;
  for (std::int64_t i = 0; i < n_rows_; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const double f = target_[row] - static_cast<double>(residual[row]);
    const double mean = settings_.offset + f;
    const bool positive = (label_[row] != 0) != OBART_BUG(probit_sign_flipped);
    const double noise = positive ? rng.normal_above(-mean) : -rng.normal_above(mean);
    target_[row] = f + noise;
    residual[row] = static_cast<float>(noise);
  }
}

Likelihood::FitSums Likelihood::fit_sums(const float* residual) const {
  FitSums sums;
  if (is_off()) return sums;
  const auto n_padded = static_cast<std::int64_t>(target_.size());
  for (std::int64_t start = 0; start < n_padded; start += kBlockRows) {
    double target_fit[kLanes] = {};
    double fit_fit[kLanes] = {};
    const std::int64_t end = std::min(start + kBlockRows, n_padded);
    for (std::int64_t i = start; i < end; i += kLanes)
      for (int l = 0; l < kLanes; ++l) {
        const auto row = static_cast<std::size_t>(i + l);
        const double w = weight() != nullptr ? static_cast<double>(weight_[row]) : 1.0;
        const double f = target_[row] - static_cast<double>(residual[row]);
        target_fit[l] += w * target_[row] * f;
        fit_fit[l] += w * f * f;
      }
    for (int width = kLanes / 2; width >= 1; width /= 2)
      for (int l = 0; l < width; ++l) {
        target_fit[l] += target_fit[l + width];
        fit_fit[l] += fit_fit[l + width];
      }
    sums.target_fit += target_fit[0];
    sums.fit_fit += fit_fit[0];
  }
  return sums;
}

void Likelihood::take_fit(const float* residual) {
  for (std::size_t i = 0; i < fit_.size(); ++i)
    fit_[i] = static_cast<float>(target_[i] - static_cast<double>(residual[i]));
}

double Likelihood::log_probit(double factor) const {
  return kernels().log_probit(fit_.data(), label_.data(), static_cast<float>(settings_.offset),
                              static_cast<float>(factor), n_rows_);
}

void Likelihood::stretch(float* residual, double factor) const {
  for (std::int64_t i = 0; i < n_rows_; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const double f = target_[row] - static_cast<double>(residual[row]);
    residual[row] = static_cast<float>(target_[row] - factor * f);
  }
}

}  // namespace obart
