// Student's t in float, in plain loops that compilers turn into vector instructions; see
// normal_lanes.h.
#pragma once

#include <cmath>

#include "base/normal_lanes.h"

// Internal linkage on purpose, see base/lanes.h.
namespace obart {
namespace {

struct StudentTLanes {
  float tail[kLanes] = {};
  float density[kLanes] = {};

  // sign_z is small where x lies far out on the side whose tail is wanted. All lanes are computed,
  // the first n are added.
  void add(const EvenStudentT& t, const float (&sign_z)[kLanes], const float* inverse_scale,
           int n) {
    const auto df = static_cast<float>(2 * t.half_df);
    float p[kLanes], q[kLanes], series[kLanes], upper[kLanes], height[kLanes];
    for (int l = 0; l < kLanes; ++l) {
      const float a = clipped_size(sign_z[l], t.largest);
      const float r = std::sqrt(df + a * a);
      const float inverse = 1.0F / (r * (r + a));
      p[l] = 0.5F * df * inverse;
      q[l] = 1.0F - p[l];
      series[l] = t.coefficient[t.half_df - 1];
      upper[l] = p[l];
      height[l] = (r + a) * inverse * (p[l] * q[l] * 4.0F);
    }
    for (int i = t.half_df - 2; i >= 0; --i)
      for (int l = 0; l < kLanes; ++l) {
        series[l] = t.coefficient[i] + q[l] * series[l];
        upper[l] *= p[l];
        height[l] *= p[l] * q[l] * 4.0F;
      }
    for (int l = 0; l < n; ++l) {
      tail[l] += below(sign_z[l], upper[l] * series[l]);
      density[l] += height[l] * inverse_scale[l];
    }
  }
};

inline void student_t_mixture(const EvenStudentT& t, const float* mean, const float* inverse_scale,
                              std::int64_t n, float x, float sign, double* tail, double* density) {
  constexpr std::int64_t chunk = 64 * kLanes;  // as long as a float sum stays precise
  *tail = *density = 0.0;
  for (std::int64_t start = 0; start < n; start += chunk) {
    const std::int64_t end = std::min(start + chunk, n);
    StudentTLanes sum;
    std::int64_t k = start;
    float z[kLanes] = {};
    for (; k + kLanes <= end; k += kLanes) {
      for (int l = 0; l < kLanes; ++l) z[l] = sign * (x - mean[k + l]) * inverse_scale[k + l];
      sum.add(t, z, inverse_scale + k, kLanes);
    }
    const int rest = static_cast<int>(end - k);
    for (int l = 0; l < rest; ++l) z[l] = sign * (x - mean[k + l]) * inverse_scale[k + l];
    sum.add(t, z, inverse_scale + k, rest);
    *tail += reduce(sum.tail);
    *density += reduce(sum.density);
  }
  *tail /= static_cast<double>(n);
  *density *= t.density_at_zero * std::sqrt(2.0 * t.half_df) / static_cast<double>(n);
}

}  // namespace
}  // namespace obart
