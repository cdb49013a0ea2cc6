// A leaf's output is a factor h ~ Gamma(shape, shape) of mean one, shape = 1 / leaf_sd^2: its log
// has a standard deviation near leaf_sd. The likelihood of the rows of a cell is h^count exp(-h
// sum). A factor of a rate is of this form, and a factor of a precision.
#pragma once

#include <algorithm>

#include "backend/tasks.h"
#include "base/math.h"
#include "base/planted_bugs.h"
#include "base/random.h"
#include "model/settings.h"

namespace obart {

class GammaLeaf {
 public:
  static constexpr Combine kCombine = Combine::multiply;
  static constexpr float kFirstOutput = 1.0F;
  static constexpr bool kScaleIsConjugate = false;
  static constexpr bool kKeepsDeviations = false;

  struct Stats {
    double count = 0.0;
    double sum = 0.0;
    Stats operator+(const Stats& other) const { return {count + other.count, sum + other.sum}; }
  };

  explicit GammaLeaf(const LeafSettings&) {}

  void set(double, double leaf_sd) {
    shape_ = shape(leaf_sd);
    log_prior_ = shape_ * det_log(shape_) - det_lgamma(shape_);
  }
  static float delta(float old, float now) { return now / old; }
  static float term(float output) {
    return static_cast<float>(det_log(static_cast<double>(output)));
  }
  static double residual(double target, double sum) { return target * det_exp(sum); }

  double log_split_gain(const Stats& l, const Stats& r) const {
    return log_marginal(l) + log_marginal(r) - log_marginal(l + r) +
           (OBART_BUG(gamma_prior_dropped) ? 0.0 : log_prior_);
  }
  double log_change_gain(const Stats& old_l, const Stats& old_r, const Stats& new_l,
                         const Stats& new_r) const {
    return log_marginal(new_l) + log_marginal(new_r) - log_marginal(old_l) - log_marginal(old_r);
  }
  float draw(const Stats& s, Rng& rng) const { return draw_factor(shape_, s, rng); }
  static float draw_prior(double leaf_sd, Rng& rng) { return draw_factor(shape(leaf_sd), {}, rng); }

  // Of the outputs of an ensemble.
  struct OutputSums {
    double n = 0.0, log = 0.0, sum = 0.0;
  };
  static void add_output(double output, double log_output, OutputSums& sums) {
    sums.n += 1.0;
    sums.log += log_output;
    sums.sum += output;
  }
  static double log_outputs(double leaf_sd, const OutputSums& sums) {
    const double a = shape(leaf_sd);
    return sums.n * (a * det_log(a) - det_lgamma(a)) + (a - 1.0) * sums.log - a * sums.sum;
  }

 private:
  // A leaf without rows may be far in the tail of a wide prior; factors stay within floats.
  static constexpr double kSmallest = 1e-15, kLargest = 1e15;

  static double shape(double leaf_sd) { return 1.0 / (leaf_sd * leaf_sd); }
  static float draw_factor(double prior, const Stats& s, Rng& rng) {
    const double count = OBART_BUG(gamma_count_dropped) ? 0.0 : s.count;
    const double h = rng.gamma(prior + count) / (prior + s.sum);
    return static_cast<float>(std::clamp(h, kSmallest, kLargest));
  }
  // Up to log_prior_.
  double log_marginal(const Stats& s) const {
    return det_lgamma(shape_ + s.count) - (shape_ + s.count) * det_log(shape_ + s.sum);
  }

  double shape_ = 1.0;
  double log_prior_ = 0.0;
};

// A factor of the precision of normal errors: sqrt(h) exp(-h r) for each row, r half its squared
// error times the precision.
class PrecisionLeaf : public GammaLeaf {
 public:
  static constexpr const char* kName = "precision";
  using GammaLeaf::GammaLeaf;
  // Rows have no weights: those of the errors are in the residual.
  static Stats stats(const CellPass& cell, float old) {
    return {(OBART_BUG(precision_count_whole) ? 1.0 : 0.5) * cell.n_rows,
            cell.sum / static_cast<double>(old)};
  }
};

// A factor of the rate of counts: h^y exp(-h r) for each row. The weight of a row is y + 1 and its
// residual the rate over y + 1, so that rows with y = 0 count too.
class RateLeaf : public GammaLeaf {
 public:
  static constexpr const char* kName = "rate";
  using GammaLeaf::GammaLeaf;
  static Stats stats(const CellPass& cell, float old) {
    const double rows = OBART_BUG(rate_rows_counted) ? 0.0 : cell.n_rows;
    return {cell.weight - rows, cell.sum / static_cast<double>(old)};
  }
};

}  // namespace obart
