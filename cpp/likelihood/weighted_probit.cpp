// Probit with weights: the likelihood of a row is p^w, p = Phi(s (offset + f)) with s = 1 or -1.
// Given how often the row is there with its label and with the other, see label_weights.h, it has a
// latent for each, on either side of 0. All of them together are one normal outcome, their mean,
// whose precision is their number.
#include "base/normal_kernels.h"
#include "base/planted_bugs.h"
#include "likelihood/label_weights.h"
#include "likelihood/probit.h"

namespace obart {
namespace {

class WeightedProbit final : public Probit {
 public:
  WeightedProbit(const Data& data, const Settings& settings)
      : Probit(data, settings), weights_(label_.size()), probability_(label_.size()) {}

  void set_weights(const double* weights, Ensembles&) override { weights_.set(weights); }

  void set_y(const double* y, Ensembles& ensembles) override {
    Probit::set_y(y, ensembles);
    const std::vector<double> ones(label_.size(), 1.0);
    ensembles[0].set_weights(ones.data());
  }

  // Latents, their number too, are drawn before the trees see them: the state does not need them.
  void prepare(Ensembles& ensembles, std::size_t, double, Rng& rng) override {
    double* target = ensembles[0].target.data();
    float* residual = ensembles[0].residual.data();
    float* weight = ensembles[0].weight.data();
    for (std::size_t row = 0; row < label_.size(); ++row) {
      const double f = target[row] - static_cast<double>(residual[row]);
      probability_[row] = static_cast<float>(sign(row) * (offset_ + f));
    }
    normal_kernels().cdf(probability_.data(), 0.0F, static_cast<std::int64_t>(label_.size()));
    for (std::size_t row = 0; row < label_.size(); ++row) {
      const double f = target[row] - static_cast<double>(residual[row]);
      const double mean = sign(row) * (offset_ + f);
      const std::int64_t n_own = weights_.n_own(row);
      const std::int64_t n_others =
          weights_.draw_others(row, static_cast<double>(probability_[row]), rng);
      const auto n = static_cast<double>(n_own + n_others);
      const double sum = rng.sum_above(n_own, -mean) - rng.sum_above(n_others, mean);
      const double noise = sign(row) * sum / n;
      target[row] = f + noise;
      residual[row] = static_cast<float>(noise);
      weight[row] = static_cast<float>(n);
    }
  }

  double log_scaled(double factor) const override {
    if (OBART_BUG(scaling_weights_dropped)) return Probit::log_scaled(factor);
    return normal_kernels().weighted_log_cdf(
        fit_.data(), label_.data(), weights_.given(), static_cast<float>(offset_),
        static_cast<float>(factor), static_cast<std::int64_t>(label_.size()));
  }

 private:
  double sign(std::size_t row) const { return label_[row] != 0 ? 1.0 : -1.0; }

  LabelWeights weights_;
  std::vector<float> probability_;  // of the label; scratch
};

}  // namespace

std::unique_ptr<Likelihood> make_weighted_probit(const Data& data, const Settings& settings) {
  return std::make_unique<WeightedProbit>(data, settings);
}

}  // namespace obart
