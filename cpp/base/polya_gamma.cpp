// The density of PG(1, z) is cosh(z / 2) g(x), g(x) = exp(-z^2 x / 2) sum over n of (-1)^n a_n(x),
// with two forms of a_n, one for each side of kCut, whose terms fall from n = 0 on. Partial sums
// bound the series from both sides, so few terms decide (Devroye 2009).
//
// Proposals come from tables, one for each of some z: strips of equal area that cover g, and a tail
// of a_0. Most lie below g for sure, also below that of a z a little larger. Where z is large, a_0
// is nearly all: it is then an inverse Gaussian.
#include "base/polya_gamma.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/planted_bugs.h"

namespace obart {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kRootTwoPi = 2.5066282746310002;
constexpr double kCut = 0.16;
// a_1 / a_0 is below this everywhere: it is 3 exp(-6.25) at the cut from the left.
constexpr double kSecondTerm = 0.0058;

// a_0, tilted.
double lead_below(double x, double half_square) {
  return det_exp(-half_square * x - 0.125 / x) / (kRootTwoPi * x * std::sqrt(x));
}
double lead_above(double x, double half_square) {
  return 2.0 * kPi * det_exp(-(0.5 * kPi * kPi + half_square) * x);
}

// a_n / a_0 = (2 n + 1) exp(-n (n + 1) rate).
double rate_of_terms(double x) { return x < kCut ? 0.5 / x : 2.0 * kPi * kPi * x; }

// Whether u is below the sum of (-1)^n a_n / a_0.
bool is_below_series(double u, double rate) {
  if (u < 1.0 - kSecondTerm) return true;
  if (!(u < 1.0)) return false;
  double sum = 1.0;
  for (double n = 1.0; n < 100.0; n += 2.0) {
    sum -= (2.0 * n + 1.0) * det_exp(-n * (n + 1.0) * rate);
    if (u <= sum) return true;
    sum += (2.0 * n + 3.0) * det_exp(-(n + 1.0) * (n + 2.0) * rate);
    if (u > sum) return false;
  }
  return true;
}

bool is_below_density(double height, double x, double half_square) {
  const double lead = x < kCut ? lead_below(x, half_square) : lead_above(x, half_square);
  return is_below_series(height / lead, rate_of_terms(x));
}

double density(double x, double half_square) {
  if (!(x > 0.0)) return 0.0;
  const double rate = rate_of_terms(x);
  double series = 1.0;
  for (double n = 1.0; n < 12.0; n += 2.0)
    series -= (2.0 * n + 1.0) * det_exp(-n * (n + 1.0) * rate) -
              (2.0 * n + 3.0) * det_exp(-(n + 1.0) * (n + 2.0) * rate);
  return series * (x < kCut ? lead_below(x, half_square) : lead_above(x, half_square));
}

// The density is log-concave: it rises up to here, and falls beyond.
double find_mode(double half_square) {
  double low = 0.0;
  double high = 0.25;
  for (int i = 0; i < 80; ++i) {
    const double a = low + (high - low) / 3.0;
    const double b = high - (high - low) / 3.0;
    if (density(a, half_square) < density(b, half_square))
      low = a;
    else
      high = b;
  }
  return 0.5 * (low + high);
}

// Strips that cover g of one z, side by side, whose heights times widths are all the same.
class Strips {
 public:
  explicit Strips(double z) : half_square_(0.5 * z * z) {
    constexpr double n_wanted = 128.0;
    const double e = det_exp(-0.5 * z);
    area_ = 2.0 * e / (1.0 + e * e) / n_wanted;  // the integral of g is 1 / cosh(z / 2)
    const double mode = find_mode(half_square_);
    for (double right = mode; right > 0.0;) right = add(right, -1.0);
    double left = mode;
    const double rate = 0.5 * kPi * kPi + half_square_;
    while (left < kCut || lead_above(left, half_square_) > rate * area_) left = add(left, 1.0);
    tail_from_ = left;
    n_areas_ = static_cast<double>(strips_.size()) + lead_above(left, half_square_) / rate / area_;
  }

  // A draw of a larger or the same z, by rejection.
  double draw(double half_square, Rng& rng) const {
    const double excess = half_square - half_square_;
    for (;;) {
      const double at = rng.uniform() * n_areas_;
      const auto k = static_cast<std::size_t>(at);
      const double u = rng.uniform();
      if (k >= strips_.size()) [[unlikely]] {
        const double x = tail_from_ + rng.exponential() / (0.5 * kPi * kPi + half_square_);
        if (is_below_density(u * lead_above(x, half_square_), x, half_square)) return x;
        continue;
      }
      const Strip& strip = strips_[k];
      const double x = strip.left + (at - static_cast<double>(k)) * strip.width;
      if (u < strip.inside * (1.0 - excess * x)) return x;
      if (x > 0.0 && is_below_density(u * area_ / strip.width, x, half_square)) return x;
    }
  }

 private:
  struct Strip {
    double left, width;
    double inside;  // below this share of its height all is below g
  };

  // From an edge, where g is largest, away from the mode. Returns the other edge.
  double add(double edge, double direction) {
    const double height = density(edge, half_square_);
    const double width = area_ / height;
    const double other = edge + direction * width;
    strips_.push_back({std::min(edge, other), width, density(other, half_square_) / height});
    return other;
  }

  double half_square_;
  double area_;  // of a strip
  double tail_from_;
  double n_areas_;  // of strips and tail together
  std::vector<Strip> strips_;
};

// For z up to kFarFrom, in steps.
class Tables {
 public:
  static constexpr double kFarFrom = 16.0;
  static constexpr double kPerUnit = 4.0;

  Tables() {
    for (double z = 0.0; z < kFarFrom; z += 1.0 / kPerUnit) strips_.emplace_back(z);
  }
  const Strips& below(double z) const { return strips_[static_cast<std::size_t>(z * kPerUnit)]; }

 private:
  std::vector<Strips> strips_;
};

// Michael, Schucany and Haas (1976): the smaller root of a quadratic, or its partner. Of shape 1/4.
double inverse_gaussian(double mean, Rng& rng) {
  const double normal = rng.normal();
  const double w = 4.0 * mean * normal * normal;
  const double root = 1.0 / (1.0 + 0.5 * w + std::sqrt(w + 0.25 * w * w));
  return rng.uniform() * (1.0 + root) <= 1.0 ? mean * root : mean / root;
}

// The form below the cut is above g everywhere.
double draw_far(double z, Rng& rng) {
  if (!(z < std::numeric_limits<double>::infinity())) return 0.5 / z;
  const double half_square = 0.5 * z * z;
  for (;;) {
    const double x = inverse_gaussian(0.5 / z, rng);
    const double u = rng.uniform();
    const bool accept = x < kCut ? is_below_series(u, rate_of_terms(x))
                                 : is_below_density(u * lead_below(x, half_square), x, half_square);
    if (accept) return x;
  }
}

}  // namespace

double polya_gamma(double z, Rng& rng) {
  static const Tables tables;
  z = std::abs(z);
  if (OBART_BUG(polya_gamma_not_tilted)) z = 0.0;
  if (!(z < Tables::kFarFrom)) return draw_far(z, rng);
  return tables.below(z).draw(0.5 * z * z, rng);
}

// The mean is tanh(z / 2) / (2 z), the variance (sinh z - z) / (4 z^3 cosh^2(z / 2)); with
// e = exp(-z), cosh^2(z / 2) = (1 + e)^2 / (4 e) and sinh z = (1 - e^2) / (2 e).
PolyaGammaMoments polya_gamma_moments(double z) {
  z = std::abs(z);
  if (z < 0.1) {
    const double square = z * z;
    return {0.25 - square * (1.0 / 48 - square * (1.0 / 480 - square * (17.0 / 80640))),
            1.0 / 24 - square * (1.0 / 120 - square * (17.0 / 13440 - square * (31.0 / 181440)))};
  }
  const double e = det_exp(-z);
  const double sum = 1.0 + e;
  return {(1.0 - e) / (2.0 * z * sum), (0.5 * (1.0 - e * e) - z * e) / (z * z * z * sum * sum)};
}

double polya_gamma(std::int64_t n, double z, Rng& rng) {
  if (n > Rng::kExactSum) {
    const PolyaGammaMoments one = polya_gamma_moments(z);
    const auto count = static_cast<double>(n);
    return count * one.mean + std::sqrt(count * one.variance) * rng.normal();
  }
  double sum = 0.0;
  for (; n > 0; --n) sum += polya_gamma(z, rng);
  return sum;
}

}  // namespace obart
