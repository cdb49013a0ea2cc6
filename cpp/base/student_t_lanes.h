// Student's t in float, in plain loops that compilers turn into vector instructions; see
// normal_lanes.h. The degrees of freedom are known to the compiler, so that no loop is left over
// the terms of the polynomial.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include "base/normal_lanes.h"

// Internal linkage on purpose, see base/lanes.h.
namespace obart {
namespace {

constexpr float binomial(int n, int k) {
  double value = 1.0;
  for (int i = 1; i <= k; ++i) value *= static_cast<double>(n - k + i) / i;
  return static_cast<float>(value);
}

// The sum over i >= I of C(M - 1 + i, i) q^(i - I), i < M.
template <int M, int I = 0>
inline float binomial_series(float q) {
  if constexpr (I == M - 1)
    return binomial(M - 1 + I, I);
  else
    return binomial(M - 1 + I, I) + q * binomial_series<M, I + 1>(q);
}

template <int M>
inline float power(float x) {
  if constexpr (M == 1)
    return x;
  else if constexpr (M % 2 == 0)
    return power<M / 2>(x * x);
  else
    return x * power<M / 2>(x * x);
}

// 2 M degrees of freedom.
template <int M>
struct StudentTLanes {
  float tail[kLanes] = {};
  float density[kLanes] = {};

  // sign_z is small where x lies far out on the side whose tail is wanted.
  void add(int l, float sign_z, float inverse_scale, float largest) {
    const float a = clipped_size(sign_z, largest);
    const float r = std::sqrt(2.0F * M + a * a);
    const float inverse = 1.0F / (r * (r + a));
    const float p = M * inverse;
    const float q = 1.0F - p;
    tail[l] += below(sign_z, power<M>(p) * binomial_series<M>(q));
    density[l] += power<M>(4.0F * p * q) * ((r + a) * inverse) * inverse_scale;
  }
};

template <int M>
inline void student_t_mixture_of(const EvenStudentT& t, const float* mean,
                                 const float* inverse_scale, std::int64_t n, float x, float sign,
                                 double* tail, double* density) {
  constexpr std::int64_t chunk = 64 * kLanes;  // as long as a float sum stays precise
  const float largest = t.largest;
  *tail = *density = 0.0;
  for (std::int64_t start = 0; start < n; start += chunk) {
    const std::int64_t end = std::min(start + chunk, n);
    StudentTLanes<M> sum;
    std::int64_t k = start;
    for (; k + kLanes <= end; k += kLanes)
      for (int l = 0; l < kLanes; ++l)
        sum.add(l, sign * (x - mean[k + l]) * inverse_scale[k + l], inverse_scale[k + l], largest);
    for (int l = 0; k < end; ++k, ++l)
      sum.add(l, sign * (x - mean[k]) * inverse_scale[k], inverse_scale[k], largest);
    *tail += reduce(sum.tail);
    *density += reduce(sum.density);
  }
  *tail /= static_cast<double>(n);
  *density *= t.density_at_zero * std::sqrt(2.0 * M) / static_cast<double>(n);
}

template <int... I>
constexpr auto student_t_mixtures(std::integer_sequence<int, I...>) {
  return std::array{&student_t_mixture_of<kSmallestDf / 2 + I>...};
}

inline void student_t_mixture(const EvenStudentT& t, const float* mean, const float* inverse_scale,
                              std::int64_t n, float x, float sign, double* tail, double* density) {
  static constexpr auto by_df =
      student_t_mixtures(std::make_integer_sequence<int, (kLargestDf - kSmallestDf) / 2 + 1>());
  const auto index = static_cast<std::size_t>((t.df - kSmallestDf) / 2);
  by_df[index](t, mean, inverse_scale, n, x, sign, tail, density);
}

}  // namespace
}  // namespace obart
