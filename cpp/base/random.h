// Random numbers: one engine per chain, own distributions, the same bits on every machine.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/math.h"

namespace obart {

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

// What the draws of one gamma distribution share; shape >= 1.
struct GammaShape {
  explicit GammaShape(double shape) : d(shape - 1.0 / 3.0), c(1.0 / (3.0 * std::sqrt(d))) {}
  double d, c;
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
  // The same bits, for many draws of one shape.
  double gamma(const GammaShape& shape) {
    for (;;) {
      const double x = normal();
      const double t = shape.c * x;
      if (t <= -1.0) continue;
      const double u = uniform();
      const double square = x * x;
      if (u < 1.0 - 0.0331 * square * square || accepts_gamma(shape.d, t, u))
        return shape.d * ((1.0 + t) * (1.0 + t) * (1.0 + t));
    }
  }

  // Any a, b > 0 (else NaN). In the open interval (0, 1): a draw that would round to an end is
  // returned as the smallest normal double or as 1 - 2^-53.
  double beta(double a, double b);

  // Any mean >= 0 below 2^50, by Hörmann's transformed rejection (1993) where it is not small.
  std::int64_t poisson(double mean);

  // Standard normal given that it is above a; exact for any a. From a = 1e8 on the excess is
  // smaller than the spacing of doubles, and a itself is returned.
  double normal_above(double a) {
    if (!(a < kTailFrom)) return normal_tail(a);
    double z = normal();
    while (z <= a) z = normal();
    return z;
  }

  // Standard normal given that it is between a and b, either of which may be infinite; exact in
  // both tails. Where b is not above a, the middle of both.
  double normal_between(double a, double b);

  // The sum of n draws above a. Of more than kExactSum it is a normal draw with the mean and the
  // variance of the sum: the distribution function is off by 0.006 at the very most, and by less
  // than 0.001 where a < -1.8.
  static constexpr std::int64_t kExactSum = 512;
  double sum_above(std::int64_t n, double a) {
    if (n > kExactSum) return long_sum_above(static_cast<double>(n), a);
    double sum = 0.0;
    for (; n > 0; --n) sum += normal_above(a);
    return sum;
  }

  // The whole state. With all words 0 it would repeat itself for ever.
  std::array<std::uint64_t, 4>& words() { return state_; }

 private:
  static constexpr double kTailFrom = 0.4;

  static double with_sign(double magnitude, std::uint64_t bits) {
    const std::uint64_t sign = (bits & 0x100) << 55;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | sign);
  }
  double normal_outside(std::uint64_t bits);
  double normal_tail(double a);
  double long_sum_above(double n, double a);
  static bool accepts_gamma(double d, double t, double u);
  double log_gamma_draw(double shape);

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace obart
