// y = f + sigma e, e ~ Laplace, of density exp(-|e|) / 2. Given w with 1/w ~ Exponential(1/2) that
// is N(f, sigma^2 / w): rows far from f get small weights.
#include <algorithm>
#include <cmath>

#include "likelihood/likelihood.h"

namespace obart {
namespace {

// The inverse Gaussian distribution of shape one (Michael, Schucany and Haas 1976).
double inverse_gaussian(double mean, Rng& rng) {
  const double normal = rng.normal();
  const double t = 0.5 * mean * normal * normal;
  const double smaller_root = mean / (1.0 + t + std::sqrt(t * (t + 2.0)));
  const bool is_smaller = rng.uniform() * (mean + smaller_root) < mean;
  return is_smaller ? smaller_root : mean * mean / smaller_root;
}

class Laplace final : public Likelihood {
 public:
  explicit Laplace(const Settings& settings) : Likelihood(settings.likelihood) {}

  void set_y(const double* y, Ensembles& ensembles) override {
    Ensemble& f = ensembles[0];
    std::copy_n(y, f.data.n_rows(), f.target.data());
    if (given_.empty()) {
      given_.assign(static_cast<std::size_t>(f.data.n_rows()), 1.0);
      if (f.weights() != nullptr) std::copy_n(f.weights(), given_.size(), given_.begin());
      f.set_weights(given_.data());
    }
  }

  // w is inverse Gaussian with mean 1 / |e|. The weights are drawn before the trees see them, so
  // the state does not need them. Below 1e-4 a residual is mostly rounding.
  void prepare(Ensembles& ensembles, std::size_t, double sigma, Rng& rng) override {
    Ensemble& f = ensembles[0];
    for (std::size_t row = 0; row < given_.size(); ++row) {
      const double e = std::sqrt(given_[row]) * static_cast<double>(f.residual[row]) / sigma;
      const double w = inverse_gaussian(1.0 / std::max(std::abs(e), 1e-4), rng);
      f.weight[row] = static_cast<float>(given_[row] * w);
    }
  }

  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override {
    if (settings().sigma_fixed) return;
    sigma = draw_sigma(static_cast<double>(given_.size()), ensembles[0].weighted_squares(), rng);
  }

 private:
  std::vector<double> given_;  // the user's weights
};

}  // namespace

std::unique_ptr<Likelihood> make_laplace(const Data&, const Settings& settings) {
  return std::make_unique<Laplace>(settings);
}

}  // namespace obart
