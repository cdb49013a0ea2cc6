// The chain's random numbers on a card: the bits of base/random.h. Words are made ahead, because
// each needs the one before it; what a word means depends on how many were used.
#pragma once

#include "backend/card/machine.h"
#include "backend/card/tasks.h"
#include "base/math.h"

namespace obart::card {

struct RngState {
  std::uint64_t s[4];

  std::uint64_t next() {
    const std::uint64_t sum = s[0] + s[3];
    const std::uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
    const std::uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
  }
};

inline double uniform_of(std::uint64_t word) {
  return (static_cast<double>(static_cast<std::int64_t>(word >> 12)) + 0.5) * 0x1p-52;
}

// The normal distribution's draw from a word, where that lies in the simple part of its layer.
inline bool simple_normal(std::uint64_t word, const ZigguratLayer* ziggurat, double& out) {
  const ZigguratLayer layer = ziggurat[word & 0xff];
  const std::uint64_t mantissa = word >> 11;
  const double size = static_cast<double>(static_cast<std::int64_t>(mantissa)) * layer.unit;
  out = of_bits(bits_of(size) | (word & 0x100) << 55);
  return mantissa < layer.inside;
}

// Any normal draw, one word after the other.
class SerialRng {
 public:
  SerialRng(const RngState& state, const ZigguratLayer* ziggurat, const double* heights)
      : state_(state), ziggurat_(ziggurat), heights_(heights) {}

  double normal() {
    for (;;) {
      const std::uint64_t word = state_.next();
      double x = 0.0;
      if (simple_normal(word, ziggurat_, x)) return x;
      const std::uint64_t layer = word & 0xff;
      if (layer == 0) return of_bits(bits_of(tail()) | (word & 0x100) << 55);
      const double size = of_bits(bits_of(x) & ~(std::uint64_t{1} << 63));
      const double height =
          heights_[layer] + uniform_of(state_.next()) * (heights_[layer + 1] - heights_[layer]);
      if (height < det_exp(-0.5 * size * size)) return x;
    }
  }
  const RngState& state() const { return state_; }

 private:
  static constexpr double kTailStart = 0x1.d3bb48209ad33p+1;

  double tail() {
    const double a = kTailStart;
    const double rate = 0.5 * (a + root(a * a + 4.0));
    for (;;) {
      const double z = a + -det_log(uniform_of(state_.next())) / rate;
      const double half_square = 0.5 * (z - rate) * (z - rate);
      const double u = uniform_of(state_.next());
      if (u < 1.0 - half_square || u < det_exp(-half_square)) return z;
    }
  }

  RngState state_;
  const ZigguratLayer* ziggurat_;
  const double* heights_;
};

}  // namespace obart::card
