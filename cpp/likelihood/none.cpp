// No data: the chain samples the prior. For tests.
#include "likelihood/likelihood.h"

namespace obart {
namespace {

class None final : public Likelihood {
 public:
  explicit None(const Settings& settings)
      : Likelihood(settings.likelihood), n_ensembles_(settings.ensembles.size()) {}

  std::size_t n_ensembles() const override { return n_ensembles_; }  // any number

  void set_y(const double* y, Ensembles& ensembles) override {
    for (Ensemble& f : ensembles) {
      f.uses_data = false;
      std::copy_n(y, f.data.n_rows(), f.target.data());
    }
  }
  void draw_scales(Ensembles&, double& sigma, Rng& rng) override {
    if (!settings().sigma_fixed) sigma = draw_prior_sigma(rng);
  }
  void begin_scaling(const Ensembles&, std::size_t, double) override {}
  double log_scaled(double) const override { return 0.0; }

 private:
  std::size_t n_ensembles_;
};

}  // namespace

std::unique_ptr<Likelihood> make_none(const Data&, const Settings& settings) {
  return std::make_unique<None>(settings);
}

}  // namespace obart
