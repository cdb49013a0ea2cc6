// y = 1(z > 0), z ~ N(offset + f, 1). Albert and Chib: given z, all else is regression.
#include "base/normal_kernels.h"
#include "base/planted_bugs.h"
#include "likelihood/likelihood.h"

namespace obart {
namespace {

class Probit final : public Likelihood {
 public:
  Probit(const Data& data, const Settings& settings)
      : Likelihood(settings.likelihood),
        offset_(settings.likelihood.offset),
        label_(static_cast<std::size_t>(data.n_rows())) {
    if (!settings.ensembles[0].leaf.leaf_sd_fixed) fit_.resize(label_.size());
  }

  double first_sigma() const override { return 1.0; }
  double draw_prior_sigma(Rng&) const override { return 1.0; }

  void set_y(const double* y, Ensembles& ensembles) override {
    for (std::size_t row = 0; row < label_.size(); ++row) {
      label_[row] = y[row] > 0.5 ? 1 : 0;
      ensembles[0].target[row] = (label_[row] != 0 ? 0.5 : -0.5) - offset_;
    }
  }

  // Latents z on the label's side of 0. The residual z - offset - f is the truncated noise itself.
  void prepare(Ensembles& ensembles, std::size_t, double, Rng& rng) override {
    double* target = ensembles[0].target.data();
    float* residual = ensembles[0].residual.data();
    for (std::size_t row = 0; row < label_.size(); ++row) {
      const double f = target[row] - static_cast<double>(residual[row]);
      const double mean = offset_ + f;
      const bool positive = (label_[row] != 0) != OBART_BUG(probit_sign_flipped);
      const double noise = positive ? rng.normal_above(-mean) : -rng.normal_above(mean);
      target[row] = f + noise;
      residual[row] = static_cast<float>(noise);
    }
  }

  void draw_scales(const Ensembles&, double&, Rng&) override {}

  // Latents would hold f where it is, so the likelihood is that of the labels, which reads the rows
  // several times; and labels say less about the scale of f than outcomes do. The latents are stale
  // after the scaling, but the next sweep draws them before it uses them.
  Scaling scaling() const override { return {1024, 0.5}; }
  void begin_scaling(const Ensembles& ensembles, std::size_t, double) override {
    const Ensemble& f = ensembles[0];
    for (std::size_t i = 0; i < fit_.size(); ++i)
      fit_[i] = static_cast<float>(f.target[i] - static_cast<double>(f.residual[i]));
  }
  double log_scaled(double factor) const override {
    if (OBART_BUG(scaling_labels_flipped)) factor = -factor;
    return normal_kernels().log_cdf(fit_.data(), label_.data(), static_cast<float>(offset_),
                                    static_cast<float>(factor),
                                    static_cast<std::int64_t>(label_.size()));
  }

 private:
  double offset_;
  std::vector<std::uint8_t> label_;
  std::vector<float> fit_;
};

}  // namespace

std::unique_ptr<Likelihood> make_probit(const Data& data, const Settings& settings) {
  return std::make_unique<Probit>(data, settings);
}

}  // namespace obart
