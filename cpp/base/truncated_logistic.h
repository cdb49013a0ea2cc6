// Draws of a standard logistic that lies between limits; exact for any limits a < b, far in the
// tails too.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/random.h"

namespace obart {

// By inversion: with u uniform the odds of the survival function at the draw are those of u times
// its value at a.
inline double logistic_above(double a, Rng& rng) {
  const double u = rng.uniform();
  if (a > 0.0) return a + det_log((1.0 + (1.0 - u) * det_exp(-a)) / u);
  return det_log(((1.0 - u) + det_exp(a)) / u);
}

inline double logistic_between(double a, double b, Rng& rng) {
  if (a + b > 0.0) return -logistic_between(-b, -a, rng);
  // Beyond this there is nothing for a double; and a is as far on its side.
  constexpr double far = 700.0;
  if (b > far) return logistic_above(-far, rng);
  const double u = rng.uniform();
  const double odds_a = det_exp(a);
  const double ratio = det_exp(a - b);
  const double above = (1.0 - u) + u * ratio + odds_a;
  const double below = 1.0 + odds_a + u * det_exp(b) * (1.0 - ratio);
  return std::clamp(b + det_log(above / below), a, b);
}

}  // namespace obart
