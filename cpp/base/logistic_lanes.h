// The logistic distribution in float, as base/normal_lanes.h has the normal one.
#pragma once

#include "base/normal_lanes.h"

// Internal linkage on purpose, see base/lanes.h.
namespace obart {
namespace {

// out = log(exp(a) + exp(b)): the larger of them, plus log(1 + exp(-|a - b|)).
inline void log_add_exp(const float* a, const float* b, float* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float difference = a[i] - b[i];
    const std::int32_t is_negative = bits_of(difference) >> 31;
    const float larger =
        std::bit_cast<float>((bits_of(b[i]) & is_negative) | (bits_of(a[i]) & ~is_negative));
    out[i] = larger + log_of_positive(1.0F + exp_of_negative(-clipped_size(difference, 80.0F)));
  }
}

// log logistic(z): the smaller of z and 0, minus log(1 + exp(-|z|)).
inline float log_logistic_term(float z) {
  const float low = std::bit_cast<float>(bits_of(z) & (bits_of(z) >> 31));
  return low - log_of_positive(1.0F + exp_of_negative(-clipped_size(z, 80.0F)));
}

inline double log_logistic(const float* f, const float* offset, const float* weight, float factor,
                           std::int64_t n) {
  constexpr std::int64_t chunk = 8 * kLanes;  // as long as a float sum stays precise
  double total = 0.0;
  for (std::int64_t start = 0; start < n; start += chunk) {
    const std::int64_t end = std::min(start + chunk, n);
    float sum[kLanes] = {};
    std::int64_t i = start;
    for (; i + kLanes <= end; i += kLanes)
      for (int l = 0; l < kLanes; ++l)
        sum[l] += weight[i + l] * log_logistic_term(offset[i + l] + factor * f[i + l]);
    for (int l = 0; i < end; ++i, ++l)
      sum[l] += weight[i] * log_logistic_term(offset[i] + factor * f[i]);
    total += reduce(sum);
  }
  return total;
}

}  // namespace
}  // namespace obart
