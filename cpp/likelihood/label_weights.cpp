#include "likelihood/label_weights.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/math.h"
#include "base/planted_bugs.h"

namespace obart {
namespace {

// The same as Gamma-Poisson: lambda ~ Gamma(a) / p, j ~ Poisson(lambda q). A row that contradicts
// a confident f would have endless latents, which hold f where it is and leave nothing of the other
// rows in a float. So lambda ends here, and the likelihood is p^w P(Gamma(a) < kMostLatents p): the
// same to 1e-4 for p > 1e-5; where p is below 1e-6, the row counts as if its weight were k.
constexpr double kMostLatents = 0x1p20;
constexpr double kLargestWeight = 0x1p20;
// Weights this near to a whole number are taken for it: 0.7 + 0.1 + 0.2 is not quite 1.
constexpr double kWhole = 1e-9;
// Above this p the distribution is short enough to be looked through.
constexpr double kManyFrom = 1.0 / 32;

std::int64_t draw_few(double a, double p, Rng& rng) {
  constexpr std::int64_t end = 4096;  // has probability 1e-56
  double u = rng.uniform();
  if (u < p) return 0;  // P(0) = p^a >= p
  double probability = det_exp(a * det_log(p));
  std::int64_t j = 0;
  for (; u >= probability && j < end; ++j) {
    u -= probability;
    const double k = static_cast<double>(j);
    probability *= (1.0 - p) * (a + k) / (k + 1.0);
  }
  return j;
}

// The density is lambda^(a - 1) exp(-lambda p) up to the end.
double draw_rate(double a, double p, Rng& rng) {
  for (;;) {
    if (p * kMostLatents >= 1.0) {
      const double lambda = rng.gamma(a) / p;
      if (lambda <= kMostLatents) return lambda;
    } else {
      const double lambda = kMostLatents * det_exp(-rng.exponential() / a);
      if (rng.uniform() < det_exp(-lambda * p)) return lambda;
    }
  }
}

}  // namespace

void LabelWeights::set(const double* weights) {
  for (std::size_t row = 0; row < given_.size(); ++row) {
    const double weight = weights[row];
    if (!(weight > 0.0 && weight <= kLargestWeight))
      throw std::invalid_argument("weights of labels must be positive and at most 2^20");
    given_[row] = static_cast<float>(weight);
    const double nearest = std::round(weight);
    const bool is_whole = nearest > 0.0 && std::abs(weight - nearest) <= kWhole * nearest;
    const double n_own = is_whole ? nearest : std::ceil(weight);
    n_own_[row] = static_cast<std::int32_t>(n_own);
    excess_[row] = is_whole ? 0.0 : n_own - weight;
    if (OBART_BUG(weighted_probit_excess_swapped) && !is_whole) excess_[row] = 1.0 - excess_[row];
  }
  const bool are_equal = std::ranges::all_of(n_own_, [&](auto n) { return n == n_own_[0]; }) &&
                         std::ranges::all_of(excess_, [](double excess) { return excess == 0.0; });
  of_all_ = are_equal && !n_own_.empty() ? n_own_[0] : 0;
}

std::int64_t LabelWeights::draw_others(std::size_t row, double p, Rng& rng) const {
  const double a = excess_[row];
  if (a == 0.0 || OBART_BUG(weighted_probit_rounds_up)) return 0;
  if (p >= kManyFrom) return draw_few(a, p, rng);
  return rng.poisson(draw_rate(a, p, rng) * (1.0 - p));
}

}  // namespace obart
