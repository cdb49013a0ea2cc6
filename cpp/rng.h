// Random numbers: one engine per chain, own distributions, own log and exp.
//
// The same seed gives the same bits on every machine. So nothing here calls the C library's log or
// exp, or a std:: distribution; only +, -, *, / and sqrt, which IEEE 754 rounds in one way.
// Compile with -ffp-contract=off: a fused multiply-add would round differently.
#pragma once

#include <array>
#include <bit>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(__FAST_MATH__)
#error "rng.h needs IEEE arithmetic: do not compile with -ffast-math"
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

namespace detail {

// Layers of equal area under exp(-x^2/2), x > 0. Layer i >= 1 spans |x| < right[i] and the heights
// height[i] to height[i + 1]; layer 0 is the base strip together with the tail beyond right[1].
struct Ziggurat {
  static constexpr std::size_t n_layers = 256;
  static constexpr double tail_start = 0x1.d3bb48209ad33p+1;  // 3.6541528853610088
  static constexpr double layer_area = 0x1.43016a5a43732p-8;  // 0.0049286732339746553
  struct Layer {
    std::uint64_t inside;  // a 53-bit mantissa below it lies under the curve at any height
    double unit;           // width of the layer / 2^53
  };
  std::array<Layer, n_layers> layer{};
  std::array<double, n_layers + 1> right{};
  std::array<double, n_layers + 1> height{};

  constexpr Ziggurat() {
    right[0] = layer_area / det_exp(-0.5 * tail_start * tail_start);
    right[1] = tail_start;
    for (std::size_t i = 1; i + 1 < n_layers; ++i) {
      height[i] = det_exp(-0.5 * right[i] * right[i]);
      right[i + 1] = root(-2.0 * det_log(height[i] + layer_area / right[i]));
    }
    height[n_layers - 1] = det_exp(-0.5 * right[n_layers - 1] * right[n_layers - 1]);
    right[n_layers] = 0.0;
    height[n_layers] = 1.0;
    for (std::size_t i = 0; i < n_layers; ++i) {
      layer[i].inside = static_cast<std::uint64_t>(right[i + 1] / right[i] * 0x1p53);
      layer[i].unit = right[i] * 0x1p-53;
    }
  }

 private:
  // Newton's square root: std::sqrt is not constexpr, and these arguments lie in (0.04, 13.4).
  static constexpr double root(double x) {
    double y = 0.5 * (1.0 + x);
    for (int i = 0; i < 10; ++i) y = 0.5 * (y + x / y);
    return y;
  }
};

inline constexpr Ziggurat kZiggurat;

}  // namespace detail

// SplitMix64, the generator that turns a seed into the state of another one.
struct SplitMix64 {
  std::uint64_t state;

  constexpr std::uint64_t next() {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
};

// xoshiro256++ (Blackman and Vigna), seeded by SplitMix64, then moved `stream` times 2^128 steps
// ahead: streams of one seed do not overlap. The state is all there is, no draw is kept back.
class Rng {
 public:
  Rng(std::uint64_t seed, std::uint64_t stream);

  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Centres of 2^52 equal cells of (0, 1): never 0, never 1.
  double uniform() {
    return (static_cast<double>(static_cast<std::int64_t>(next() >> 12)) + 0.5) * 0x1p-52;
  }

  // Uniform on 0, ..., n - 1 without bias (Lemire's multiplication); n >= 1.
  std::uint32_t below(std::uint32_t n) {
    std::uint64_t product = (next() >> 32) * n;
    if (static_cast<std::uint32_t>(product) < n) [[unlikely]] {
      const std::uint32_t threshold = (0U - n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) product = (next() >> 32) * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  bool coin() { return (next() >> 63) != 0; }

  // Ziggurat with 256 layers. Layer (bits 0-7), sign (bit 8) and mantissa (bits 11-63) share no
  // bit of the word: shared bits would make the size of a draw depend on its layer.
  double normal() {
    const std::uint64_t bits = next();
    const detail::Ziggurat::Layer& layer = detail::kZiggurat.layer[bits & 0xff];
    const std::uint64_t mantissa = bits >> 11;
    if (mantissa >= layer.inside) [[unlikely]]
      return normal_outside(bits);
    return with_sign(static_cast<double>(static_cast<std::int64_t>(mantissa)) * layer.unit, bits);
  }

  double exponential() { return -det_log(uniform()); }

  // Rate 1, any shape > 0 (else NaN). Never 0: a smaller draw is returned as the smallest normal
  // double, so that its reciprocal and its logarithm are finite.
  double gamma(double shape);

  // Any a, b > 0 (else NaN). In the open interval (0, 1): a draw that would round to an end is
  // returned as the smallest normal double or as 1 - 2^-53.
  double beta(double a, double b);

  // Standard normal given that it is above a; exact for any a. From a = 1e8 on the excess is
  // smaller than the spacing of doubles, and a itself is returned.
  double normal_above(double a) {
    if (!(a < kTailFrom)) return normal_tail(a);
    double z = normal();
    while (z <= a) z = normal();
    return z;
  }

  std::array<std::uint64_t, 4> state() const { return state_; }
  // Throws std::invalid_argument if all words are 0: that state would repeat itself for ever.
  void set_state(const std::array<std::uint64_t, 4>& state);

 private:
  static constexpr double kTailFrom = 0.4;

  static double with_sign(double magnitude, std::uint64_t bits) {
    const std::uint64_t sign = (bits & 0x100) << 55;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | sign);
  }
  double normal_outside(std::uint64_t bits);
  double normal_tail(double a);
  double log_gamma_draw(double shape);

  std::array<std::uint64_t, 4> state_{};
};

// Philox4x32 with 10 rounds (Salmon et al., Random123): a bijection of the counter for each key.
// Draw number i needs no state, so that rows can be served in any order or by any vector width.
struct Philox4x32 {
  static constexpr std::array<std::uint32_t, 4> block(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t product0 = std::uint64_t{0xd2511f53U} * counter[0];
      const std::uint64_t product1 = std::uint64_t{0xcd9e8d57U} * counter[2];
      counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
                 static_cast<std::uint32_t>(product1),
                 static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
                 static_cast<std::uint32_t>(product0)};
      key[0] += 0x9e3779b9U;
      key[1] += 0xbb67ae85U;
    }
    return counter;
  }
};

}  // namespace obart
