// What the update of soft trees works with, kept from sweep to sweep so that none allocates.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/soft_tasks.h"
#include "base/math.h"
#include "base/planted_bugs.h"
#include "base/random.h"
#include "ensemble/normal_leaf.h"
#include "ensemble/soft_plan.h"

namespace obart {

// Leaves in terms of the columns whose products were summed: each is one of them, but one leaf may
// be the sum of two.
struct SoftLeaves {
  std::vector<std::size_t> column;  // by code
  bool has_second = false;
  std::size_t of_two = 0, second = 0;  // a code, and its other column

  // The first n columns.
  void set(std::size_t n) {
    column.resize(n);
    for (std::size_t i = 0; i < n; ++i) column[i] = i;
    has_second = false;
  }
  void add_second(std::size_t code, std::size_t other_column) {
    has_second = true;
    of_two = code;
    second = other_column;
  }
  // visit(code, column)
  template <class Visit>
  void for_each_column(const Visit& visit) const {
    for (std::size_t code = 0; code < column.size(); ++code) visit(code, column[code]);
    if (has_second) visit(of_two, second);
  }
};

// The outputs of a tree given the rest: normal, with precision L D L' (L has a diagonal of ones, D
// is diagonal) and mean (L D L')^-1 b.
class SoftOutputs {
 public:
  // sums: products, as count_products says, of n columns; null without data.
  void set(const SoftLeaves& leaves, const double* sums, std::size_t n_columns,
           const NormalLeaf& leaf) {
    n_ = leaves.column.size();
    lower_.resize(n_ * n_);
    right_.resize(n_);
    inverse_.resize(n_);
    told_.resize(n_);
    // Most trees are small: with their size known to the compiler, no branch depends on it.
    if (n_ == 1) return set_with<1>(leaves, sums, n_columns, leaf);
    if (n_ == 2) return set_with<2>(leaves, sums, n_columns, leaf);
    if (n_ == 3) return set_with<3>(leaves, sums, n_columns, leaf);
    if (n_ == 4) return set_with<4>(leaves, sums, n_columns, leaf);
    set_with<0>(leaves, sums, n_columns, leaf);
  }

  void reserve(std::size_t n_leaves) {
    lower_.reserve(n_leaves * n_leaves);
    right_.reserve(n_leaves);
    inverse_.reserve(n_leaves);
    told_.reserve(n_leaves);
  }
  // How much more likely than with other leaves is what the other trees leave, outputs integrated
  // out. One logarithm, which takes as long as much of the rest.
  double log_likelihood_over(const SoftOutputs& other) const {
    return 0.5 * (squares_ - other.squares_ - (log_ratio_ - other.log_ratio_) -
                  det_log(ratio_ / other.ratio_));
  }

  void draw(Rng& rng, std::vector<float>& out) {
    out.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      const double deviation = OBART_BUG(soft_outputs_at_mean) ? 0.0 : rng.normal();
      right_[i] = right_[i] * inverse_[i] + deviation * std::sqrt(inverse_[i]);
    }
    for (std::size_t i = n_; i-- > 0;) {  // L' x = D^-1 L^-1 b + deviations
      for (std::size_t k = i + 1; k < n_; ++k) right_[i] -= lower_[k * n_ + i] * right_[k];
      out[i] = static_cast<float>(right_[i]);
    }
  }

 private:
  // N: the number of leaves, or 0 if the compiler need not know it.
  template <std::size_t N>
  void set_with(const SoftLeaves& leaves, const double* sums, std::size_t n_columns,
                const NormalLeaf& leaf) {
    if (sums != nullptr) {
      gather<N>(leaves, sums, n_columns, leaf.inverse_variance());
    } else {
      std::fill(lower_.begin(), lower_.end(), 0.0);
      std::fill(right_.begin(), right_.end(), 0.0);
    }
    factorise<N>(leaf.inverse_leaf_variance());
  }

  // What the rows add to the precision, in the lower triangle, and b.
  template <std::size_t N>
  void gather(const SoftLeaves& leaves, const double* sums, std::size_t n_columns,
              double inverse_variance) {
    const std::size_t n = N > 0 ? N : n_;
    const double* const with_residual = sums + n_columns * (n_columns + 1) / 2;
    const auto product = [&](std::size_t a, std::size_t b) {
      return inverse_variance * sums[product_index(a, b)];
    };
    for (std::size_t i = 0; i < n; ++i) {
      right_[i] = inverse_variance * with_residual[leaves.column[i]];
      for (std::size_t j = 0; j <= i; ++j)
        lower_[i * n + j] = product(leaves.column[i], leaves.column[j]);
    }
    if (leaves.has_second) {
      const std::size_t i = leaves.of_two, second = leaves.second;
      right_[i] += inverse_variance * with_residual[second];
      for (std::size_t j = 0; j < n; ++j)
        lower_[std::max(i, j) * n + std::min(i, j)] += product(second, leaves.column[j]);
      lower_[i * n + i] += product(second, leaves.column[i]) + product(second, second);
    }
    if (OBART_BUG(soft_leaves_apart))
      for (std::size_t i = 0; i < n; ++i) std::fill_n(lower_.data() + i * n, i, 0.0);
  }

  // Adds the prior. Then L in place of the precision, L^-1 b in place of b.
  template <std::size_t N>
  void factorise(double inverse_leaf_variance) {
    const std::size_t n = N > 0 ? N : n_;
    const double unit = OBART_BUG(soft_prior_missing) ? 1.0 : 1.0 / inverse_leaf_variance;
    squares_ = 0.0;
    log_ratio_ = 0.0;
    ratio_ = 1.0;
    for (std::size_t i = 0; i < n; ++i) {
      double* const row = lower_.data() + i * n;
      for (std::size_t j = 1; j < i; ++j)
        for (std::size_t k = 0; k < j; ++k) row[j] -= row[k] * lower_[j * n + k];
      double pivot = row[i] + inverse_leaf_variance;
      double right = right_[i];
      for (std::size_t j = 0; j < i; ++j) {
        const double times_pivot = row[j];
        row[j] *= told_[j];
        pivot -= times_pivot * row[j];
        right -= row[j] * right_[j];
      }
      // Of what the leaves before tell, rounding may leave less than the prior adds. Then there is
      // nothing but the prior, and what the products with later leaves have left is rounding too.
      const bool is_lost = !(pivot >= 0.5 * inverse_leaf_variance);
      if (is_lost) {
        pivot = inverse_leaf_variance;
        right = 0.0;
      }
      right_[i] = right;
      inverse_[i] = 1.0 / pivot;
      told_[i] = is_lost ? 0.0 : inverse_[i];
      squares_ += right * (right * inverse_[i]);
      ratio_ *= pivot * unit;
      if (ratio_ > 1e100) {
        log_ratio_ += det_log(ratio_);
        ratio_ = 1.0;
      }
    }
  }

  std::size_t n_ = 0;
  std::vector<double> lower_;    // L, by row
  std::vector<double> right_;    // b
  std::vector<double> inverse_;  // D^-1
  std::vector<double> told_;     // the same, or 0 where only the prior is left
  double squares_ = 0.0;         // of D^-1/2 L^-1 b
  // Of the determinants of the precision and of the prior's: the ratio, and the logarithm of what
  // would have made it too large.
  double ratio_ = 1.0, log_ratio_ = 0.0;
};

struct SoftScratch {
  SoftPlan plan;
  std::vector<std::int32_t> basis;  // columns of shares
  SoftLeaves now, proposed;
  SoftOutputs outputs, proposed_outputs;
  std::vector<float> values;
  std::vector<SoftTerm> terms;

  void reserve(std::size_t n_leaves, std::size_t n_terms) {
    plan.reserve(n_leaves + 1, n_terms);
    basis.reserve(n_leaves + 2);
    now.column.reserve(n_leaves + 1);
    proposed.column.reserve(n_leaves + 1);
    outputs.reserve(n_leaves + 1);
    proposed_outputs.reserve(n_leaves + 1);
    values.reserve(n_leaves + 1);
    terms.reserve(2 * n_leaves);
  }
};

}  // namespace obart
