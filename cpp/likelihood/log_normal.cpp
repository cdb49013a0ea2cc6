// log T ~ N(f, sigma^2), perhaps censored.
#include "base/truncated_logistic.h"
#include "likelihood/censored.h"

namespace obart {
namespace {

class LogNormal final : public Censored {
 public:
  using Censored::Censored;

 protected:
  double noise_above(double a, Rng& rng) const override { return rng.normal_above(a); }
  double noise_between(double a, double b, Rng& rng) const override {
    return rng.normal_between(a, b);
  }
};

}  // namespace

std::unique_ptr<Likelihood> make_log_normal(const Data& data, const Settings& settings) {
  return std::make_unique<LogNormal>(data, settings);
}

}  // namespace obart
