// y = f + sigma e / sqrt(weight), e ~ Student's t. Given a latent w ~ Gamma(df / 2, df / 2) that is
// N(f, sigma^2 / (weight w)): rows far from f count less. The degrees of freedom are given, or
// drawn from a grid.
#include <algorithm>

#include "base/even_student_t.h"
#include "base/planted_bugs.h"
#include "likelihood/learned_df.h"
#include "likelihood/likelihood.h"

namespace obart {
namespace {

class StudentT : public Likelihood {
 public:
  StudentT(const Data& data, const Settings& settings)
      : Likelihood(settings.likelihood),
        df_(even_df(settings.likelihood.required("df"))),
        first_row_(static_cast<std::size_t>(data.first_row())),
        n_rows_in_all_(static_cast<std::size_t>(data.n_rows_in_all())),
        given_(static_cast<std::size_t>(data.n_rows()), 1.0) {}
  StudentT(const Data& data, const Settings& settings, double df)
      : Likelihood(settings.likelihood),
        df_(df),
        first_row_(static_cast<std::size_t>(data.first_row())),
        n_rows_in_all_(static_cast<std::size_t>(data.n_rows_in_all())),
        given_(static_cast<std::size_t>(data.n_rows()), 1.0) {}

  bool works_on_parts() const override { return true; }

  void set_weights(const double* weights, Ensembles&) override {
    std::copy_n(weights, given_.size(), given_.begin());
  }

  void set_y(const double* y, Ensembles& ensembles) override {
    Ensemble& f = ensembles[0];
    std::copy_n(y, given_.size(), f.target.data());
    f.set_weights(given_.data());
  }

  // w given all else is Gamma((df + 1) / 2, (df + weight z^2) / 2). It is drawn before the trees
  // see it, so the state does not need it.
  void prepare(Ensembles& ensembles, std::size_t, double sigma, Rng& rng) override {
    float* weight = ensembles[0].weight.data();
    const float* residual = ensembles[0].residual.data();
    const GammaShape shape(0.5 * (OBART_BUG(t_shape_without_row) ? df_ : df_ + 1.0));
    // Those of rows elsewhere are drawn, too: the draws that follow are the same for all workers.
    for (std::size_t row = 0; row < first_row_; ++row) rng.gamma(shape);
    for (std::size_t row = 0; row < given_.size(); ++row)
      weight[row] = static_cast<float>(rng.gamma(shape));
    for (std::size_t row = first_row_ + given_.size(); row < n_rows_in_all_; ++row)
      rng.gamma(shape);
    const double scale = 1.0 / (sigma * sigma);
    for (std::size_t row = 0; row < given_.size(); ++row) {
      const auto r = static_cast<double>(residual[row]);
      const double rate = 0.5 * (df_ + scale * given_[row] * r * r);
      const double w = static_cast<double>(weight[row]) / rate;
      weight[row] = static_cast<float>(OBART_BUG(t_weights_dropped) ? w : given_[row] * w);
    }
  }

  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override {
    if (settings().sigma_fixed) return;
    sigma = draw_sigma(static_cast<double>(n_rows_in_all_), ensembles[0].weighted_squares(), rng);
  }

  std::vector<NamedScale> scales() const override { return {{"df", df_}}; }

 protected:
  double df_;
  std::size_t first_row_, n_rows_in_all_;
  std::vector<double> given_;  // the user's weights
};

class LearnedT final : public StudentT {
 public:
  LearnedT(const Data& data, const Settings& settings)
      : StudentT(data, settings, LearnedDf::kFirst), learned_(settings.likelihood) {}

  bool works_on_parts() const override { return false; }

  double draw_prior_sigma(Rng& rng) const override {
    return settings().sigma_fixed ? settings().sigma
                                  : draw_sigma(0.0, 0.0, rng, LearnedDf::usual_scale(df_));
  }

  // The weights go with the degrees of freedom, and what follows in the sweep goes with them.
  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override {
    if (!settings().sigma_fixed)
      sigma = draw_sigma(static_cast<double>(given_.size()), ensembles[0].weighted_squares(), rng,
                         LearnedDf::unit(df_));
    const float* residual = ensembles[0].residual.data();
    const auto square = [&](std::size_t row) {
      const auto r = static_cast<double>(residual[row]);
      return given_[row] * r * r;
    };
    df_ = learned_.draw(df_, given_.size(), square, sigma, rng);
    prepare(ensembles, 0, sigma, rng);
  }

  void draw_prior_scales(Rng& rng) override { df_ = learned_.draw_prior(rng); }
  void add_fields(std::vector<Field>& fields) override { fields.push_back(LearnedDf::field(&df_)); }

 private:
  LearnedDf learned_;
};

}  // namespace

std::unique_ptr<Likelihood> make_learned_t(const Data& data, const Settings& settings) {
  return std::make_unique<LearnedT>(data, settings);
}

std::unique_ptr<Likelihood> make_student_t(const Data& data, const Settings& settings) {
  return std::make_unique<StudentT>(data, settings);
}

}  // namespace obart
