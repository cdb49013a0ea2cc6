// y ~ N(f, sigma^2 / w): the outcome itself is what the trees are to explain.
#include "likelihood/likelihood.h"

namespace obart {
namespace {

class Gaussian final : public Likelihood {
 public:
  explicit Gaussian(const Settings& settings) : Likelihood(settings.likelihood) {}

  void set_y(const double* y, Ensembles& ensembles) override {
    Ensemble& f = ensembles[0];
    std::copy_n(y, f.data.n_rows(), f.target.data());
  }

  bool reads_rows() const override { return false; }
  bool works_on_parts() const override { return true; }

  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override {
    if (settings().sigma_fixed) return;
    const Ensemble& f = ensembles[0];
    sigma = draw_sigma(static_cast<double>(f.data.n_rows_in_all()), f.weighted_squares(), rng);
  }
};

}  // namespace

std::unique_ptr<Likelihood> make_gaussian(const Data&, const Settings& settings) {
  return std::make_unique<Gaussian>(settings);
}

}  // namespace obart
