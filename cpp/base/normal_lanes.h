// The normal distribution in float, in plain loops that compilers turn into vector instructions:
// no call, no branch, one rounding per operation, so the same bits at every instruction set.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/lanes.h"
#include "base/math.h"
#include "base/normal_kernels.h"

// Internal linkage on purpose, see base/lanes.h.
namespace obart {
namespace {

// exp(y) for -80 <= y <= 0: 2^k exp(r) with |r| <= ln(2)/2 (Cephes' polynomial), relative error
// below 1e-7. Adding 1.5 * 2^23 leaves k, rounded, in the low bits of the sum.
inline float exp_of_negative(float y) {
  constexpr float shift = 12582912.0F;
  const float shifted = y * 1.44269504F + shift;
  const float k = shifted - shift;
  const float r = (y - k * 0.693359375F) + k * 2.12194440e-4F;
  const float series =
      0.5F + r * (1.6666665459e-1F +
                  r * (4.1665795894e-2F +
                       r * (8.3334519073e-3F + r * (1.3981999507e-3F + r * 1.9875691500e-4F))));
  const float power =
      std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000U);
  return (1.0F + (r + r * r * series)) * power;
}

// P(Z > a) / exp(-a^2/2) for 0 <= a <= 12: a polynomial in t = 1 / (1 + 0.3 a) times t, fitted to
// the least relative error, 8.3e-8. Beyond it goes to 0.3987 / a, where 0.3989 / a would be right.
inline float tail_ratio(float a) {
  const float t = 1.0F / (1.0F + 0.3F * a);
  return t * (0.119616272F +
              t * (0.120949099F +
                   t * (0.0987190371F +
                        t * (0.132440832F +
                             t * (-0.0609212106F +
                                  t * (0.214134247F + t * (-0.161680056F + t * 0.0367417398F)))))));
}

// Choices are made on the bits: compilers may turn a comparison of floats into a branch, and a
// branch does not become a vector instruction.
inline std::int32_t bits_of(float x) { return std::bit_cast<std::int32_t>(x); }

// |z|, at most 12: beyond, the tail is taken as it is there, 2e-33. Floats >= 0 order as integers.
inline float clipped_size(float z, float largest = 12.0F) {
  return std::bit_cast<float>(std::min(bits_of(z) & 0x7fffffff, bits_of(largest)));
}

// Phi(z) from P(Z > |z|).
inline float below(float z, float tail) {
  const std::int32_t is_negative = bits_of(z) >> 31;
  return std::bit_cast<float>((bits_of(tail) & is_negative) |
                              (bits_of(1.0F - tail) & ~is_negative));
}

inline void normal_cdf(float* f, float offset, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float z = f[i] + offset;
    const float a = clipped_size(z);
    const float tail = exp_of_negative(-0.5F * a * a) * tail_ratio(a);
    f[i] = below(z, tail);
  }
}

struct MixtureLanes {
  float tail[kLanes] = {};
  float density[kLanes] = {};

  // sign z is small where x lies far out on the side whose tail is wanted.
  void add(int l, float sign_z, float inverse_sd) {
    const float a = clipped_size(sign_z);
    const float e = exp_of_negative(-0.5F * a * a);
    tail[l] += below(sign_z, e * tail_ratio(a));
    density[l] += e * inverse_sd;
  }
};

inline void mixture(const float* mean, const float* inverse_sd, std::int64_t n, float x, float sign,
                    double* tail, double* density) {
  constexpr std::int64_t chunk = 64 * kLanes;  // as long as a float sum stays precise
  *tail = *density = 0.0;
  for (std::int64_t start = 0; start < n; start += chunk) {
    const std::int64_t end = std::min(start + chunk, n);
    MixtureLanes sum;
    std::int64_t k = start;
    for (; k + kLanes <= end; k += kLanes)
      for (int l = 0; l < kLanes; ++l)
        sum.add(l, sign * (x - mean[k + l]) * inverse_sd[k + l], inverse_sd[k + l]);
    for (int l = 0; k < end; ++k, ++l)
      sum.add(l, sign * (x - mean[k]) * inverse_sd[k], inverse_sd[k]);
    *tail += reduce(sum.tail);
    *density += reduce(sum.density);
  }
  *tail /= static_cast<double>(n);
  *density *= 0.3989422804014327 / static_cast<double>(n);
}

// The probability of a label: log Phi(z) = log(factor) - square / 2, with a factor of 0.006 or
// more.
struct LabelTerm {
  float factor, square;

  LabelTerm(float mean, std::uint8_t label) {
    const std::uint32_t flip = (static_cast<std::uint32_t>(label) ^ 1U) << 31;
    const float z = std::bit_cast<float>(std::bit_cast<std::uint32_t>(mean) ^ flip);
    const float a = clipped_size(z);
    const float ratio = tail_ratio(clipped_size(z, 60.0F));
    const std::int32_t is_negative = bits_of(z) >> 31;
    const float above = 1.0F - exp_of_negative(-0.5F * a * a) * ratio;
    factor = std::bit_cast<float>((bits_of(ratio) & is_negative) | (bits_of(above) & ~is_negative));
    square = std::bit_cast<float>(bits_of(z * z) & is_negative);
  }
};

// Their sum, by lane. Factors are multiplied, so that few logarithms are taken.
struct ProbitLanes {
  float factor[kLanes];
  float square[kLanes];

  void clear() {
    for (int l = 0; l < kLanes; ++l) {
      factor[l] = 1.0F;
      square[l] = 0.0F;
    }
  }
  void add(int l, float mean, std::uint8_t label) {
    const LabelTerm term(mean, label);
    factor[l] *= term.factor;
    square[l] += term.square;
  }
  double total() const {
    double product = 1.0;
    for (int l = 0; l < kLanes; ++l) product *= static_cast<double>(factor[l]);
    return det_log(product) - 0.5 * reduce(square);
  }
};

inline double log_normal_cdf(const float* f, const std::uint8_t* label, float offset, float factor,
                             std::int64_t n) {
  constexpr std::int64_t chunk = 8 * kLanes;  // the product of as many factors is above 1e-285
  double total = 0.0;
  for (std::int64_t start = 0; start < n; start += chunk) {
    const std::int64_t end = std::min(start + chunk, n);
    ProbitLanes sum;
    sum.clear();
    std::int64_t i = start;
    for (; i + kLanes <= end; i += kLanes)
      for (int l = 0; l < kLanes; ++l) sum.add(l, offset + factor * f[i + l], label[i + l]);
    for (int l = 0; i < end; ++i, ++l) sum.add(l, offset + factor * f[i], label[i]);
    total += sum.total();
  }
  return total;
}

// log(x) for 1e-30 < x < 1e30: x = 2^k m with m in [sqrt(1/2), sqrt(2)) and Cephes' polynomial in
// m - 1, relative error below 2e-7.
inline float log_of_positive(float x) {
  constexpr std::int32_t sqrt_half = 0x3f3504f3;
  const std::int32_t exponent = (bits_of(x) - sqrt_half) >> 23;
  const float m = std::bit_cast<float>(bits_of(x) - exponent * (1 << 23));
  const float k = static_cast<float>(exponent);
  const float f = m - 1.0F;
  const float square = f * f;
  const float series =
      3.3333331174e-1F +
      f * (-2.4999993993e-1F +
           f * (2.0000714765e-1F +
                f * (-1.6668057665e-1F +
                     f * (1.4249322787e-1F +
                          f * (-1.2420140846e-1F +
                               f * (1.1676998740e-1F +
                                    f * (-1.1514610310e-1F + f * 7.0376836292e-2F)))))));
  const float small = f * square * series - k * 2.12194440e-4F - 0.5F * square;
  return (f + small) + k * 0.693359375F;
}

inline float weighted_log_term(float mean, std::uint8_t label, float weight) {
  const LabelTerm term(mean, label);
  return weight * (log_of_positive(term.factor) - 0.5F * term.square);
}

inline double weighted_log_normal_cdf(const float* f, const std::uint8_t* label,
                                      const float* weight, float offset, float factor,
                                      std::int64_t n) {
  constexpr std::int64_t chunk = 8 * kLanes;  // as long as a float sum stays precise
  double total = 0.0;
  for (std::int64_t start = 0; start < n; start += chunk) {
    const std::int64_t end = std::min(start + chunk, n);
    float sum[kLanes] = {};
    std::int64_t i = start;
    for (; i + kLanes <= end; i += kLanes)
      for (int l = 0; l < kLanes; ++l)
        sum[l] += weighted_log_term(offset + factor * f[i + l], label[i + l], weight[i + l]);
    for (int l = 0; i < end; ++i, ++l)
      sum[l] += weighted_log_term(offset + factor * f[i], label[i], weight[i]);
    total += reduce(sum);
  }
  return total;
}

inline float chosen(std::int32_t mask, float then, float otherwise) {
  return std::bit_cast<float>((bits_of(then) & mask) | (bits_of(otherwise) & ~mask));
}

// The probability of an interval: log(Phi(high) - Phi(low)) = log(factor) - square / 2. The
// interval is turned so that its middle is not negative; then it is from a to b, and its
// probability is 1 - P(Z < a) - P(Z > b) if 0 is inside, else P(Z > a) - P(Z > b).
struct IntervalTerm {
  float factor, square;

  IntervalTerm(float low, float high) {
    const std::int32_t turned = bits_of(low + high) >> 31;
    const float a = chosen(turned, -high, low);
    const float b = chosen(turned, -low, high);
    const std::int32_t inside = bits_of(a) >> 31;
    const float start = chosen(inside, 0.0F, a);
    const float size = clipped_size(a);
    const float ratio = tail_ratio(clipped_size(a, 60.0F));
    // P(Z > b) / exp(-start^2 / 2).
    const float decay = clipped_size(0.5F * (b - start) * (b + start), 80.0F);
    const float beyond = exp_of_negative(-decay) * tail_ratio(clipped_size(b, 60.0F));
    const float below_a = exp_of_negative(-0.5F * size * size) * ratio;
    factor = chosen(inside, 1.0F - below_a, ratio) - beyond;
    square = start * start;
  }
};

// Sums of such logarithms, by lane; as ProbitLanes, with factors above 0.003.
template <class Term>
inline double log_terms(const float* f, std::int64_t n, const Term& term) {
  constexpr std::int64_t chunk = 4 * kLanes;  // the product of as many factors is above 1e-162
  double total = 0.0;
  for (std::int64_t start = 0; start < n; start += chunk) {
    const std::int64_t end = std::min(start + chunk, n);
    ProbitLanes sum;
    sum.clear();
    std::int64_t i = start;
    for (; i + kLanes <= end; i += kLanes)
      for (int l = 0; l < kLanes; ++l) term(f[i + l], sum.factor[l], sum.square[l]);
    for (int l = 0; i < end; ++i, ++l) term(f[i], sum.factor[l], sum.square[l]);
    total += sum.total();
  }
  return total;
}

inline double log_interval(const float* f, float factor, double low, double high, std::int64_t n) {
  // Below this width the difference would lose digits; by the density at the middle m it is
  // w phi(m) (1 + (m^2 - 1) w^2 / 24), off by 2e-6 where |m| < 12.
  constexpr double narrow = 0.02;
  constexpr double half_log_two_pi = 0.91893853320467274178;
  constexpr double far_out = 1e30;
  const double width = high - low;
  if (width < narrow) {
    const auto middle = static_cast<float>(0.5 * (low + high));
    const auto curvature = static_cast<float>(width * width / 24.0);
    const double total = log_terms(f, n, [=](float at, float& product, float& square) {
      const float m = clipped_size(middle - factor * at, 1e4F);
      product *= 1.0F + (m * m - 1.0F) * curvature;
      square += m * m;
    });
    return total + static_cast<double>(n) * (det_log(width) - half_log_two_pi);
  }
  const auto from = static_cast<float>(std::max(low, -far_out));
  const auto to = static_cast<float>(std::min(high, far_out));
  return log_terms(f, n, [=](float at, float& product, float& square) {
    const IntervalTerm one(from - factor * at, to - factor * at);
    product *= one.factor;
    square += one.square;
  });
}

}  // namespace
}  // namespace obart
