// The density of PG(1, z) is cosh(z / 2) g(x), g(x) = exp(-z^2 x / 2) sum over n of (-1)^n a_n(x),
// with two forms of a_n, one for each side of kCut, whose terms fall from n = 0 on. Partial sums
// bound the series from both sides, so few terms decide (Devroye 2009).
//
// Proposals come from tables, one for each of some z: strips of equal area that cover g, and a tail
// of a_0. Most lie below g for sure, also below that of a z a little larger. Where z is large, a_0
// is nearly all: it is then an inverse Gaussian.
#include "base/polya_gamma.h"

#include <algorithm>
#include <bit>
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
    strips_.push_back({left, 0.0, 0.0});
  }

  struct Strip {
    double left, width;
    double inside;  // below this share of its height all is below g
  };

  // A point under the strips and the tail.
  struct Proposal {
    const Strip* strip;
    double part;  // of the width
    double u;     // of the height

    double x() const { return strip->left + part * strip->width; }
  };
  Proposal propose(Rng& rng) const {
    const double at = rng.uniform() * n_areas_;
    const auto k = static_cast<std::int64_t>(at);
    return {strips_.data() + k, at - static_cast<double>(k), rng.uniform()};
  }

  // Whether it is below g of a larger or the same z for sure.
  bool is_inside(const Proposal& proposal, double x, double half_square) const {
    return proposal.u < proposal.strip->inside * (1.0 - (half_square - half_square_) * x);
  }

  // A draw of that z by rejection, where the first proposal is not inside.
  double draw(Proposal proposal, double half_square, Rng& rng) const {
    for (;;) {
      double x = proposal.x();
      if (proposal.strip == &strips_.back()) [[unlikely]] {
        x = tail_from_ + rng.exponential() / (0.5 * kPi * kPi + half_square_);
        if (is_below_density(proposal.u * lead_above(x, half_square_), x, half_square)) return x;
      } else if (x > 0.0) {
        const double height = proposal.u * area_ / proposal.strip->width;
        if (is_below_density(height, x, half_square)) return x;
      }
      proposal = propose(rng);
      if (is_inside(proposal, x = proposal.x(), half_square)) return x;
    }
  }

 private:
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
  double n_areas_;             // of strips and tail together
  std::vector<Strip> strips_;  // the last one stands for the tail; nothing is inside it
};

// For z up to kFarFrom, in steps.
class Tables {
 public:
  static constexpr double kFarFrom = 16.0;
  static constexpr double kPerUnit = 4.0;

  static const Tables& all() {
    static const Tables tables;
    return tables;
  }
  // Of the largest z up to this one, which is below kFarFrom.
  const Strips& below(double z) const {
    return *(strips_.data() + static_cast<std::int64_t>(z * kPerUnit));
  }

 private:
  Tables() {
    for (double z = 0.0; z < kFarFrom; z += 1.0 / kPerUnit) strips_.emplace_back(z);
  }

  std::vector<Strips> strips_;
};

// A choice without a branch, which would often be guessed wrong.
double chosen(bool condition, double then, double otherwise) {
  const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(condition);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(then) & mask) |
                               (std::bit_cast<std::uint64_t>(otherwise) & ~mask));
}

// Michael, Schucany and Haas (1976): the smaller root of a quadratic, or its partner. Of shape 1/4.
double inverse_gaussian(double mean, Rng& rng) {
  const double normal = rng.normal();
  const double w = 4.0 * mean * normal * normal;
  const double root = 1.0 / (1.0 + 0.5 * w + std::sqrt(w + 0.25 * w * w));
  return chosen(rng.uniform() * (1.0 + root) <= 1.0, mean * root, mean / root);
}

// The form below the cut is above g everywhere.
double draw_far(double z, Rng& rng) {
  if (!(z < std::numeric_limits<double>::infinity())) return 0.5 / z;
  const double half_square = 0.5 * z * z;
  for (;;) {
    const double x = inverse_gaussian(0.5 / z, rng);
    const double u = rng.uniform();
    if (x < kCut && u < 1.0 - kSecondTerm) [[likely]]
      return x;
    const bool accept = x < kCut ? is_below_series(u, rate_of_terms(x))
                                 : is_below_density(u * lead_below(x, half_square), x, half_square);
    if (accept) return x;
  }
}

// Draws of many z. Which of the two ways a row goes, and whether its first proposal is inside, is
// as good as random: rows are collected without a branch, then treated alike. The tables are larger
// than a cache that is quick; strips are fetched ahead.
constexpr std::size_t kBatch = 256;
struct RowList {
  std::size_t n = 0;
  std::uint32_t row[kBatch];

  void add_if(bool condition, std::size_t i) {
    row[n] = static_cast<std::uint32_t>(i);
    n += condition ? 1 : 0;
  }
};

void draw_near(const RowList& rows, const double* z, double* omega, Rng& rng) {
  const Tables& tables = Tables::all();
  Strips::Proposal first[kBatch];
  for (std::size_t k = 0; k < rows.n; ++k) {
    first[k] = tables.below(std::abs(z[rows.row[k]])).propose(rng);
    __builtin_prefetch(first[k].strip);
  }
  RowList open;  // of indices into rows
  for (std::size_t k = 0; k < rows.n; ++k) {
    const double size = std::abs(z[rows.row[k]]);
    const double x = first[k].x();
    omega[rows.row[k]] = x;
    open.add_if(!tables.below(size).is_inside(first[k], x, 0.5 * size * size), k);
  }
  for (std::size_t j = 0; j < open.n; ++j) {
    const std::size_t k = open.row[j];
    const double size = std::abs(z[rows.row[k]]);
    omega[rows.row[k]] = tables.below(size).draw(first[k], 0.5 * size * size, rng);
  }
}

void draw_batch(const double* z, std::size_t n, double* omega, Rng& rng) {
  RowList near, far;
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_near = std::abs(z[i]) < Tables::kFarFrom;
    near.add_if(is_near, i);
    far.add_if(!is_near, i);
  }
  draw_near(near, z, omega, rng);
  for (std::size_t k = 0; k < far.n; ++k)
    omega[far.row[k]] = draw_far(std::abs(z[far.row[k]]), rng);
}

}  // namespace

double polya_gamma(double z, Rng& rng) {
  const Tables& tables = Tables::all();
  z = std::abs(z);
  if (OBART_BUG(polya_gamma_not_tilted)) z = 0.0;
  if (!(z < Tables::kFarFrom)) return draw_far(z, rng);
  const double half_square = 0.5 * z * z;
  const Strips& strips = tables.below(z);
  const Strips::Proposal first = strips.propose(rng);
  const double x = first.x();
  return strips.is_inside(first, x, half_square) ? x : strips.draw(first, half_square, rng);
}

void polya_gamma(const double* z, std::size_t n, double* omega, Rng& rng) {
  if (OBART_BUG(polya_gamma_not_tilted)) {
    for (std::size_t i = 0; i < n; ++i) omega[i] = polya_gamma(0.0, rng);
    return;
  }
  for (std::size_t first = 0; first < n; first += kBatch)
    draw_batch(z + first, std::min(kBatch, n - first), omega + first, rng);
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
