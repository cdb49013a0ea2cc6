// A leaf's output under N(0, leaf_sd^2), rows with normal noise: sufficient statistics, marginal
// likelihood, draw.
#pragma once

#include <cmath>

#include "backend/tasks.h"
#include "backend/trees_task.h"
#include "base/planted_bugs.h"
#include "base/random.h"
#include "model/settings.h"

namespace obart {

class NormalLeaf {
 public:
  static constexpr const char* kName = "normal";
  static constexpr Combine kCombine = Combine::add;
  static constexpr float kFirstOutput = 0.0F;
  static constexpr bool kScaleIsConjugate = true;

  // Of the partial residuals in a set of rows, each weighted by its observation weight.
  struct Stats {
    double weight = 0.0;  // number of rows where there are no weights
    double sum = 0.0;
    Stats operator+(const Stats& other) const { return {weight + other.weight, sum + other.sum}; }
  };

  explicit NormalLeaf(const LeafSettings& settings)
      : correlation_(settings.output_correlation),
        fresh_(std::sqrt(1.0 - correlation_ * correlation_)) {}

  void set(double sigma, double leaf_sd) {
    inv_sigma2_ = 1.0 / (sigma * sigma);
    inv_tau2_ = OBART_BUG(leaf_sd_squared) ? 1.0 / leaf_sd : 1.0 / (leaf_sd * leaf_sd);
  }
  // The partial residual is the residual plus the old output.
  static Stats stats(const CellPass& cell, float old) {
    const double weight = cell.weight;
    return {weight, cell.sum + (OBART_BUG(partial_residual_without_old_output)
                                    ? 0.0
                                    : weight * static_cast<double>(old))};
  }
  static float delta(float old, float now) { return old - now; }
  static float term(float output) { return output; }
  static double residual(double target, double sum) { return target - sum; }

  double precision(const Stats& s) const { return s.weight * inv_sigma2_ + inv_tau2_; }  // P
  double score(const Stats& s) const { return s.sum * inv_sigma2_; }                     // Theta

  // Log of the second line of the paper's grow ratio: nx split into nxl and nxr.
  double log_split_gain(const Stats& nxl, const Stats& nxr) const {
    const Stats nx = nxl + nxr;
    const double nx_fit =
        OBART_BUG(theta_not_squared) ? score(nx) / (2.0 * precision(nx)) : fit(nx);
    return 0.5 * det_log(inv_tau2_ * precision(nx) / (precision(nxl) * precision(nxr))) + fit(nxl) +
           fit(nxr) - nx_fit;
  }
  // The same two leaves under another rule: the parent's terms cancel.
  double log_change_gain(const Stats& old_l, const Stats& old_r, const Stats& new_l,
                         const Stats& new_r) const {
    return 0.5 * det_log(precision(old_l) * precision(old_r) /
                         (precision(new_l) * precision(new_r))) +
           fit(new_l) + fit(new_r) - fit(old_l) - fit(old_r);
  }
  double inverse_variance() const { return inv_sigma2_; }     // of a row of weight one
  double inverse_leaf_variance() const { return inv_tau2_; }  // of an output, a priori
  // For a backend that updates the trees by itself.
  NormalOutputs parameters(bool uses_data) const {
    return {inv_sigma2_, correlation_, fresh_, keeps_deviations(), uses_data};
  }
  float draw(const Stats& s, Rng& rng) const { return output(s, rng.normal()); }
  static float draw_prior(double leaf_sd, Rng& rng) {
    return static_cast<float>(leaf_sd * rng.normal());
  }

  // An output is its conditional mean plus a standard normal deviation over the root of its
  // precision. Given the partial residual, deviations are independent of each other and of the
  // tree, and the acceptance does not depend on them. So they may be kept while the tree moves, and
  // then take any step that keeps the normal distribution.
  static constexpr bool kKeepsDeviations = true;
  bool keeps_deviations() const { return correlation_ != 0.0; }
  double deviation(const Stats& s, float output) const {
    const double p = precision(s);
    return (static_cast<double>(output) - score(s) / p) * std::sqrt(p);
  }
  double next_deviation(double d, Rng& rng) const {
    return correlation_ * d + (OBART_BUG(deviation_noise_full) ? 1.0 : fresh_) * rng.normal();
  }
  float output(const Stats& s, double deviation) const {
    const double p = precision(s);
    return static_cast<float>(score(s) / p + deviation / std::sqrt(p));
  }

 private:
  double fit(const Stats& s) const {
    const double theta = score(s);
    return theta * theta / (2.0 * precision(s));
  }

  double correlation_, fresh_;
  double inv_sigma2_ = 1.0;
  double inv_tau2_ = 1.0;
};

}  // namespace obart
