// y = f + sigma e, e ~ Student's t. Given w ~ Gamma(df / 2, df / 2) that is N(f, sigma^2 / w): rows
// far from f get small weights.
#include "likelihood/likelihood.h"

namespace obart {
namespace {

class StudentT final : public Likelihood {
 public:
  explicit StudentT(const Settings& settings)
      : Likelihood(settings.likelihood), df_(settings.likelihood.required("df")) {}

  void set_y(const double* y, Ensembles& ensembles) override {
    Ensemble& f = ensembles[0];
    std::copy_n(y, f.data.n_rows(), f.target.data());
    if (given_.empty()) {
      given_.assign(static_cast<std::size_t>(f.data.n_rows()), 1.0);
      if (f.weights() != nullptr) std::copy_n(f.weights(), given_.size(), given_.begin());
      f.set_weights(given_.data());
    }
  }

  // The weights are drawn before the trees see them, so the state does not need them.
  void prepare(Ensembles& ensembles, std::size_t, double sigma, Rng& rng) override {
    Ensemble& f = ensembles[0];
    for (std::size_t row = 0; row < given_.size(); ++row) {
      const double z = static_cast<double>(f.residual[row]) / sigma;
      const double rate = 0.5 * (df_ + given_[row] * z * z);
      f.weight[row] = static_cast<float>(given_[row] * rng.gamma(0.5 * (df_ + 1.0)) / rate);
    }
  }

  void draw_scales(const Ensembles& ensembles, double& sigma, Rng& rng) override {
    if (settings().sigma_fixed) return;
    sigma = draw_sigma(static_cast<double>(given_.size()), weighted_squares(ensembles[0]), rng);
  }

 private:
  double df_;
  std::vector<double> given_;  // the user's weights
};

}  // namespace

std::unique_ptr<Likelihood> make_student_t(const Data&, const Settings& settings) {
  return std::make_unique<StudentT>(settings);
}

}  // namespace obart
