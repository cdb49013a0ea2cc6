// y ~ N(f(x), s2(x)): the first ensemble is f, the second the variance s2, a product of factors.
#include <algorithm>
#include <cmath>

#include "likelihood/likelihood.h"

namespace obart {
namespace {

class VaryingNoise final : public Likelihood {
 public:
  explicit VaryingNoise(const Settings& settings) : Likelihood(settings.likelihood) {}

  std::size_t n_ensembles() const override { return 2; }
  double first_sigma() const override { return 1.0; }
  double draw_prior_sigma(Rng&) const override { return 1.0; }

  // The variance's rows start at an error of one, which the first sweep replaces.
  void set_y(const double* y, Ensembles& ensembles) override {
    Ensemble& f = ensembles[0];
    Ensemble& variance = ensembles[1];
    std::copy_n(y, f.data.n_rows(), f.target.data());
    std::fill_n(variance.target.data(), f.data.n_rows(), 1.0);
    const std::vector<double> ones(static_cast<std::size_t>(f.data.n_rows()), 1.0);
    f.set_weights(ones.data());
  }

  // Of the variance, target over residual is the product of the factors.
  void prepare(Ensembles& ensembles, std::size_t e, double, Rng&) override {
    Ensemble& f = ensembles[0];
    Ensemble& variance = ensembles[1];
    for (std::size_t row = 0; row < static_cast<std::size_t>(f.data.n_rows()); ++row) {
      const double s2 = variance.target[row] / static_cast<double>(variance.residual[row]);
      if (e == 0) {
        f.weight[row] = static_cast<float>(1.0 / s2);
      } else {
        const auto error = static_cast<double>(f.residual[row]);
        variance.target[row] = std::max(error * error, 1e-12);
        variance.residual[row] = static_cast<float>(variance.target[row] / s2);
      }
    }
  }

  void draw_scales(const Ensembles&, double&, Rng&) override {}
};

}  // namespace

std::unique_ptr<Likelihood> make_varying_noise(const Data&, const Settings& settings) {
  return std::make_unique<VaryingNoise>(settings);
}

}  // namespace obart
