// The rare and the heavier paths of random.h: streams, rejection outside the ziggurat, gamma, beta,
// Poisson, sums of truncated normals.
#include "base/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/truncated_normal.h"

namespace obart {
namespace {

// A published answer, checked by the compiler.
static_assert(SplitMix64{1234567}.next() == 6457827717110365317ULL);

// Polynomials over GF(2) of degree below 256, bit i of word i / 64 being the coefficient of x^i.
// Modulo the characteristic polynomial of xoshiro256, x stands for one step of the engine.
using Polynomial = std::array<std::uint64_t, 4>;

// The characteristic polynomial without its leading term x^256.
constexpr Polynomial kCharacteristic{0x9d116f2bb0f0f001ULL, 0x0280002bcefd1a5eULL,
                                     0x04b4edcf26259f85ULL, 0x0003c03c3f3ecb19ULL};
// x^(2^128), the published jump of xoshiro256.
constexpr Polynomial kJump{0x180ec6d33cfd0abaULL, 0xd5a61266f0c9392cULL, 0xa9582618e03fc9aaULL,
                           0x39abdc4529b1661cULL};

constexpr bool has_term(const Polynomial& a, std::size_t i) {
  return ((a[i / 64] >> (i % 64)) & 1) != 0;
}

constexpr void add(Polynomial& a, const Polynomial& b) {
  for (std::size_t i = 0; i < 4; ++i) a[i] ^= b[i];
}

constexpr Polynomial times_x(const Polynomial& a) {
  Polynomial result{a[0] << 1, (a[1] << 1) | (a[0] >> 63), (a[2] << 1) | (a[1] >> 63),
                    (a[3] << 1) | (a[2] >> 63)};
  if (has_term(a, 255)) add(result, kCharacteristic);
  return result;
}

constexpr Polynomial multiply(Polynomial a, const Polynomial& b) {
  Polynomial result{};
  for (std::size_t i = 0; i < 256; ++i) {
    if (has_term(b, i)) add(result, a);
    a = times_x(a);
  }
  return result;
}

// kJump^stream: any stream is reached in at most 128 multiplications.
Polynomial jump_power(std::uint64_t stream) {
  Polynomial result{1, 0, 0, 0};
  Polynomial power = kJump;
  for (; stream != 0; stream >>= 1) {
    if ((stream & 1) != 0) result = multiply(result, power);
    power = multiply(power, power);
  }
  return result;
}

// r(t) = 3 (log(1 + t) - t + t^2/2 - t^3/3), t > -1. Its series, for small t where the difference
// would cancel, starts with -3 t^4/4.
constexpr double remainder_by_difference(double t) {
  return 3.0 * (det_log(1.0 + t) - t * (1.0 - t * (0.5 - t / 3.0)));
}

constexpr double remainder_by_series(double t) {
  double series = 0.0;
  for (int i = 14; i >= 4; --i) series = (i % 2 == 0 ? -3.0 : 3.0) / i + t * series;
  return series * ((t * t) * (t * t));
}

constexpr double cubic_remainder(double t) {
  return t > -0x1p-5 && t < 0x1p-5 ? remainder_by_series(t) : remainder_by_difference(t);
}

// log k!, by Stirling's series from 10 on.
double log_factorial(double k) {
  if (k < 10.0) {
    double product = 1.0;
    for (double i = 2.0; i <= k; ++i) product *= i;
    return det_log(product);
  }
  constexpr double half_log_2pi = 0.91893853320467274;
  const double inverse = 1.0 / k;
  const double square = inverse * inverse;
  const double series = inverse * (1.0 / 12 - square * (1.0 / 360 - square / 1260));
  return (k + 0.5) * det_log(k) - k + half_log_2pi + series;
}

constexpr bool near(double a, double b, double tolerance) {
  return a - b < tolerance && b - a < tolerance;
}
// Errors too small for a statistical test to see: a wrong series, a ziggurat that does not close.
static_assert(near(remainder_by_series(0x1p-5), remainder_by_difference(0x1p-5), 1e-15));
static_assert(near(remainder_by_series(-0x1p-5), remainder_by_difference(-0x1p-5), 1e-15));
static_assert(near(detail::kZiggurat.right[255] * (1.0 - detail::kZiggurat.height[255]),
                   detail::Ziggurat::layer_area, 1e-14));

}  // namespace

Rng::Rng(std::uint64_t seed, std::uint64_t stream) {
  SplitMix64 seeder{seed};
  for (std::uint64_t& word : state_) word = seeder.next();
  if (stream == 0) return;
  const Polynomial jump = jump_power(stream);
  std::array<std::uint64_t, 4> target{};
  for (std::size_t i = 0; i < 256; ++i) {
    if (has_term(jump, i)) add(target, state_);
    next();
  }
  state_ = target;
}

// The mantissa in `bits` fell outside the part of its layer that lies under the curve.
double Rng::normal_outside(std::uint64_t bits) {
  const detail::Ziggurat& table = detail::kZiggurat;
  const std::size_t i = bits & 0xff;
  if (i == 0) return with_sign(normal_tail(detail::Ziggurat::tail_start), bits);
  const double x = static_cast<double>(bits >> 11) * table.layer[i].unit;
  const double height = table.height[i] + uniform() * (table.height[i + 1] - table.height[i]);
  return height < det_exp(-0.5 * x * x) ? with_sign(x, bits) : normal();
}

// Robert (1995): a shifted exponential with the best rate, accepted with
// probability exp(-(z - rate)^2 / 2). The rejection compares two exponentials.
double Rng::normal_tail(double a) {
  if (!(a < 1e8)) return a;
  const double rate = 0.5 * (a + std::sqrt(a * a + 4.0));
  for (;;) {
    const double z = a + exponential() / rate;
    const double half_square = 0.5 * (z - rate) * (z - rate);
    const double u = uniform();
    // 1 - h <= exp(-h) saves most calls of det_exp.
    if (u < 1.0 - half_square || u < det_exp(-half_square)) return z;
  }
}

// Rejection; the proposal is accepted with probability 0.3 or more. Turned so that the middle is
// not negative: then the density falls from the point nearest to 0, and hardly so in a short
// interval, where proposals are uniform.
double Rng::normal_between(double a, double b) {
  if (!(a < b)) return 0.5 * (a + b);
  if (a + b < 0.0) return -normal_between(-b, -a);
  constexpr double wide = 2.5;  // about the root of 2 pi
  if (a < 0.0 && b - a > wide) {
    for (;;) {
      const double z = normal();
      if (a < z && z < b) return z;
    }
  }
  const double start = std::max(a, 0.0);
  if (a >= 0.0 && (b - a) * (b + a) > 2.0) {
    for (;;) {
      const double z = normal_above(a);
      if (z < b || a >= 1e8) return z;
    }
  }
  for (;;) {
    const double z = a + uniform() * (b - a);
    const double decay = 0.5 * (z - start) * (z + start);
    if (uniform() < det_exp(-decay)) return z;
  }
}

// Marsaglia and Tsang (2000) for shape >= 1: d (1 + t)^3 with t = normal / sqrt(9 d), accepted if
// log u < x^2/2 + d - d (1 + t)^3 + 3 d log(1 + t), which is d r(t).
bool Rng::accepts_gamma(double d, double t, double u) {
  return det_log(u) < d * cubic_remainder(t);
}

double Rng::gamma(double shape) {
  if (!(shape > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  if (shape < 1.0) return std::max(det_exp(log_gamma_draw(shape)), DBL_MIN);
  if (shape > DBL_MAX) return shape;
  return gamma(GammaShape(shape));
}

// The logarithm of a gamma draw; for shape < 1 that of gamma(shape + 1) u^(1 / shape), which is
// finite where the draw itself underflows.
double Rng::log_gamma_draw(double shape) {
  if (shape >= 1.0) return det_log(gamma(shape));
  const double log_boosted = det_log(gamma(shape + 1.0));
  return log_boosted - exponential() / shape;
}

std::int64_t Rng::poisson(double mean) {
  if (mean < 10.0) {
    const double end = det_exp(-mean);
    std::int64_t k = 0;
    for (double product = uniform(); product > end; product *= uniform()) ++k;
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double inside = 0.9277 - 3.6224 / (b - 2.0);
  const double log_mean = det_log(mean);
  for (;;) {
    const double u = uniform() - 0.5;
    const double v = uniform();
    const double from_end = 0.5 - std::abs(u);
    const double k = std::floor((2.0 * a / from_end + b) * u + mean + 0.43);
    if (from_end >= 0.07 && v <= inside) return static_cast<std::int64_t>(k);
    if (k < 0.0 || (from_end < 0.013 && v > from_end)) continue;
    const double log_hat = det_log(v * inverse_alpha / (a / (from_end * from_end) + b));
    if (log_hat <= k * log_mean - mean - log_factorial(k)) return static_cast<std::int64_t>(k);
  }
}

double Rng::long_sum_above(double n, double a) {
  const TruncatedNormal one = normal_moments_above(a);
  return n * one.mean + std::sqrt(n * one.variance) * normal();
}

double Rng::beta(double a, double b) {
  if (!(a > 0.0) || !(b > 0.0)) return std::numeric_limits<double>::quiet_NaN();
  double odds = 0.0;  // of the complement: gamma(b) / gamma(a)
  if (a >= 1.0 && b >= 1.0) {
    const double x = gamma(a);
    odds = gamma(b) / x;
  } else {
    // Below 1e-200 a draw is an end of the interval, with odds a : b. Scaling keeps these odds
    // and makes both logarithms finite.
    if (a < 1e-200 && b < 1e-200) {
      a *= 0x1p200;
      b *= 0x1p200;
    }
    const double log_x = log_gamma_draw(a);
    odds = det_exp(log_gamma_draw(b) - log_x);
  }
  return std::clamp(1.0 / (1.0 + odds), DBL_MIN, 1.0 - 0x1p-53);
}

}  // namespace obart
