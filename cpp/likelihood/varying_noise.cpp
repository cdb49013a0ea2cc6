// y ~ N(f(x), sigma^2 / (w h(x))): the first ensemble is f, the second the factor h of the
// precision, a product over its trees. With h = 1 that is constant noise.
#include <algorithm>
#include <optional>

#include "base/even_student_t.h"
#include "base/planted_bugs.h"
#include "likelihood/learned_df.h"
#include "likelihood/likelihood.h"

namespace obart {
namespace {

class VaryingNoise final : public Likelihood {
 public:
  VaryingNoise(const Data& data, const Settings& settings)
      : Likelihood(settings.likelihood),
        given_(static_cast<std::size_t>(data.n_rows()), 1.0),
        latent_(given_.size(), 1.0) {
    if (settings.likelihood.more.contains("df_rate"))
      learned_.emplace(settings.likelihood);
    else
      df_ = even_df(settings.likelihood.required("df"));
  }

  std::size_t n_ensembles() const override { return 2; }

  void set_weights(const double* weights, Ensembles&) override {
    std::copy_n(weights, given_.size(), given_.begin());
  }

  // Where the errors start does not matter: each sweep writes them before it uses them.
  void set_y(const double* y, Ensembles& ensembles) override {
    std::copy_n(y, given_.size(), ensembles[0].target.data());
    std::fill_n(ensembles[1].target.data(), given_.size(), 1.0);
    ensembles[0].set_weights(given_.data());
  }

  // The latents are drawn before anything else of a sweep uses them, so the state does not need
  // them.
  void prepare(Ensembles& ensembles, std::size_t e, double sigma, Rng& rng) override {
    if (e == 0) {
      draw_latents(ensembles, sigma, rng);
      write_weights(ensembles);
    } else {
      write_errors(ensembles, sigma);
    }
  }

  // sigma is that of constant noise with the weights w h.
  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override {
    if (!OBART_BUG(varying_weights_stale)) write_weights(ensembles);
    if (!settings().sigma_fixed)
      sigma = draw_sigma(static_cast<double>(given_.size()), ensembles[0].weighted_squares(), rng,
                         learned_ ? LearnedDf::unit(df_) : 1.0);
    if (!learned_) return;
    const auto square = [&](std::size_t row) { return squared_error(ensembles, row); };
    df_ = learned_->draw(df_, given_.size(), square, sigma, rng);
    draw_latents(ensembles, sigma, rng);
    write_weights(ensembles);
  }

  void write_weights(Ensembles& ensembles) const override {
    float* weight = ensembles[0].weight.data();
    for (std::size_t row = 0; row < given_.size(); ++row) {
      const double w = OBART_BUG(varying_weights_dropped) ? 1.0 : given_[row];
      weight[row] = static_cast<float>(w * latent_[row] * factor(ensembles[1], row));
    }
  }

  double draw_prior_sigma(Rng& rng) const override {
    if (settings().sigma_fixed) return settings().sigma;
    return draw_sigma(0.0, 0.0, rng, learned_ ? LearnedDf::usual_scale(df_) : 1.0);
  }
  void draw_prior_scales(Rng& rng) override {
    if (learned_) df_ = learned_->draw_prior(rng);
  }
  void add_fields(std::vector<Field>& fields) override {
    if (learned_) fields.push_back(LearnedDf::field(&df_));
  }

  std::vector<NamedScale> scales() const override { return {{"df", df_}}; }

  // The target of f is y, and its weights are those that draw_scales has written.
  bool can_scale(std::size_t e) const override { return e == 0; }

 private:
  // Below this, an error is rounding of the float residual; and h is the residual over the target.
  static constexpr double kSmallestError = 1e-14;

  static double factor(const Ensemble& h, std::size_t row) {
    return static_cast<double>(h.residual[row]) / h.target[row];
  }

  // w h r^2.
  double squared_error(const Ensembles& ensembles, std::size_t row) const {
    const auto r = static_cast<double>(ensembles[0].residual[row]);
    return given_[row] * factor(ensembles[1], row) * r * r;
  }

  // Gamma((df + 1) / 2, (df + w h r^2 / sigma^2) / 2).
  void draw_latents(const Ensembles& ensembles, double sigma, Rng& rng) {
    const GammaShape shape(0.5 * (OBART_BUG(varying_shape_without_row) ? df_ : df_ + 1.0));
    const double scale = 1.0 / (sigma * sigma);
    for (std::size_t row = 0; row < given_.size(); ++row) {
      const double z2 = scale * squared_error(ensembles, row);
      latent_[row] = rng.gamma(shape) / (0.5 * (df_ + z2));
    }
  }

  void write_errors(Ensembles& ensembles, double sigma) const {
    const float* error = ensembles[0].residual.data();
    Ensemble& h = ensembles[1];
    const double scale = (OBART_BUG(varying_error_whole) ? 1.0 : 0.5) / (sigma * sigma);
    for (std::size_t row = 0; row < given_.size(); ++row) {
      const double now = factor(h, row);
      const auto r = static_cast<double>(error[row]);
      h.target[row] = std::max(scale * given_[row] * latent_[row] * r * r, kSmallestError);
      h.residual[row] = static_cast<float>(h.target[row] * now);
    }
  }

  double df_ = LearnedDf::kFirst;
  std::optional<LearnedDf> learned_;
  std::vector<double> given_;   // the user's weights
  std::vector<double> latent_;  // of the rows
};

}  // namespace

std::unique_ptr<Likelihood> make_varying_noise(const Data& data, const Settings& settings) {
  return std::make_unique<VaryingNoise>(data, settings);
}

}  // namespace obart
