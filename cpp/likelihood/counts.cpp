// Counts with a log link: the mean of y is mu = exposure exp(offset) h(x), where h is a product of
// factors over the trees. Either y ~ Poisson(mu), or y is negative binomial with variance
// mu + a mu^2, a the dispersion. A row of weight w has the likelihood to the power of w.
//
// The second column of an outcome is its exposure. Leaves are those of RateLeaf: the weight of a
// row is w y + 1, and its residual the rate over that.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/planted_bugs.h"
#include "base/slice.h"
#include "likelihood/likelihood.h"

namespace obart {
namespace {

// Rates below this are rounding of the float residual; and h is the residual over the target.
constexpr double kSmallestRate = 1e-15;

class Poisson : public Likelihood {
 public:
  Poisson(const Data& data, const Settings& settings)
      : Likelihood(settings.likelihood),
        count_(static_cast<std::size_t>(data.n_rows())),
        base_(count_.size()),
        given_(count_.size(), 1.0) {}

  double first_sigma() const override { return 1.0; }
  double draw_prior_sigma(Rng&) const override { return 1.0; }
  std::size_t n_columns() const override { return 2; }
  // A scaling takes several logarithms of each row.
  Scaling scaling() const override { return {0, 0.3}; }
  void begin_scaling(const Ensembles& ensembles, std::size_t, double) override {
    log_factor_.resize(count_.size());
    count_fit_ = 0.0;
    for (std::size_t row = 0; row < count_.size(); ++row) {
      log_factor_[row] = det_log(factor(ensembles[0], row));
      count_fit_ += given_[row] * count_[row] * log_factor_[row];
    }
  }
  double log_scaled(double factor) const override {
    double out = factor * count_fit_;
    for (std::size_t row = 0; row < count_.size(); ++row)
      out -= given_[row] * base_[row] * det_exp(factor * log_factor_[row]);
    return out;
  }

  void set_weights(const double* weights, Ensembles&) override {
    std::copy_n(weights, given_.size(), given_.begin());
  }

  void set_y(const double* y, Ensembles& ensembles) override {
    const double rate = det_exp(settings().offset);
    std::vector<double> weights(count_.size());
    for (std::size_t row = 0; row < count_.size(); ++row) {
      const double exposure = OBART_BUG(poisson_exposure_dropped) ? 1.0 : y[count_.size() + row];
      const double w = OBART_BUG(poisson_weight_of_rate_dropped) ? 1.0 : given_[row];
      count_[row] = y[row];
      base_[row] = exposure * rate;
      weights[row] = row_weight(row);
      ensembles[0].target[row] = target(row, w);
    }
    ensembles[0].set_weights(weights.data());
  }

  void draw_scales(Ensembles&, double&, Rng&) override {}

 protected:
  // h at a row.
  static double factor(const Ensemble& h, std::size_t row) {
    return static_cast<double>(h.residual[row]) / h.target[row];
  }
  double row_weight(std::size_t row) const {
    const double w = OBART_BUG(poisson_weight_of_count_dropped) ? 1.0 : given_[row];
    return w * count_[row] + 1.0;
  }
  // Of a row whose rate is so many times the base where h is one.
  double target(std::size_t row, double times) const {
    return std::max(base_[row] * times / row_weight(row), kSmallestRate);
  }

  std::vector<double> count_;
  std::vector<double> base_;   // mu where h is one
  std::vector<double> given_;  // the user's weights
  // Of the last begin_scaling: log h, and its sum with the counts.
  std::vector<double> log_factor_;
  double count_fit_ = 0.0;
};

// Likelihoods of the dispersion a, up to what does not depend on it: log Gamma(1/a + y) -
// log Gamma(1/a) + y log a, which is the sum of log(1 + k a) for k < y where y is whole.
double log_rising(double y, double a) {
  constexpr double stirling_from = 1e3;
  const double r = 1.0 / a;
  if (r < stirling_from) return det_lgamma(r + y) - det_lgamma(r) + y * det_log(a);
  const double s = r + y;
  return (s - 0.5) * det_log(1.0 + a * y) - y + (1.0 / s - 1.0 / r) / 12.0;
}

// Given a latent g ~ Gamma(w (1/a + y), 1/a + mu) a row is Poisson, with the rate g mu: the
// integral over g is the likelihood of the row to the power of w. a is drawn with the latents
// integrated out.
class NegativeBinomial final : public Poisson {
 public:
  NegativeBinomial(const Data& data, const Settings& settings)
      : Poisson(data, settings),
        prior_mean_(settings.likelihood.required("log_dispersion_mean")),
        prior_sd_(settings.likelihood.required("log_dispersion_sd")),
        dispersion_(det_exp(prior_mean_)),
        mean_(count_.size()) {}

  void set_y(const double* y, Ensembles& ensembles) override {
    Poisson::set_y(y, ensembles);
    above_.clear();
    others_.clear();
    std::map<double, double> many;
    for (std::size_t row = 0; row < count_.size(); ++row) {
      const double count = count_[row];
      if (count > kFew || count != std::floor(count)) {
        many[count] += given_[row];
      } else {
        const auto n = static_cast<std::size_t>(count);
        if (above_.size() < n) above_.resize(n);
        for (std::size_t k = 0; k < n; ++k) above_[k] += given_[row];
      }
    }
    others_.assign(many.begin(), many.end());
  }

  void prepare(Ensembles& ensembles, std::size_t, double, Rng& rng) override {
    Ensemble& h = ensembles[0];
    const double r = 1.0 / dispersion_;
    for (std::size_t row = 0; row < count_.size(); ++row) {
      const double now = factor(h, row);
      const double count = OBART_BUG(latent_count_dropped) ? 0.0 : count_[row];
      const double w = OBART_BUG(latent_weight_dropped) ? 1.0 : given_[row];
      const double mean = OBART_BUG(latent_mean_dropped) ? 1.0 : base_[row] * now;
      const double latent = rng.gamma(w * (r + count)) / (r + mean);
      h.target[row] = target(row, latent);
      h.residual[row] = static_cast<float>(h.target[row] * now);
    }
  }

  void draw_scales(Ensembles& ensembles, double&, Rng& rng) override {
    // Each step reads the rows some ten times.
    if (count_.size() > kManyRows && rng.below(kSweeps) != 0) return;
    for (std::size_t row = 0; row < count_.size(); ++row)
      mean_[row] = base_[row] * factor(ensembles[0], row);
    const double now = det_log(dispersion_);
    const auto log_density = [&](double u) { return log_posterior(now + u); };
    const double width = std::min(8.0 / std::sqrt(static_cast<double>(count_.size())), 1.0);
    dispersion_ = det_exp(now + slice_step(log_density, width, rng));
  }

  // Latents would hold h where it is. They are stale after the scaling, but the next sweep draws
  // them before it uses them.
  double log_scaled(double factor) const override {
    const double r = 1.0 / dispersion_;
    double out = factor * count_fit_;
    for (std::size_t row = 0; row < count_.size(); ++row) {
      const double mean = base_[row] * det_exp(factor * log_factor_[row]);
      out -= given_[row] * (r + count_[row]) * det_log(1.0 + dispersion_ * mean);
    }
    return out;
  }

  void draw_prior_scales(Rng& rng) override {
    dispersion_ = det_exp(prior_mean_ + prior_sd_ * rng.normal());
  }
  std::vector<NamedScale> scales() const override { return {{"dispersion", dispersion_}}; }
  void add_fields(std::vector<Field>& fields) override {
    fields.push_back({"dispersion", &dispersion_, kLeast, kMost});
  }

 private:
  static constexpr double kFew = 256.0;  // up to this, counts are taken together
  static constexpr std::size_t kManyRows = 8192;
  static constexpr std::uint32_t kSweeps = 4;  // between draws of a scale, where rows are many
  // Beyond these it is as good as none, or as any.
  static constexpr double kLeast = 1e-12, kMost = 1e12;

  double log_posterior(double log_a) const {
    const double a = det_exp(log_a);
    if (!(a > kLeast && a < kMost)) return -std::numeric_limits<double>::infinity();
    const double z = (log_a - prior_mean_) / prior_sd_;
    return log_likelihood(a) - (OBART_BUG(dispersion_prior_missing) ? 0.0 : 0.5 * z * z);
  }

  double log_likelihood(double a) const {
    double out = 0.0;
    for (std::size_t k = 1; k < above_.size(); ++k)
      out += above_[k] * det_log(1.0 + static_cast<double>(k) * a);
    for (const auto& [count, weight] : others_) out += weight * log_rising(count, a);
    const double r = 1.0 / a;
    for (std::size_t row = 0; row < count_.size(); ++row) {
      const double w = OBART_BUG(dispersion_weights_dropped) ? 1.0 : given_[row];
      out -= w * (r + count_[row]) * det_log(1.0 + a * mean_[row]);
    }
    return out;
  }

  double prior_mean_, prior_sd_;  // of the logarithm
  double dispersion_;
  std::vector<double> above_;                      // weight of the rows with a count above k
  std::vector<std::pair<double, double>> others_;  // counts that are not among them, with weights
  std::vector<double> mean_;                       // mu; scratch
};

}  // namespace

std::unique_ptr<Likelihood> make_poisson(const Data& data, const Settings& settings) {
  return std::make_unique<Poisson>(data, settings);
}

std::unique_ptr<Likelihood> make_negative_binomial(const Data& data, const Settings& settings) {
  return std::make_unique<NegativeBinomial>(data, settings);
}

}  // namespace obart
