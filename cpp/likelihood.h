// What the residual is the residual of: the outcome (Gaussian) or the latent utilities (probit).
#pragma once

#include <cstdint>
#include <vector>

#include "aligned.h"
#include "data.h"
#include "rng.h"
#include "settings.h"

namespace obart {

class Likelihood {
 public:
  // y: standardised outcome, or 0/1 for probit. weights: or null; row i has variance sigma^2 / w_i.
  Likelihood(const Data& data, const Settings& settings, const double* y, const double* weights);

  void set_y(const double* y);
  void set_target(const double* target);
  bool is_off() const { return settings_.likelihood == LikelihoodKind::none; }
  const float* weight() const { return weight_.size() > 0 ? weight_.data() : nullptr; }
  const double* target() const { return target_.data(); }  // residual = target - sum of trees

  // Before the trees are updated. Probit: draws the latents, and the residual with them.
  void draw_latents(float* residual, Rng& rng);
  // Sums of w t f and w f^2 over the rows, of the target t and the ensemble's f = t - residual.
  struct FitSums {
    double target_fit = 0.0, fit_fit = 0.0;
  };
  FitSums fit_sums(const float* residual) const;
  // Probit: the log likelihood of the labels, latents integrated out, where f is multiplied by a
  // factor; f is that of the last take_fit.
  void take_fit(const float* residual);
  double log_probit(double factor) const;
  // The residual after f has been multiplied by a factor.
  void stretch(float* residual, double factor) const;
  // After. Gaussian: draws sigma.
  void draw_sigma(const float* residual, double& sigma, Rng& rng) const;

 private:
  const Settings& settings_;
  std::int64_t n_rows_;
  AlignedBuffer<double> target_;
  AlignedBuffer<float> weight_;
  std::vector<std::uint8_t> label_;  // probit
  std::vector<float> fit_;           // probit
};

}  // namespace obart
