// A leaf's output is a factor of the variance, h ~ Inv-Gamma(leaf_shape, leaf_rate). The target is
// a squared error, the residual that over the product of all trees' factors.
#pragma once

#include <cmath>

#include "backend/tasks.h"
#include "base/random.h"
#include "model/settings.h"

namespace obart {

class VarianceLeaf {
 public:
  static constexpr const char* kName = "variance";
  static constexpr Combine kCombine = Combine::multiply;
  static constexpr float kFirstOutput = 1.0F;
  static constexpr bool kHasScale = false;
  static constexpr bool kKeepsDeviations = false;

  // Of the squared errors over the other trees' factors.
  struct Stats {
    double n_rows = 0.0;
    double sum = 0.0;
    Stats operator+(const Stats& other) const { return {n_rows + other.n_rows, sum + other.sum}; }
  };

  explicit VarianceLeaf(const LeafSettings& settings)
      : shape_(settings.leaf_shape), rate_(settings.leaf_rate) {}

  void set(double, double) {}
  static Stats stats(double n_rows, double sum, float old) {
    return {n_rows, sum * static_cast<double>(old)};
  }
  static float delta(float old, float now) { return old / now; }
  static float term(float output) { return std::log(output); }
  static double residual(double target, double sum) { return target * std::exp(-sum); }

  double log_split_gain(const Stats& l, const Stats& r) const {
    return log_marginal(l) + log_marginal(r) - log_marginal(l + r);
  }
  double log_change_gain(const Stats& old_l, const Stats& old_r, const Stats& new_l,
                         const Stats& new_r) const {
    return log_marginal(new_l) + log_marginal(new_r) - log_marginal(old_l) - log_marginal(old_r);
  }
  float draw(const Stats& s, Rng& rng) const {
    return static_cast<float>((rate_ + 0.5 * s.sum) / rng.gamma(shape_ + 0.5 * s.n_rows));
  }
  float draw_prior(double, Rng& rng) const { return draw({}, rng); }

 private:
  double log_marginal(const Stats& s) const {
    const double shape = shape_ + 0.5 * s.n_rows;
    return std::lgamma(shape) - std::lgamma(shape_) + shape_ * std::log(rate_) -
           shape * std::log(rate_ + 0.5 * s.sum);
  }

  double shape_, rate_;
};

}  // namespace obart
