// What a treatment changes: the mean of an outcome is mu(x) + sum over k of
//
//   d_k level_k + (low_k (1 - d_k) + high_k d_k) tau_k(x)
//
// with a dose d_k of each treatment k, 1 in its arm and 0 in others, or any number. So the effect
// of one unit of dose is level_k + (high_k - low_k) tau_k(x). Noise is that of another likelihood,
// which sees the whole mean as its f. Ensembles are mu, those of the noise, then the tau_k.
//
// low and high code the arms (Hahn, Murray and Carvalho 2020): neither arm is the one that tau is
// added to, and |high - low| is half-normal, which is the prior of the scale of tau. Where a dose
// is a number low is zero.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/planted_bugs.h"
#include "base/row_sums.h"
#include "likelihood/likelihood.h"

namespace obart {
namespace {

// Of one treatment: low, high, level.
using Coefficients = std::array<double, 3>;
constexpr std::array<const char*, 3> kNames{"low", "high", "level"};
enum : std::size_t { kLow, kHigh, kLevel };

// Below this, a row says nothing about tau: its weight would be that number's square.
constexpr double kSmallestFactor = 1e-4;
// Residuals are computed anew after so many sweeps.
constexpr std::int64_t kRefreshSweeps = 16;

// Below this, a whole arm has residuals so large that tau drifts by rounding within a few sweeps.
constexpr double kSmallCoefficient = 1.0 / 16.0;

// Sums over the rows of w x_i x_j, j <= i, and of w x_i y.
struct RegressionSums {
  double products[3][3] = {};
  double outcome[3] = {};
};

// The normal distribution exp(b'x - x'Ax / 2) over the coefficients that are drawn; others are
// zero.
class NormalEquations {
 public:
  explicit NormalEquations(const Coefficients& prior_precision) : prior_(prior_precision) {}

  void add(const RegressionSums& sums, double variance) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j <= i; ++j) a_[i][j] = sums.products[i][j] / variance;
      b_[i] = sums.outcome[i] / variance;
    }
  }

  // By Cholesky's decomposition A = L L'.
  Coefficients draw(Rng& rng) const {
    double l[3][3] = {};
    Coefficients z{};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!is_drawn(i)) continue;
      for (std::size_t j = 0; j <= i; ++j) {
        if (!is_drawn(j)) continue;
        double sum = a_[i][j] + (i == j ? prior_[i] : 0.0);
        for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
        l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
      }
      double sum = b_[i];
      for (std::size_t k = 0; k < i; ++k) sum -= l[i][k] * z[k];
      z[i] = sum / l[i][i];
    }
    for (std::size_t i = 0; i < 3; ++i)
      if (is_drawn(i)) z[i] += rng.normal();
    Coefficients x{};
    for (std::size_t i = 3; i-- > 0;) {
      if (!is_drawn(i)) continue;
      double sum = z[i];
      for (std::size_t k = i + 1; k < 3; ++k) sum -= l[k][i] * x[k];
      x[i] = sum / l[i][i];
    }
    return x;
  }

  Coefficients draw_prior(Rng& rng) const {
    Coefficients x{};
    for (std::size_t i = 0; i < 3; ++i)
      if (is_drawn(i)) x[i] = rng.normal() / std::sqrt(prior_[i]);
    return x;
  }

 private:
  bool is_drawn(std::size_t i) const { return std::isfinite(prior_[i]); }

  Coefficients prior_;  // infinite: the coefficient is zero
  double a_[3][3] = {};
  double b_[3] = {};
};

class Causal final : public Likelihood {
 public:
  Causal(const Data& data, const Settings& settings, std::unique_ptr<Likelihood> noise)
      : Likelihood(settings.likelihood),
        noise_(std::move(noise)),
        n_rows_(static_cast<std::size_t>(data.n_rows())),
        n_padded_(static_cast<std::size_t>(data.n_padded())),
        y_(n_rows_),
        effect_(n_padded_),
        dose_(count_treatments(settings.likelihood), std::vector<double>(n_padded_)),
        coefficients_(dose_.size()) {
    const double infinite = std::numeric_limits<double>::infinity();
    const bool codes_arms = settings.likelihood.required("codes_arms") != 0.0;
    const double level_sd = settings.likelihood.required("level_sd");
    if (!(level_sd >= 0.0) || !std::isfinite(level_sd))
      throw std::invalid_argument("level_sd must not be negative");
    prior_ = {codes_arms ? 2.0 : infinite, codes_arms ? 2.0 : 1.0, 1.0 / (level_sd * level_sd)};
    if (OBART_BUG(causal_scale_too_wide)) prior_[kHigh] *= 0.5;
    if (OBART_BUG(causal_level_sd_squared)) prior_[kLevel] *= prior_[kLevel];
    for (Coefficients& of_treatment : coefficients_) of_treatment = {codes_arms ? -0.5 : 0.0, 0.5};
  }

  std::size_t n_ensembles() const override { return noise_->n_ensembles() + dose_.size(); }
  std::size_t n_columns() const override { return 1 + dose_.size(); }
  double first_sigma() const override { return noise_->first_sigma(); }
  double draw_prior_sigma(Rng& rng) const override { return noise_->draw_prior_sigma(rng); }
  void set_weights(const double* weights, Ensembles& ensembles) override {
    noise_->set_weights(weights, ensembles);
  }

  void set_y(const double* y, Ensembles& ensembles) override {
    noise_->set_y(y, ensembles);
    std::copy_n(y, n_rows_, y_.begin());
    n_prepared_ = 0;
    const std::vector<double> ones(n_rows_, 1.0);
    for (std::size_t k = 0; k < dose_.size(); ++k) {
      std::copy_n(y + (k + 1) * n_rows_, n_rows_, dose_[k].begin());
      for (const double dose : dose_[k])
        if (!std::isfinite(dose)) throw std::invalid_argument("doses must be finite");
      tau(ensembles, k).set_weights(ones.data());
      std::fill_n(tau(ensembles, k).target.data(), n_rows_, 0.0);
    }
  }

  void prepare(Ensembles& ensembles, std::size_t e, double sigma, Rng& rng) override {
    if (e == 0) {
      is_small_ = has_small_coefficient();
      prepare_mu(ensembles, sigma, rng);
    } else if (e < noise_->n_ensembles()) {
      noise_->prepare(ensembles, e, sigma, rng);
    } else {
      const std::size_t k = e - noise_->n_ensembles();
      if (k > 0)
        read_residual(ensembles, k - 1);
      else if (!OBART_BUG(causal_weights_stale))
        noise_->write_weights(ensembles);
      write_residual(ensembles, k);
    }
  }

  // The residual of the last treatment is still with its trees, so its coefficients come first.
  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override {
    const std::size_t last = dose_.size() - 1;
    draw_coefficients(ensembles, last, sigma, rng, !OBART_BUG(causal_residual_kept));
    for (std::size_t k = 0; k < last; ++k) draw_coefficients(ensembles, k, sigma, rng, false);
    noise_->draw_scales(ensembles, sigma, rng);
    for (std::size_t k = 0; is_small_ && k < dose_.size(); ++k) write_residual(ensembles, k);
  }

  void draw_prior_scales(Rng& rng) override {
    noise_->draw_prior_scales(rng);
    for (Coefficients& of_treatment : coefficients_)
      of_treatment = NormalEquations(prior_).draw_prior(rng);
  }

  // The target of mu is what the effects leave, and latents stay what they are.
  bool can_scale(std::size_t e) const override { return e == 0; }

  // tau is the difference of numbers that are large where its factor is small.
  std::int64_t refresh_sweeps(std::size_t e) const override {
    if (e < noise_->n_ensembles()) return noise_->refresh_sweeps(e);
    return is_small_ ? 1 : kRefreshSweeps;
  }

  std::vector<NamedScale> scales() const override {
    std::vector<NamedScale> out = noise_->scales();
    for (std::size_t k = 0; k < coefficients_.size(); ++k)
      for (std::size_t i = 0; i < 3; ++i) out.push_back({name(k, i), coefficients_[k][i]});
    return out;
  }
  void add_fields(std::vector<Field>& fields) override {
    noise_->add_fields(fields);
    fields.push_back({"n_prepared", &n_prepared_, 0.0, 0x1p53});
    for (std::size_t k = 0; k < coefficients_.size(); ++k)
      for (std::size_t i = 0; i < 3; ++i) fields.push_back({name(k, i), &coefficients_[k][i]});
  }

 private:
  static std::size_t count_treatments(const LikelihoodSettings& settings) {
    const double n = settings.required("n_treatments");
    if (!(n >= 1.0 && n <= 1000.0 && n == std::floor(n)))
      throw std::invalid_argument("n_treatments must be a whole number, at least 1");
    return static_cast<std::size_t>(n);
  }
  static std::string name(std::size_t k, std::size_t i) {
    return std::string(kNames[i]) + "." + std::to_string(k);
  }
  Ensemble& tau(Ensembles& ensembles, std::size_t k) const {
    return ensembles[noise_->n_ensembles() + k];
  }
  static double fit(const Ensemble& ensemble, std::size_t row) {
    return ensemble.target[row] - static_cast<double>(ensemble.residual[row]);
  }
  // What tau_k is multiplied by.
  double factor(std::size_t k, std::size_t row) const {
    const double d = dose_[k][row];
    const Coefficients& c = coefficients_[k];
    if (OBART_BUG(causal_coding_swapped)) return c[kHigh] * (1.0 - d) + c[kLow] * d;
    return c[kLow] * (1.0 - d) + c[kHigh] * d;
  }
  bool has_small_coefficient() const {
    const auto is_small = [&](const Coefficients& c) {
      const bool low = std::isfinite(prior_[kLow]) && std::abs(c[kLow]) < kSmallCoefficient;
      return low || std::abs(c[kHigh]) < kSmallCoefficient;
    };
    return std::ranges::any_of(coefficients_, is_small);
  }
  // A new residual; f stays what it is.
  static void set_residual(Ensemble& ensemble, std::size_t row, double f, double residual) {
    ensemble.residual[row] = static_cast<float>(residual);
    ensemble.target[row] = f + static_cast<double>(ensemble.residual[row]);
  }

  // The residual is that of the sweep before, but for rounding. So it is computed anew only now and
  // then, or if the noise is to draw what the trees explain.
  void prepare_mu(Ensembles& ensembles, double sigma, Rng& rng) {
    const bool is_turn = n_prepared_++ % kRefreshSweeps == 0;
    if (!is_turn && !noise_->draws_target()) {
      noise_->prepare(ensembles, 0, sigma, rng);
      return;
    }
    add_effects(ensembles);
    noise_->prepare(ensembles, 0, sigma, rng);
    for (std::size_t row = 0; row < n_rows_; ++row) ensembles[0].target[row] -= effect_[row];
    if (OBART_BUG(causal_latents_without_effects)) shift_residual(ensembles[0]);
  }

  // The first ensemble as the noise sees it: its f has all effects.
  void add_effects(Ensembles& ensembles) {
    std::ranges::fill(effect_, 0.0);
    const std::size_t n_treatments = OBART_BUG(causal_later_effects_dropped) ? 1 : dose_.size();
    for (std::size_t k = 0; k < n_treatments; ++k) {
      const Ensemble& of_treatment = tau(ensembles, k);
      for (std::size_t row = 0; row < n_rows_; ++row) {
        const double dose = OBART_BUG(causal_level_in_controls) ? 1.0 : dose_[k][row];
        effect_[row] += coefficients_[k][kLevel] * dose + factor(k, row) * fit(of_treatment, row);
      }
    }
    for (std::size_t row = 0; row < n_rows_; ++row) {
      const double effect = OBART_BUG(causal_latents_without_effects) ? 0.0 : effect_[row];
      const double mean = fit(ensembles[0], row) + effect;
      set_residual(ensembles[0], row, mean, y_[row] - mean);
    }
  }
  // Latents were drawn as if f were mu alone; what they leave to mu is without the effects.
  void shift_residual(Ensemble& mu) const {
    for (std::size_t row = 0; row < n_rows_; ++row) {
      const double shift = effect_[row];
      set_residual(mu, row, fit(mu, row) + shift, static_cast<double>(mu.residual[row]) - shift);
    }
  }

  // A row whose factor is b has the residual r / b and the weight w b^2.
  void write_residual(Ensembles& ensembles, std::size_t k) const {
    Ensemble& of_treatment = tau(ensembles, k);
    const float* residual = ensembles[0].residual.data();
    const float* weight = ensembles[0].weights();
    for (std::size_t row = 0; row < n_rows_; ++row) {
      const double b = factor(k, row);
      const double now = fit(of_treatment, row);
      const double w = weight != nullptr ? static_cast<double>(weight[row]) : 1.0;
      const bool tells = std::abs(b) >= kSmallestFactor;
      of_treatment.weight[row] = static_cast<float>(tells ? w * b * b : 0.0);
      if (OBART_BUG(causal_weight_not_squared))
        of_treatment.weight[row] = static_cast<float>(w * std::abs(b));
      const double inverse = 1.0 / (tells ? b : 1.0);
      set_residual(of_treatment, row, now,
                   tells ? inverse * static_cast<double>(residual[row]) : 0.0);
    }
  }

  // What mu's residual is after the trees of treatment k.
  double residual_after(const Ensembles& ensembles, const Ensemble& of_treatment, std::size_t k,
                        std::size_t row) const {
    const double b = factor(k, row);
    return std::abs(b) >= kSmallestFactor ? b * static_cast<double>(of_treatment.residual[row])
                                          : static_cast<double>(ensembles[0].residual[row]);
  }
  void read_residual(Ensembles& ensembles, std::size_t k) const {
    if (OBART_BUG(causal_residual_kept)) return;
    const Ensemble& of_treatment = tau(ensembles, k);
    for (std::size_t row = 0; row < n_rows_; ++row)
      set_residual(ensembles[0], row, fit(ensembles[0], row),
                   residual_after(ensembles, of_treatment, k, row));
  }

  // Given tau_k, its coefficients are those of a linear regression. The residual may still be with
  // the trees of tau_k.
  void draw_coefficients(Ensembles& ensembles, std::size_t k, double sigma, Rng& rng,
                         bool is_with_tau) {
    const Ensemble& of_treatment = tau(ensembles, k);
    const Coefficients before = coefficients_[k];
    for (std::size_t row = 0; row < n_rows_; ++row) {
      const Coefficients x = regressors(of_treatment, k, row);
      const double r = is_with_tau ? residual_after(ensembles, of_treatment, k, row)
                                   : static_cast<double>(ensembles[0].residual[row]);
      effect_[row] = r + (OBART_BUG(causal_coefficients_from_residual) ? 0.0 : product(x, before));
    }
    NormalEquations equations(prior_);
    equations.add(regression_sums(ensembles, k),
                  OBART_BUG(causal_coefficients_without_sigma) ? 1.0 : sigma * sigma);
    coefficients_[k] = equations.draw(rng);
    for (std::size_t row = 0; row < n_rows_; ++row) {
      const Coefficients x = regressors(of_treatment, k, row);
      set_residual(ensembles[0], row, fit(ensembles[0], row),
                   effect_[row] - product(x, coefficients_[k]));
    }
  }

  // Of the products of the regressors with each other and with what they are to explain. A level
  // that is not drawn has no sums.
  RegressionSums regression_sums(Ensembles& ensembles, std::size_t k) const {
    const Ensemble& mu = ensembles[0];
    const Ensemble& of_treatment = tau(ensembles, k);
    const float* weight = OBART_BUG(causal_coefficients_unweighted) ? nullptr : mu.weights();
    const auto sum = [&]<std::size_t kRegressors>() {
      RegressionSums sums;
      double total[kRegressors * (kRegressors + 3) / 2] = {};
      sum_rows(mu.data.n_padded(), total, [&](std::size_t row, int l, auto& lane) {
        const double w = weight != nullptr ? static_cast<double>(weight[row]) : 1.0;
        const Coefficients x = regressors(of_treatment, k, row);
        std::size_t at = 0;
        for (std::size_t i = 0; i < kRegressors; ++i) {
          const double wx = w * x[i];
          for (std::size_t j = 0; j <= i; ++j) lane[at++][l] += wx * x[j];
          lane[at++][l] += wx * effect_[row];
        }
      });
      std::size_t at = 0;
      for (std::size_t i = 0; i < kRegressors; ++i) {
        for (std::size_t j = 0; j <= i; ++j) sums.products[i][j] = total[at++];
        sums.outcome[i] = total[at++];
      }
      return sums;
    };
    return std::isfinite(prior_[kLevel]) ? sum.template operator()<3>()
                                         : sum.template operator()<2>();
  }
  Coefficients regressors(const Ensemble& of_treatment, std::size_t k, std::size_t row) const {
    const double dose = dose_[k][row];
    const double value = fit(of_treatment, row);
    return {(1.0 - dose) * value, dose * value, dose};
  }
  static double product(const Coefficients& a, const Coefficients& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  }

  std::unique_ptr<Likelihood> noise_;
  std::size_t n_rows_, n_padded_;
  std::int64_t n_prepared_ = 0;  // sweeps
  bool is_small_ = false;        // a coefficient was, when the trees of this sweep were updated
  std::vector<double> y_;
  std::vector<double> effect_;             // of treatments, or without them, by row; scratch
  std::vector<std::vector<double>> dose_;  // by treatment and row
  Coefficients prior_;                     // precisions
  std::vector<Coefficients> coefficients_;
};

}  // namespace

#define OBART_CAUSAL(noise)                                                                     \
  std::unique_ptr<Likelihood> make_causal_##noise(const Data& data, const Settings& settings) { \
    return std::make_unique<Causal>(data, settings, make_##noise(data, settings));              \
  }
OBART_CAUSAL(gaussian)
OBART_CAUSAL(student_t)
OBART_CAUSAL(learned_t)
OBART_CAUSAL(varying_noise)
OBART_CAUSAL(probit)
OBART_CAUSAL(weighted_probit)
#undef OBART_CAUSAL

}  // namespace obart
