// Quantiles of a sample, and of a mixture with one component per draw: f plus noise.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/normal_kernels.h"

namespace obart {

// Linear interpolation between order statistics, as NumPy's default. Reorders the values.
inline double sample_quantile(std::span<float> values, double q) {
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), nth, values.end());
  const auto low = static_cast<double>(*nth);
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0.0) return low;
  const auto high = static_cast<double>(*std::min_element(nth + 1, values.end()));
  return low + fraction * (high - low);
}

// By bisection, which is enough for a start: called once for each quantile asked for.
template <class Cdf>
double bisected_quantile(double q, const Cdf& below) {
  double low = -1e3;
  double high = 1e3;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (below(middle) < q ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// The noise of outcomes, normal or Student's t, with one scale per draw.
struct Noise {
  // Draws with the same degrees of freedom.
  struct Group {
    EvenStudentT student_t;
    std::size_t n_draws;
  };
  std::vector<float> inverse_scale;
  std::vector<Group> groups{};  // of consecutive draws; none if the noise is normal

  // Of noise with standard deviation one; with several groups, that of the largest.
  double quantile(double q) const {
    if (groups.empty())
      return bisected_quantile(
          q, [](double z) { return 0.5 * std::erfc(-z * 0.70710678118654752440); });
    const auto smaller = [](const Group& a, const Group& b) { return a.n_draws < b.n_draws; };
    const EvenStudentT& t = std::max_element(groups.begin(), groups.end(), smaller)->student_t;
    return bisected_quantile(q, [&](double z) { return t.below(z); }) / t.sd();
  }

  struct Point {
    double tail, density;
  };
  // Of the mixture with these means; see NormalKernels.
  Point mixture(std::span<const float> mean, double x, double sign) const {
    const auto at = static_cast<float>(x);
    const auto side = static_cast<float>(sign);
    const NormalKernels& kernels = normal_kernels();
    Point point{};
    if (groups.empty()) {
      kernels.mixture(mean.data(), inverse_scale.data(), static_cast<std::int64_t>(mean.size()), at,
                      side, &point.tail, &point.density);
      return point;
    }
    std::size_t first = 0;
    for (const Group& group : groups) {
      Point part{};
      kernels.student_t_mixture(group.student_t, mean.data() + first, inverse_scale.data() + first,
                                static_cast<std::int64_t>(group.n_draws), at, side, &part.tail,
                                &part.density);
      const double share = static_cast<double>(group.n_draws) / static_cast<double>(mean.size());
      point.tail += share * part.tail;
      point.density += share * part.density;
      first += group.n_draws;
    }
    return point;
  }
};

// A quantile that is wanted of many mixtures.
struct MixtureQuantile {
  double tail;   // probability of the smaller side ...
  double sign;   // ... which lies below the quantile (1) or above it (-1)
  double start;  // that of the noise, in standard deviations

  MixtureQuantile(double q, const Noise& noise)
      : tail(std::min(q, 1.0 - q)), sign(q <= 0.5 ? 1.0 : -1.0), start(noise.quantile(q)) {}
};

// Newton's method for the log of the tail, which is nearly quadratic, kept inside a shrinking
// bracket. `tolerance`: a step below it is the last one; what is left then is of the order of its
// square.
inline double mixture_quantile(std::span<const float> mean, const Noise& noise, double centre,
                               double spread, double tolerance, const MixtureQuantile& wanted) {
  if (!(wanted.tail > 0.0)) return -wanted.sign * std::numeric_limits<double>::infinity();
  if (!(spread > 0.0)) return centre;
  // Cantelli's inequality: no more than 1/w^2 lies beyond w standard deviations.
  const double width = (1.0 + 1.0 / std::sqrt(wanted.tail)) * spread;
  double low = centre - width;
  double high = centre + width;
  double x = std::clamp(centre + wanted.start * spread, low, high);
  for (int iteration = 0; iteration < 100; ++iteration) {
    const auto [tail, density] = noise.mixture(mean, x, wanted.sign);
    ((tail > wanted.tail) == (wanted.sign > 0.0) ? high : low) = x;
    const double step =
        density > 0.0 ? -wanted.sign * std::log(tail / wanted.tail) * tail / density : 2.0 * width;
    // Without noise the tail is made of steps, and Newton's method gets nowhere.
    const bool newton = iteration < 20 && x + step > low && x + step < high;
    x = newton ? x + step : 0.5 * (low + high);
    if (newton ? std::abs(step) < tolerance : high - low < 1e-6 * spread) break;
  }
  return x;
}

}  // namespace obart
