// Probit with weights: the likelihood of a row is p^w, p = Phi(s (offset + f)) with s = 1 or -1.
//
// A whole w is w latents on the label's side of 0. A fraction is rounded up to the next whole k and
// divided by the excess, p^w = p^k p^-a with a = k - w in (0, 1). With q = 1 - p,
//   p^-a = sum over j of c_j q^j,  c_j = Gamma(j + a) / (Gamma(a) j!) >= 0:
// j more latents, on the other side of 0, where j has a negative binomial distribution given f. All
// latents of a row together are one normal outcome, their mean, of precision k + j.
#include <stdexcept>

#include "base/normal_kernels.h"
#include "base/planted_bugs.h"
#include "likelihood/probit.h"

namespace obart {
namespace {

// The same as Gamma-Poisson: lambda ~ Gamma(a) / p, j ~ Poisson(lambda q). A row that contradicts
// a confident f would have endless latents, which hold f where it is and leave nothing of the other
// rows in a float. So lambda ends here, and the likelihood is p^w P(Gamma(a) < kMostLatents p): the
// same to 1e-4 for p > 1e-5; where p is below 1e-6, the row counts as if its weight were k.
constexpr double kMostLatents = 0x1p20;
constexpr double kLargestWeight = 0x1p20;
// Weights this near to a whole number are taken for it: 0.7 + 0.1 + 0.2 is not quite 1.
constexpr double kWhole = 1e-9;
// Above this p the distribution is short enough to be looked through.
constexpr double kManyFrom = 1.0 / 32;

std::int64_t draw_few(double a, double p, Rng& rng) {
  constexpr std::int64_t end = 4096;  // has probability 1e-56
  double u = rng.uniform();
  if (u < p) return 0;  // P(0) = p^a >= p
  double probability = det_exp(a * det_log(p));
  std::int64_t j = 0;
  for (; u >= probability && j < end; ++j) {
    u -= probability;
    const double k = static_cast<double>(j);
    probability *= (1.0 - p) * (a + k) / (k + 1.0);
  }
  return j;
}

// The density is lambda^(a - 1) exp(-lambda p) up to the end.
double draw_rate(double a, double p, Rng& rng) {
  for (;;) {
    if (p * kMostLatents >= 1.0) {
      const double lambda = rng.gamma(a) / p;
      if (lambda <= kMostLatents) return lambda;
    } else {
      const double lambda = kMostLatents * det_exp(-rng.exponential() / a);
      if (rng.uniform() < det_exp(-lambda * p)) return lambda;
    }
  }
}

// The number of latents on the other side.
std::int64_t draw_others(double a, double p, Rng& rng) {
  if (a == 0.0 || OBART_BUG(weighted_probit_rounds_up)) return 0;
  if (p >= kManyFrom) return draw_few(a, p, rng);
  return rng.poisson(draw_rate(a, p, rng) * (1.0 - p));
}

class WeightedProbit final : public Probit {
 public:
  WeightedProbit(const Data& data, const Settings& settings)
      : Probit(data, settings),
        given_(label_.size(), 1.0F),
        n_own_(label_.size(), 1),
        excess_(label_.size(), 0.0),
        probability_(label_.size()) {}

  void set_weights(const double* weights, Ensembles&) override {
    for (std::size_t row = 0; row < given_.size(); ++row) {
      const double weight = weights[row];
      if (!(weight > 0.0 && weight <= kLargestWeight))
        throw std::invalid_argument("weights of labels must be positive and at most 2^20");
      given_[row] = static_cast<float>(weight);
      const double nearest = std::round(weight);
      const bool is_whole = nearest > 0.0 && std::abs(weight - nearest) <= kWhole * nearest;
      const double n_own = is_whole ? nearest : std::ceil(weight);
      n_own_[row] = static_cast<std::int32_t>(n_own);
      excess_[row] = is_whole ? 0.0 : n_own - weight;
      if (OBART_BUG(weighted_probit_excess_swapped) && !is_whole) excess_[row] = 1.0 - excess_[row];
    }
  }

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
      const std::int64_t n_own = n_own_[row];
      const std::int64_t n_others =
          draw_others(excess_[row], static_cast<double>(probability_[row]), rng);
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
        fit_.data(), label_.data(), given_.data(), static_cast<float>(offset_),
        static_cast<float>(factor), static_cast<std::int64_t>(label_.size()));
  }

 private:
  double sign(std::size_t row) const { return label_[row] != 0 ? 1.0 : -1.0; }

  std::vector<float> given_;         // the user's weights
  std::vector<std::int32_t> n_own_;  // latents on the label's side
  std::vector<double> excess_;       // by which these exceed the weight
  std::vector<float> probability_;   // of the label; scratch
};

}  // namespace

std::unique_ptr<Likelihood> make_weighted_probit(const Data& data, const Settings& settings) {
  return std::make_unique<WeightedProbit>(data, settings);
}

}  // namespace obart
