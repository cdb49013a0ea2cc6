// Degrees of freedom of Student's t noise that are learned: drawn from a grid, with the latent
// weights of the rows integrated out.
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/field.h"
#include "base/math.h"
#include "base/planted_bugs.h"
#include "base/random.h"
#include "model/settings.h"

namespace obart {

class LearnedDf {
 public:
  static constexpr int kFirst = 10;

  explicit LearnedDf(const LikelihoodSettings& settings)
      : settings_(settings), rate_(settings.required("df_rate")) {
    if (!(rate_ >= 1e-3 && rate_ <= 10.0))
      throw std::invalid_argument("df_rate must be between 0.001 and 10");
  }

  double draw_prior(Rng& rng) const {
    GridLanes log_mass{};
    for (std::size_t g = 0; g < kGrid.size(); ++g) log_mass[g] = det_log(prior_mass(g, rate_));
    return kGrid[draw_index(log_mass, rng)];
  }

  static Field field(double* df) {
    return {"df", df, static_cast<double>(kGrid.front()), static_cast<double>(kGrid.back())};
  }

  // With heavier tails the same residuals have a smaller scale, about in these proportions. The
  // prior of sigma is that of sigma / usual_scale(df), the scale of normal noise.
  static double usual_scale(double df) { return 1.0 - 0.9 / df; }
  // Of that prior where sigma is drawn.
  static double unit(double df) { return OBART_BUG(t_sigma_unit_dropped) ? 1.0 : usual_scale(df); }

  // A draw given the weighted squares of the residuals; without the latent weights, which would
  // hold the degrees of freedom where they are. And sigma is drawn along with them: kept is sigma /
  // usual_scale(df), which the residuals know well, and whose prior does not depend on df.
  template <class Square>
  double draw(double now, std::size_t n, const Square& square_of, double& sigma, Rng& rng) const {
    const auto n_rows = static_cast<double>(n);
    const double kept = sigma / usual_scale(now);
    GridLanes scale{};
    GridLanes inverse{};
    for (std::size_t g = 0; g < kGrid.size(); ++g) {
      scale[g] = settings_.sigma_fixed ? sigma : kept * usual_scale(kGrid[g]);
      inverse[g] = 1.0 / (kGrid[g] * scale[g] * scale[g]);
    }
    const GridLanes sum = log_sums(n, square_of, inverse);
    GridLanes log_mass{};
    for (std::size_t g = 0; g < kGrid.size(); ++g) {
      const double df = kGrid[g];
      const double height = OBART_BUG(t_height_dropped) ? 0.0 : log_height(df);
      log_mass[g] = n_rows * (height - det_log(scale[g])) - 0.5 * (df + 1.0) * sum[g];
      if (!OBART_BUG(t_prior_dropped)) log_mass[g] += det_log(prior_mass(g, rate_));
    }
    const std::size_t chosen = draw_index(log_mass, rng);
    if (!OBART_BUG(t_sigma_left_behind)) sigma = scale[chosen];
    return kGrid[chosen];
  }

 private:
  // The degrees of freedom that may be drawn; even, so that the distribution function is short.
  static constexpr std::array<int, 7> kGrid{4, 6, 8, 10, 14, 20, 30};
  static constexpr std::size_t kGridLanes = 8;
  using GridLanes = std::array<double, kGridLanes>;

  // P(df > x) for df ~ Gamma(2, rate).
  static double prior_above(double x, double rate) { return det_exp(-rate * x) * (1.0 + rate * x); }

  // The prior has a gamma distribution; each point of the grid stands for what is nearest to it.
  static double prior_mass(std::size_t g, double rate) {
    const auto middle = [](std::size_t i) { return 0.5 * (kGrid[i - 1] + kGrid[i]); };
    const double above = g == 0 ? 1.0 : prior_above(middle(g), rate);
    return above - (g + 1 == kGrid.size() ? 0.0 : prior_above(middle(g + 1), rate));
  }

  // Up to a constant of all df, the log density of Student's t at 0.
  static double log_height(double df) {
    return det_lgamma(0.5 * (df + 1.0)) - det_lgamma(0.5 * df) - 0.5 * det_log(df);
  }

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

  // Of each point of the grid, the sum of log(1 + square inverse) over the rows.
  template <class Square>
  static GridLanes log_sums(std::size_t n_rows, const Square& square_of, const GridLanes& inverse) {
    constexpr std::size_t chunk = 16;
    constexpr double largest = 1e18;  // as many factors still have a finite product
    GridLanes sum{};
    for (std::size_t start = 0; start < n_rows; start += chunk) {
      GridLanes product;
      product.fill(1.0);
      for (std::size_t row = start; row < std::min(start + chunk, n_rows); ++row) {
        const double square = square_of(row);
        for (std::size_t g = 0; g < kGridLanes; ++g)
          product[g] *= 1.0 + std::min(square * inverse[g], largest);
      }
      for (std::size_t g = 0; g < kGrid.size(); ++g) sum[g] += det_log(product[g]);
    }
    return sum;
  }

  const LikelihoodSettings& settings_;
  double rate_;
};

}  // namespace obart
