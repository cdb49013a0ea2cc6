// Logarithm, exponential and log gamma function with the same bits on every machine.
//
// Nothing here calls the C library's log or exp; only +, -, *, / and sqrt, which IEEE 754 rounds in
// one way. Compile with -ffp-contract=off: a fused multiply-add would round differently.
#pragma once

#include <bit>
#include <cfloat>
#include <cstdint>
#include <limits>

#if defined(__FAST_MATH__)
#error "math.h needs IEEE arithmetic: do not compile with -ffast-math"
#endif

namespace obart {

static_assert(std::numeric_limits<double>::is_iec559);
static_assert(FLT_EVAL_METHOD == 0, "double arithmetic must not be done in a wider type");

namespace detail {

// ln 2 in two parts; the first has 41 bits, so that k * kLn2High is exact for every exponent k.
inline constexpr double kLn2High = 0x1.62e42fefa38p-1;
inline constexpr double kLn2Low = 0x1.ef35793c7673p-45;

// 2^k for -1022 <= k <= 1023.
constexpr double power_of_two(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

}  // namespace detail

// Natural logarithm, relative error below 1e-15; -inf at 0, NaN below.
constexpr double det_log(double x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!(x > 0.0)) return x == 0.0 ? -infinity : std::numeric_limits<double>::quiet_NaN();
  if (x == infinity) return infinity;
  int k = 0;
  if (x < DBL_MIN) {
    x *= 0x1p54;
    k = -54;
  }
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)): subtract the bits of sqrt(1/2) to find k.
  constexpr std::uint64_t sqrt_half = 0x3fe6a09e667f3bcdULL;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t offset = bits - sqrt_half;
  const std::int64_t exponent = static_cast<std::int64_t>(offset) >> 52;
  k += static_cast<int>(exponent);
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  // log(1 + f) = 2 atanh(s) with s = f / (2 + f), |s| < 0.172; the leading terms are
  // rearranged to f - f^2/2 + ..., which keeps the rounding error of s out of them.
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  const double odd =
      2.0 / 3 + w * (2.0 / 7 + w * (2.0 / 11 + w * (2.0 / 15 + w * (2.0 / 19 + w * (2.0 / 23)))));
  const double even = 2.0 / 5 + w * (2.0 / 9 + w * (2.0 / 13 + w * (2.0 / 17 + w * (2.0 / 21))));
  const double series = z * (odd + z * even);
  const double half_square = 0.5 * f * f;
  const double kd = static_cast<double>(k);
  const double correction = half_square - (s * (half_square + series) + kd * detail::kLn2Low);
  return kd * detail::kLn2High - (correction - f);
}

// Exponential function, relative error below 1e-15 (where the result is not subnormal).
constexpr double det_exp(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return std::numeric_limits<double>::infinity();
  if (x < -745.1332191019412) return 0.0;
  constexpr double log2_e = 0x1.71547652b82fep+0;
  const int k = static_cast<int>(x * log2_e + (x < 0.0 ? -0.5 : 0.5));
  const double kd = static_cast<double>(k);
  const double r = (x - kd * detail::kLn2High) - kd * detail::kLn2Low;  // |r| <= ln(2)/2
  const double w = r * r;
  const double even =
      1.0 / 2 +
      w * (1.0 / 24 +
           w * (1.0 / 720 + w * (1.0 / 40320 + w * (1.0 / 3628800 + w * (1.0 / 479001600)))));
  const double odd =
      1.0 / 6 +
      w * (1.0 / 120 +
           w * (1.0 / 5040 + w * (1.0 / 362880 + w * (1.0 / 39916800 + w * (1.0 / 6227020800)))));
  const double e = 1.0 + (r + w * (even + r * odd));
  // Two factors, because 2^k alone may be out of range; only the second product can round.
  return e * detail::power_of_two(k / 2) * detail::power_of_two(k - k / 2);
}

// log Gamma(x) for x > 0, absolute error below 1e-13 times the larger of 1 and the result:
// Stirling's series where x is large, and the recurrence to get there.
constexpr double det_lgamma(double x) {
  double product = 1.0;
  double shift = 0.0;
  for (; x < 8.0; x += 1.0) {
    product *= x;
    if (product < 1e-200) {
      shift += det_log(product);
      product = 1.0;
    }
  }
  constexpr double half_log_two_pi = 0.91893853320467274178;
  const double y = 1.0 / x;
  const double z = y * y;
  const double series =
      y *
      (1.0 / 12 - z * (1.0 / 360 -
                       z * (1.0 / 1260 -
                            z * (1.0 / 1680 - z * (1.0 / 1188 - z * (691.0 / 360360 - z / 156))))));
  return (x - 0.5) * det_log(x) - x + half_log_two_pi + series - det_log(product) - shift;
}

}  // namespace obart
