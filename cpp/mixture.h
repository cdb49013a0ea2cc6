// Quantiles of a sample, and of a mixture of normals with one component per draw.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

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

struct MixtureValue {
  double cdf, density;
};

// Abramowitz and Stegun 7.1.26 (|error| < 1.5e-7) in float, written so that compilers vectorise it.
inline MixtureValue mixture_at(std::span<const float> mean, std::span<const float> sd, float x) {
  double cdf = 0.0;
  double density = 0.0;
  constexpr std::size_t chunk = 64;
  for (std::size_t start = 0; start < mean.size(); start += chunk) {
    const std::size_t end = std::min(start + chunk, mean.size());
    float c = 0.0F;
    float d = 0.0F;
    for (std::size_t k = start; k < end; ++k) {
      const float z = (x - mean[k]) / sd[k];
      const float a = std::min(std::abs(z), 12.0F);
      const float e = std::exp(-0.5F * a * a);
      const float t = 1.0F / (1.0F + 0.23164190F * a);
      const float tail =
          0.5F * e * t *
          (0.254829592F +
           t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F))));
      c += z > 0.0F ? 1.0F - tail : tail;
      d += e / sd[k];
    }
    cdf += static_cast<double>(c);
    density += static_cast<double>(d);
  }
  const auto n = static_cast<double>(mean.size());
  return {cdf / n, 0.3989422804014327 * density / n};
}

// Newton's method kept inside a shrinking bracket.
inline double mixture_quantile(std::span<const float> mean, std::span<const float> sd,
                               double centre, double spread, double q) {
  if (q <= 0.0 || q >= 1.0)
    return q <= 0.0 ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  if (!(spread > 0.0)) return centre;
  double low = centre - 12.0 * spread;
  double high = centre + 12.0 * spread;
  double x = centre;
  for (int iteration = 0; iteration < 60; ++iteration) {
    const MixtureValue value = mixture_at(mean, sd, static_cast<float>(x));
    const double error = value.cdf - q;
    if (std::abs(error) < 2e-7) break;
    (error > 0.0 ? high : low) = x;
    double next = value.density > 0.0 ? x - error / value.density : low;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - x) < 1e-7 * spread) break;
    x = next;
  }
  return x;
}

}  // namespace obart
