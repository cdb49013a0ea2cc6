// Mean and variance of a standard normal given that it is above a.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace obart {

struct TruncatedNormal {
  double mean, variance;
};

// With h = phi(a) / P(Z > a) the mean is h, and the variance 1 - h (h - a).
inline TruncatedNormal normal_moments_above(double a) {
  constexpr double root_2pi = 2.5066282746310002;
  if (a >= 2.0) {
    // Laplace's continued fraction of h - a, whose terms are added from the last.
    double excess = 0.0;
    for (double k = 100.0; k >= 1.0; --k) excess = k / (a + excess);
    const double mean = a + excess;
    return {mean, std::max(1.0 - mean * excess, 0.0)};
  }
  // P(Z > a) = 1/2 - phi(a) (a + a^3/3 + a^5/15 + ...); far below zero it is one.
  const double density = det_exp(-0.5 * a * a) / root_2pi;
  double above = 1.0;
  if (a > -9.0) {
    double term = a;
    double sum = a;
    for (double k = 3.0; std::abs(term) > 1e-18; k += 2.0) {
      term *= a * a / k;
      sum += term;
    }
    above = 0.5 - density * sum;
  }
  const double mean = density / above;
  return {mean, 1.0 - mean * (mean - a)};
}

}  // namespace obart
