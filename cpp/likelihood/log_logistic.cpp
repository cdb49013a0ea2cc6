// log T = f + sigma e, e logistic, perhaps censored. The density of e is the mean of
// exp(-w e^2 / 2) over w ~ PG(2, 0) (Polson, Scott and Windle 2013), so log T is normal with
// precision w / sigma^2 given a latent w, which is PG(2, e) given e.
#include "base/planted_bugs.h"
#include "base/polya_gamma.h"
#include "base/truncated_logistic.h"
#include "likelihood/censored.h"

namespace obart {
namespace {

class LogLogistic final : public Censored {
 public:
  using Censored::Censored;

  void set_y(const double* y, Ensembles& ensembles) override {
    Censored::set_y(y, ensembles);
    const std::vector<double> ones(n_rows(), 1.0);
    ensembles[0].set_weights(ones.data());
  }

  // Latent times are drawn without w, then w given them: the trees see both, and the state needs
  // no w.
  void prepare(Ensembles& ensembles, std::size_t e, double sigma, Rng& rng) override {
    Censored::prepare(ensembles, e, sigma, rng);
    const float* residual = ensembles[0].residual.data();
    float* weight = ensembles[0].weight.data();
    const double unit = 1.0 / (OBART_BUG(logistic_sigma_dropped) ? 1.0 : sigma);
    for (std::size_t row = 0; row < n_rows(); ++row) {
      const std::int64_t n = OBART_BUG(logistic_weight_of_one) ? 1 : 2;
      weight[row] =
          static_cast<float>(polya_gamma(n, unit * static_cast<double>(residual[row]), rng));
    }
  }

 protected:
  double noise_above(double a, Rng& rng) const override {
    return OBART_BUG(logistic_latents_normal) ? rng.normal_above(a) : logistic_above(a, rng);
  }
  double noise_between(double a, double b, Rng& rng) const override {
    return logistic_between(a, b, rng);
  }
};

}  // namespace

std::unique_ptr<Likelihood> make_log_logistic(const Data& data, const Settings& settings) {
  return std::make_unique<LogLogistic>(data, settings);
}

}  // namespace obart
