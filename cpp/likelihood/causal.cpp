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
#include "likelihood/likelihood.h"
#include "likelihood/row_sums.h"

namespace obart {
namespace {

// Of one treatment: low, high, level.
using Coefficients = std::array<double, 3>;
constexpr std::array<const char*, 3> kNames{"low", "high", "level"};
enum : std::size_t { kLow, kHigh, kLevel };

// Below this, a row says nothing about tau: its weight would be that number's square.
constexpr double kSmallestFactor = 1e-4;

// Below this, a whole arm has residuals so large that tau drifts by rounding within a few sweeps.
constexpr double kSmallCoefficient = 1.0 / 16.0;

// The normal distribution exp(b'x - x'Ax / 2) over the coefficients that are drawn; others are
// zero.
class NormalEquations {
 public:
  explicit NormalEquations(const Coefficients& prior_precision) : prior_(prior_precision) {}

  // Sums over the rows, and what they are divided by.
  void add(const double (&sums)[9], double variance) {
    std::size_t k = 0;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j <= i; ++j) a_[i][j] = sums[k++] / variance;
    for (std::size_t i = 0; i < 3; ++i) b_[i] = sums[k++] / variance;
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
        effect_(n_rows_),
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
      add_effects(ensembles);
      noise_->prepare(ensembles, 0, sigma, rng);
      for (std::size_t row = 0; row < n_rows_; ++row) ensembles[0].target[row] -= effect_[row];
      if (OBART_BUG(causal_latents_without_effects)) shift_residual(ensembles[0]);
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

  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override {
    read_residual(ensembles, dose_.size() - 1);
    for (std::size_t k = 0; k < dose_.size(); ++k) draw_coefficients(ensembles, k, sigma, rng);
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
  std::int64_t refresh_sweeps() const override { return is_small_ ? 1 : 16; }

  std::vector<NamedScale> scales() const override {
    std::vector<NamedScale> out = noise_->scales();
    for (std::size_t k = 0; k < coefficients_.size(); ++k)
      for (std::size_t i = 0; i < 3; ++i) out.push_back({name(k, i), coefficients_[k][i]});
    return out;
  }
  void add_fields(std::vector<Field>& fields) override {
    noise_->add_fields(fields);
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
      of_treatment.weight[row] = tells ? static_cast<float>(w * b * b) : 0.0F;
      if (OBART_BUG(causal_weight_not_squared))
        of_treatment.weight[row] = static_cast<float>(w * std::abs(b));
      set_residual(of_treatment, row, now, tells ? static_cast<double>(residual[row]) / b : 0.0);
    }
  }

  void read_residual(Ensembles& ensembles, std::size_t k) const {
    if (OBART_BUG(causal_residual_kept)) return;
    const Ensemble& of_treatment = tau(ensembles, k);
    for (std::size_t row = 0; row < n_rows_; ++row) {
      const double b = factor(k, row);
      if (std::abs(b) < kSmallestFactor) continue;
      set_residual(ensembles[0], row, fit(ensembles[0], row),
                   b * static_cast<double>(of_treatment.residual[row]));
    }
  }

  // Given tau_k, its coefficients are those of a linear regression.
  void draw_coefficients(Ensembles& ensembles, std::size_t k, double sigma, Rng& rng) {
    const Ensemble& of_treatment = tau(ensembles, k);
    const Ensemble& mu = ensembles[0];
    const std::vector<double>& dose = dose_[k];
    const Coefficients before = coefficients_[k];
    const float* weight = mu.weights();
    double sums[9] = {};
    const auto add = [&](std::size_t row, int l, double (&lane)[9][kLanes]) {
      const bool is_weighted = weight != nullptr && !OBART_BUG(causal_coefficients_unweighted);
      const double w = is_weighted ? static_cast<double>(weight[row]) : 1.0;
      const Coefficients x = regressors(of_treatment, dose, row);
      const double now = OBART_BUG(causal_coefficients_from_residual) ? 0.0 : product(x, before);
      const double r = static_cast<double>(mu.residual[row]) + now;
      int at = 0;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j <= i; ++j) lane[at++][l] += w * x[i] * x[j];
      for (std::size_t i = 0; i < 3; ++i) lane[at++][l] += w * x[i] * r;
    };
    sum_rows(mu.data.n_padded(), sums, add);
    NormalEquations equations(prior_);
    equations.add(sums, OBART_BUG(causal_coefficients_without_sigma) ? 1.0 : sigma * sigma);
    coefficients_[k] = equations.draw(rng);
    for (std::size_t row = 0; row < n_rows_; ++row) {
      const Coefficients x = regressors(of_treatment, dose, row);
      const double r = static_cast<double>(mu.residual[row]) + product(x, before);
      set_residual(ensembles[0], row, fit(mu, row), r - product(x, coefficients_[k]));
    }
  }
  static Coefficients regressors(const Ensemble& of_treatment, const std::vector<double>& dose,
                                 std::size_t row) {
    const double value = fit(of_treatment, row);
    return {(1.0 - dose[row]) * value, dose[row] * value, dose[row]};
  }
  static double product(const Coefficients& a, const Coefficients& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  }

  std::unique_ptr<Likelihood> noise_;
  std::size_t n_rows_, n_padded_;
  bool is_small_ = false;  // a coefficient was, when the trees of this sweep were updated
  std::vector<double> y_;
  std::vector<double> effect_;             // of all treatments together, by row; scratch
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
