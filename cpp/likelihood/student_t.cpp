// y = f + sigma e / sqrt(weight), e ~ Student's t. Given a latent w ~ Gamma(df / 2, df / 2) that is
// N(f, sigma^2 / (weight w)): rows far from f count less. The degrees of freedom are given, or
// drawn from a grid.
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "base/even_student_t.h"
#include "base/planted_bugs.h"
#include "likelihood/likelihood.h"

namespace obart {
namespace {

class StudentT : public Likelihood {
 public:
  StudentT(const Data& data, const Settings& settings)
      : Likelihood(settings.likelihood),
        df_(even_df(settings.likelihood.required("df"))),
        given_(static_cast<std::size_t>(data.n_rows()), 1.0) {}
  StudentT(const Data& data, const Settings& settings, double df)
      : Likelihood(settings.likelihood),
        df_(df),
        given_(static_cast<std::size_t>(data.n_rows()), 1.0) {}

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
    for (std::size_t row = 0; row < given_.size(); ++row)
      weight[row] = static_cast<float>(rng.gamma(shape));
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
    sigma = draw_sigma(static_cast<double>(given_.size()), weighted_squares(ensembles[0]), rng);
  }

  std::vector<NamedScale> scales() const override { return {{"df", df_}}; }

 protected:
  double df_;
  std::vector<double> given_;  // the user's weights
};

// The degrees of freedom that may be drawn; even, so that the distribution function is short.
constexpr std::array<int, 7> kGrid{4, 6, 8, 10, 14, 20, 30};
constexpr int kFirstDf = 10;
constexpr std::size_t kGridLanes = 8;
using GridLanes = std::array<double, kGridLanes>;

// P(df > x) for df ~ Gamma(2, rate).
double prior_above(double x, double rate) { return det_exp(-rate * x) * (1.0 + rate * x); }

// The prior has a gamma distribution; each point of the grid stands for what is nearest to it.
double prior_mass(std::size_t g, double rate) {
  const auto middle = [](std::size_t i) { return 0.5 * (kGrid[i - 1] + kGrid[i]); };
  const double above = g == 0 ? 1.0 : prior_above(middle(g), rate);
  return above - (g + 1 == kGrid.size() ? 0.0 : prior_above(middle(g + 1), rate));
}

// Up to a constant of all df, the log density of Student's t at 0.
double log_height(double df) {
  return det_lgamma(0.5 * (df + 1.0)) - det_lgamma(0.5 * df) - 0.5 * det_log(df);
}

// With heavier tails the same residuals have a smaller scale, about in these proportions. The prior
// of sigma is that of sigma / usual_scale(df), the scale of normal noise.
double usual_scale(double df) { return 1.0 - 0.9 / df; }

class LearnedT final : public StudentT {
 public:
  LearnedT(const Data& data, const Settings& settings)
      : StudentT(data, settings, kFirstDf), rate_(settings.likelihood.required("df_rate")) {
    if (!(rate_ >= 1e-3 && rate_ <= 10.0))
      throw std::invalid_argument("df_rate must be between 0.001 and 10");
  }

  double draw_prior_sigma(Rng& rng) const override {
    return settings().sigma_fixed ? settings().sigma : draw_sigma(0.0, 0.0, rng, usual_scale(df_));
  }

  // The weights go with the degrees of freedom, and what follows in the sweep goes with them.
  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override {
    if (!settings().sigma_fixed)
      sigma = draw_sigma(static_cast<double>(given_.size()), weighted_squares(ensembles[0]), rng,
                         OBART_BUG(t_sigma_unit_dropped) ? 1.0 : usual_scale(df_));
    draw_df(ensembles[0], sigma, rng);
    prepare(ensembles, 0, sigma, rng);
  }

  void draw_prior_scales(Rng& rng) override {
    GridLanes log_mass{};
    for (std::size_t g = 0; g < kGrid.size(); ++g) log_mass[g] = det_log(prior_mass(g, rate_));
    df_ = kGrid[draw_index(log_mass, rng)];
  }

  void add_fields(std::vector<Field>& fields) override {
    fields.push_back({"df", &df_, kGrid.front(), kGrid.back()});
  }

 private:
  static std::size_t draw_index(const GridLanes& log_mass, Rng& rng) {
    const double largest = *std::max_element(log_mass.begin(), log_mass.begin() + kGrid.size());
    double total = 0.0;
    GridLanes mass{};
    for (std::size_t g = 0; g < kGrid.size(); ++g)
      total += mass[g] = det_exp(log_mass[g] - largest);
    double u = total * rng.uniform();
    std::size_t g = 0;
    while (g + 1 < kGrid.size() && u >= mass[g]) u -= mass[g++];
    return g;
  }

  // Of each point of the grid, the sum of log(1 + weight r^2 inverse) over the rows.
  GridLanes log_sums(const Ensemble& f, const GridLanes& inverse) const {
    constexpr std::size_t chunk = 16;
    constexpr double largest = 1e18;  // as many factors still have a finite product
    GridLanes sum{};
    for (std::size_t start = 0; start < given_.size(); start += chunk) {
      GridLanes product;
      product.fill(1.0);
      for (std::size_t row = start; row < std::min(start + chunk, given_.size()); ++row) {
        const auto r = static_cast<double>(f.residual[row]);
        const double square = given_[row] * r * r;
        for (std::size_t g = 0; g < kGridLanes; ++g)
          product[g] *= 1.0 + std::min(square * inverse[g], largest);
      }
      for (std::size_t g = 0; g < kGrid.size(); ++g) sum[g] += det_log(product[g]);
    }
    return sum;
  }

  // Without the latent weights, which would hold the degrees of freedom where they are. And sigma
  // is drawn along with them: kept is sigma / usual_scale(df), which the residuals know well, and
  // whose prior does not depend on the degrees of freedom.
  void draw_df(const Ensemble& f, double& sigma, Rng& rng) {
    const auto n_rows = static_cast<double>(given_.size());
    const double kept = sigma / usual_scale(df_);
    GridLanes scale{};
    GridLanes inverse{};
    for (std::size_t g = 0; g < kGrid.size(); ++g) {
      scale[g] = settings().sigma_fixed ? sigma : kept * usual_scale(kGrid[g]);
      inverse[g] = 1.0 / (kGrid[g] * scale[g] * scale[g]);
    }
    const GridLanes sum = log_sums(f, inverse);
    GridLanes log_mass{};
    for (std::size_t g = 0; g < kGrid.size(); ++g) {
      const double df = kGrid[g];
      const double height = OBART_BUG(t_height_dropped) ? 0.0 : log_height(df);
      log_mass[g] = n_rows * (height - det_log(scale[g])) - 0.5 * (df + 1.0) * sum[g];
      if (!OBART_BUG(t_prior_dropped)) log_mass[g] += det_log(prior_mass(g, rate_));
    }
    const std::size_t chosen = draw_index(log_mass, rng);
    df_ = kGrid[chosen];
    if (!OBART_BUG(t_sigma_left_behind)) sigma = scale[chosen];
  }

  double rate_;
};

}  // namespace

std::unique_ptr<Likelihood> make_learned_t(const Data& data, const Settings& settings) {
  return std::make_unique<LearnedT>(data, settings);
}

std::unique_ptr<Likelihood> make_student_t(const Data& data, const Settings& settings) {
  return std::make_unique<StudentT>(data, settings);
}

}  // namespace obart
