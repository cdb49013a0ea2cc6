// y = 1(z > 0), z ~ N(offset + f, 1). Albert and Chib: given z, all else is regression.
#pragma once

#include "likelihood/likelihood.h"

namespace obart {

class Probit : public Likelihood {
 public:
  Probit(const Data& data, const Settings& settings);

  double first_sigma() const override { return 1.0; }
  double draw_prior_sigma(Rng&) const override { return 1.0; }
  bool draws_target() const override { return true; }
  void set_y(const double* y, Ensembles& ensembles) override;
  void prepare(Ensembles& ensembles, std::size_t, double, Rng& rng) override;
  void draw_scales(Ensembles&, double&, Rng&) override {}

  // Latents would hold f where it is, so the likelihood is that of the labels, which reads the rows
  // several times; and labels say less about the scale of f than outcomes do. The latents are stale
  // after the scaling, but the next sweep draws them before it uses them.
  Scaling scaling() const override { return {1024, 0.5}; }
  void begin_scaling(const Ensembles& ensembles, std::size_t, double) override;
  double log_scaled(double factor) const override;

 protected:
  double offset_;
  std::vector<std::uint8_t> label_;
  std::vector<float> fit_;  // if leaf_sd is sampled
};

}  // namespace obart
