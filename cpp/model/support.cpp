#include "model/support.h"

#include <algorithm>

namespace obart {
namespace {

// Products of probabilities below it would soon underflow.
constexpr double kLeastRun = 1e-250;

// How many values at the front of a sorted array satisfy the condition, without a branch that
// depends on the values: halves while there are many, then looks at all that are left.
template <class Condition>
std::size_t count_while(const double* values, std::size_t n, const Condition& holds) {
  const double* from = values;
  while (n > 16) {
    const std::size_t half = n / 2;
    from += half * static_cast<std::size_t>(holds(from[half - 1]));
    n -= half;
  }
  auto count = static_cast<std::size_t>(from - values);
  for (std::size_t i = 0; i < n; ++i) count += static_cast<std::size_t>(holds(from[i]));
  return count;
}

}  // namespace

SupportPrior::SupportPrior(std::vector<std::uint32_t> columns) : SupportPrior(columns.size()) {
  columns_ = std::move(columns);
}

SupportPrior::SupportPrior(std::size_t n_columns) : n_(n_columns) {
  theta_.reserve(n_);
  zero_run_.reserve(n_);
  nonzero_run_.reserve(n_);
}

void SupportPrior::set_theta(const std::vector<double>& theta) {
  all_columns_ = theta.size() == 1 && theta[0] >= 1.0;
  if (theta.size() == 1 || columns_.empty()) {
    theta_ = theta;
  } else {
    theta_.clear();
    for (const std::uint32_t j : columns_) theta_.push_back(theta[j]);
  }
  nonzero_mass_ = 1.0;
  if (all_columns_) return;
  zero_run_.resize(n_);
  nonzero_run_.resize(n_);
  double zero = 1.0;
  double nonzero = 0.0;  // by sums: exact to the last digits however small theta is
  for (std::size_t j = 0; j < n_; ++j) {
    const double here = theta_[theta_.size() == 1 ? 0 : j];
    nonzero_run_[j] = nonzero += zero * here;
    zero_run_[j] = zero *= 1.0 - here;
  }
  nonzero_mass_ = std::min(nonzero, 1.0);
}

// By skips to the next column instead of n coin flips: after column j, the next is the first k
// whose run of zeros is less likely than a uniform.
void SupportPrior::draw(bool given_nonzero, Rng& rng, std::vector<PhiEntry>& phi) const {
  phi.clear();
  if (all_columns_) {
    for (std::size_t j = 0; j < n_; ++j) take(j, phi);
    return;
  }
  if (!(nonzero_mass_ > 0.0)) return;
  const double u = rng.uniform();
  const double level = given_nonzero ? u * nonzero_mass_ : 1.0 - u;
  std::size_t j = count_while(nonzero_run_.data(), n_, [=](double run) { return run < level; });
  // With one theta a run is as likely wherever it begins.
  const bool by_column = theta_.size() > 1;
  while (j < n_) {
    take(j, phi);
    if (by_column && zero_run_[j] < kLeastRun) break;
    const double longest = (by_column ? zero_run_[j] : 1.0) * rng.uniform();
    const double* const run = zero_run_.data() + (by_column ? j + 1 : 0);
    const std::size_t n_left = n_ - 1 - j;
    if (n_left == 0 || run[n_left - 1] > longest) return;
    j += 1 + count_while(run, n_left - 1, [=](double r) { return r > longest; });
  }
  for (++j; j < n_; ++j)
    if (rng.uniform() < theta_[j]) take(j, phi);
}

}  // namespace obart
