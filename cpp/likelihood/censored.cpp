#include "likelihood/censored.h"

#include <stdexcept>

#include "base/planted_bugs.h"

namespace obart {
namespace {

bool has_limit(double limit) { return std::abs(limit) < Censored::kNoLimit; }

}  // namespace

Censored::Censored(const Data& data, const Settings& settings)
    : Likelihood(settings.likelihood),
      lower_(static_cast<std::size_t>(data.n_rows())),
      upper_(static_cast<std::size_t>(data.n_rows())) {}

void Censored::set_weights(const double*, Ensembles&) {
  throw std::invalid_argument("censored outcomes take no weights: repeat rows");
}

void Censored::set_y(const double* y, Ensembles& ensembles) {
  latent_.clear();
  for (std::size_t row = 0; row < n_rows(); ++row) {
    lower_[row] = y[row];
    upper_[row] = y[n_rows() + row];
    if (!(lower_[row] <= upper_[row]))
      throw std::invalid_argument("an outcome's lower limit must not be above its upper one");
    if (lower_[row] != upper_[row]) latent_.push_back(row);
    const double first = has_limit(lower_[row]) ? lower_[row] : upper_[row];
    ensembles[0].target[row] = has_limit(first) ? first : 0.0;
  }
}

void Censored::prepare(Ensembles& ensembles, std::size_t, double sigma, Rng& rng) {
  double* target = ensembles[0].target.data();
  float* residual = ensembles[0].residual.data();
  for (const std::size_t row : latent_) {
    const double f = target[row] - static_cast<double>(residual[row]);
    const double noise = sigma * draw_noise(row, f, sigma, rng);
    target[row] = f + noise;
    residual[row] = static_cast<float>(noise);
  }
}

double Censored::draw_noise(std::size_t row, double f, double sigma, Rng& rng) const {
  const double scale = OBART_BUG(censored_sigma_dropped) ? 1.0 : sigma;
  const double a = (lower_[row] - f) / scale;
  const double b = (upper_[row] - f) / scale;
  const bool is_right = !has_limit(upper_[row]) || OBART_BUG(censored_upper_ignored);
  if (is_right && has_limit(lower_[row])) return noise_above(a, rng);
  if (!has_limit(lower_[row])) {
    if (!has_limit(upper_[row])) return noise_above(-kNoLimit, rng);
    return OBART_BUG(censored_side_flipped) ? noise_above(b, rng) : -noise_above(-b, rng);
  }
  return noise_between(a, b, rng);
}

void Censored::draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) {
  if (settings().sigma_fixed) return;
  const double n = OBART_BUG(censored_rows_not_counted)
                       ? static_cast<double>(n_rows() - latent_.size())
                       : static_cast<double>(n_rows());
  sigma = draw_sigma(n, ensembles[0].weighted_squares(), rng);
}

}  // namespace obart
