// P(y = 1) = logistic(offset + f), by Pólya-Gamma augmentation (Polson, Scott and Windle 2013).
#include "likelihood/likelihood.h"
#include "likelihood/logistic_rows.h"

namespace obart {
namespace {

class Logit final : public Likelihood {
 public:
  Logit(const Data& data, const Settings& settings)
      : Likelihood(settings.likelihood),
        offset_(settings.likelihood.offset),
        rows_(data, !settings.ensembles[0].leaf.leaf_sd_fixed),
        label_(rows_.size()) {}

  double first_sigma() const override { return 1.0; }
  double draw_prior_sigma(Rng&) const override { return 1.0; }
  void set_weights(const double* weights, Ensembles&) override { rows_.set_weights(weights); }

  void set_y(const double* y, Ensembles& ensembles) override {
    rows_.begin(ensembles[0]);
    for (std::size_t row = 0; row < label_.size(); ++row) {
      label_[row] = y[row] > 0.5 ? 1 : 0;
      ensembles[0].target[row] = (label_[row] != 0 ? 2.0 : -2.0) - offset_;
    }
  }

  void prepare(Ensembles& ensembles, std::size_t, double, Rng& rng) override {
    rows_.draw_latents(
        ensembles[0], [&](std::size_t row) { return label_[row] != 0; },
        [&](std::size_t) { return offset_; }, rng);
  }

  void draw_scales(Ensembles&, double&, Rng&) override {}
  std::int64_t refresh_sweeps() const override { return LogisticRows::kRefreshSweeps; }

  // As for probit: the next sweep draws latents before it uses them.
  Scaling scaling() const override { return {1024, 0.5}; }
  void begin_scaling(const Ensembles& ensembles, std::size_t, double) override {
    for (std::size_t row = 0; row < label_.size(); ++row)
      rows_.keep(ensembles[0], row, label_[row] != 0, offset_);
  }
  double log_scaled(double factor) const override { return rows_.log_scaled(factor); }

 private:
  double offset_;
  LogisticRows rows_;
  std::vector<std::uint8_t> label_;
};

}  // namespace

std::unique_ptr<Likelihood> make_logit(const Data& data, const Settings& settings) {
  return std::make_unique<Logit>(data, settings);
}

}  // namespace obart
