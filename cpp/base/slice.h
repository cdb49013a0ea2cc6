// Slice sampling of a number.
#pragma once

#include "base/math.h"
#include "base/random.h"

namespace obart {

// A step from 0 that keeps a density (Neal 2003: step out, shrink).
template <class LogDensity>
double slice_step(const LogDensity& log_density, double width, Rng& rng) {
  constexpr int max_steps = 20;
  const double level = log_density(0.0) + det_log(rng.uniform());
  double low = -width * rng.uniform();
  double high = low + width;
  const int steps = static_cast<int>(rng.below(max_steps));
  for (int k = steps; k > 0 && log_density(low) > level; --k) low -= width;
  for (int k = max_steps - 1 - steps; k > 0 && log_density(high) > level; --k) high += width;
  for (;;) {
    const double u = low + rng.uniform() * (high - low);
    if (log_density(u) > level) return u;
    (u < 0.0 ? low : high) = u;
    if (high - low < 1e-12) return 0.0;
  }
}

}  // namespace obart
