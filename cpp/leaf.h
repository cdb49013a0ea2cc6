// A leaf's output under N(0, leaf_sd^2): sufficient statistics, marginal likelihood, draw.
#pragma once

#include <cmath>

#include "planted.h"
#include "rng.h"

namespace obart {

// Of the partial residuals in a set of rows, each weighted by its observation weight.
struct LeafStats {
  double weight = 0.0;  // number of rows where there are no weights
  double sum = 0.0;
  LeafStats operator+(const LeafStats& other) const {
    return {weight + other.weight, sum + other.sum};
  }
};

class LeafModel {
 public:
  explicit LeafModel(double correlation)
      : correlation_(correlation), fresh_(std::sqrt(1.0 - correlation * correlation)) {}
  void set(double sigma, double leaf_sd) {
    inv_sigma2_ = 1.0 / (sigma * sigma);
    inv_tau2_ = OBART_BUG(leaf_sd_squared) ? 1.0 / leaf_sd : 1.0 / (leaf_sd * leaf_sd);
  }
  double precision(const LeafStats& s) const { return s.weight * inv_sigma2_ + inv_tau2_; }  // P
  double score(const LeafStats& s) const { return s.sum * inv_sigma2_; }  // Theta

  // Log of the second line of the paper's grow ratio: nx split into nxl and nxr.
  double log_split_gain(const LeafStats& nxl, const LeafStats& nxr) const {
    const LeafStats nx = nxl + nxr;
    const double nx_fit =
        OBART_BUG(theta_not_squared) ? score(nx) / (2.0 * precision(nx)) : fit(nx);
    return 0.5 * det_log(inv_tau2_ * precision(nx) / (precision(nxl) * precision(nxr))) + fit(nxl) +
           fit(nxr) - nx_fit;
  }
  // The same two leaves under another rule: the parent's terms cancel.
  double log_change_gain(const LeafStats& old_l, const LeafStats& old_r, const LeafStats& new_l,
                         const LeafStats& new_r) const {
    return 0.5 * det_log(precision(old_l) * precision(old_r) /
                         (precision(new_l) * precision(new_r))) +
           fit(new_l) + fit(new_r) - fit(old_l) - fit(old_r);
  }
  double output(const LeafStats& s, double deviation) const {
    const double p = precision(s);
    return score(s) / p + deviation / std::sqrt(p);
  }
  double deviation(const LeafStats& s, float output) const {
    const double p = precision(s);
    return (static_cast<double>(output) - score(s) / p) * std::sqrt(p);
  }
  bool is_plain() const { return correlation_ == 0.0; }
  double next_deviation(double d, Rng& rng) const {
    return correlation_ * d + (OBART_BUG(deviation_noise_full) ? 1.0 : fresh_) * rng.normal();
  }

 private:
  double fit(const LeafStats& s) const {
    const double theta = score(s);
    return theta * theta / (2.0 * precision(s));
  }

  double correlation_, fresh_;
  double inv_sigma2_ = 1.0;
  double inv_tau2_ = 1.0;
};

}  // namespace obart
