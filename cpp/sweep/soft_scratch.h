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

// A leaf in terms of the columns whose products were summed: one of them, or the sum of two.
struct SoftLeaf {
  int first;
  int second = kNone;

  template <class Visit>
  void for_each(const Visit& visit) const {
    visit(static_cast<std::size_t>(first));
    if (second != kNone) visit(static_cast<std::size_t>(second));
  }
};
using SoftLeaves = std::vector<SoftLeaf>;  // by code

// The outputs of a tree given the rest: normal, with precision L L' and mean (L L')^-1 b.
class SoftOutputs {
 public:
  // sums: products, as count_products says, of n columns; null without data.
  void set(const SoftLeaves& leaves, const double* sums, std::size_t n_columns,
           const NormalLeaf& leaf) {
    n_ = leaves.size();
    root_.assign(n_ * n_, 0.0);
    whitened_.assign(n_, 0.0);
    const double* const with_residual = sums + n_columns * (n_columns + 1) / 2;
    for (std::size_t i = 0; i < n_; ++i) {
      if (sums != nullptr) {
        leaves[i].for_each([&](std::size_t a) { whitened_[i] += with_residual[a]; });
        whitened_[i] *= leaf.inverse_variance();
        for (std::size_t j = 0; j <= i; ++j) {
          double& sum = root_[i * n_ + j];
          leaves[i].for_each([&](std::size_t a) {
            leaves[j].for_each([&](std::size_t b) { sum += sums[product_index(a, b)]; });
          });
          sum *= leaf.inverse_variance();
          if (OBART_BUG(soft_leaves_apart) && i != j) sum = 0.0;
        }
      }
      root_[i * n_ + i] += leaf.inverse_leaf_variance();
    }
    factorise(leaf.inverse_leaf_variance());
  }

  void reserve(std::size_t n_leaves) {
    root_.reserve(n_leaves * n_leaves);
    whitened_.reserve(n_leaves);
  }
  // Log marginal likelihood of what the other trees leave, up to a constant of the data.
  double log_likelihood() const { return log_likelihood_; }

  void draw(Rng& rng, std::vector<float>& out) {
    out.resize(n_);
    for (double& value : whitened_) value += OBART_BUG(soft_outputs_at_mean) ? 0.0 : rng.normal();
    for (std::size_t i = n_; i-- > 0;) {  // L' x = whitened
      double value = whitened_[i];
      for (std::size_t k = i + 1; k < n_; ++k) value -= root_[k * n_ + i] * whitened_[k];
      whitened_[i] = value / root_[i * n_ + i];
      out[i] = static_cast<float>(whitened_[i]);
    }
  }

 private:
  // Cholesky's: L in place of the precision, L^-1 b in place of b.
  void factorise(double inverse_leaf_variance) {
    double log_diagonal = 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      double* const row = root_.data() + i * n_;
      for (std::size_t j = 0; j < i; ++j) {
        const double* const other = root_.data() + j * n_;
        for (std::size_t k = 0; k < j; ++k) row[j] -= row[k] * other[k];
        row[j] /= other[j];
        row[i] -= row[j] * row[j];
        whitened_[i] -= row[j] * whitened_[j];
      }
      // Of what the leaves before tell, rounding may leave less than the prior adds. Then there is
      // nothing but the prior.
      if (!(row[i] >= 0.5 * inverse_leaf_variance)) {
        row[i] = inverse_leaf_variance;
        whitened_[i] = 0.0;
      }
      row[i] = std::sqrt(row[i]);
      whitened_[i] /= row[i];
      squares += whitened_[i] * whitened_[i];
      log_diagonal += det_log(row[i]);
    }
    const double log_prior =
        OBART_BUG(soft_prior_missing) ? 0.0 : 0.5 * det_log(inverse_leaf_variance);
    log_likelihood_ = 0.5 * squares - log_diagonal + static_cast<double>(n_) * log_prior;
  }

  std::size_t n_ = 0;
  std::vector<double> root_;  // lower triangle
  std::vector<double> whitened_;
  double log_likelihood_ = 0.0;
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
    now.reserve(n_leaves + 1);
    proposed.reserve(n_leaves + 1);
    outputs.reserve(n_leaves + 1);
    proposed_outputs.reserve(n_leaves + 1);
    values.reserve(n_leaves + 1);
    terms.reserve(2 * n_leaves);
  }
};

}  // namespace obart
