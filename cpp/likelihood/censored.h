// Accelerated failure times: log T = f + sigma e. Of a row is known that log T lies between two
// limits: equal ones if it was observed, or one of them beyond kNoLimit if it was censored on the
// right or on the left. The log times that were not observed are latents.
#pragma once

#include <cstdint>
#include <vector>

#include "likelihood/likelihood.h"

namespace obart {

class Censored : public Likelihood {
 public:
  // Limits of at least this magnitude are none.
  static constexpr double kNoLimit = 1e299;

  Censored(const Data& data, const Settings& settings);

  std::size_t n_columns() const override { return 2; }
  void set_weights(const double* weights, Ensembles& ensembles) override;
  void set_y(const double* y, Ensembles& ensembles) override;
  void prepare(Ensembles& ensembles, std::size_t e, double sigma, Rng& rng) override;
  void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) override;

 protected:
  // Noise e of a row that was not observed, above a or between two limits.
  virtual double noise_above(double a, Rng& rng) const = 0;
  virtual double noise_between(double a, double b, Rng& rng) const = 0;

  std::size_t n_rows() const { return lower_.size(); }

 private:
  double draw_noise(std::size_t row, double f, double sigma, Rng& rng) const;

  std::vector<double> lower_, upper_;
  std::vector<std::size_t> latent_;  // the rows that were not observed
};

}  // namespace obart
