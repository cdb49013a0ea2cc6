#include "draws/link.h"

#include <stdexcept>

#include "base/math.h"
#include "base/normal_kernels.h"

namespace obart {
namespace {

float log_term(float output) { return static_cast<float>(det_log(static_cast<double>(output))); }

void apply_probit(float* f, float offset, std::int64_t n) { normal_kernels().cdf(f, offset, n); }

template <class Map>
void apply_map(float* f, float offset, std::int64_t n, const Map& map) {
  for (std::int64_t i = 0; i < n; ++i)
    f[i] = static_cast<float>(map(static_cast<double>(f[i]) + static_cast<double>(offset)));
}

void apply_exp(float* f, float offset, std::int64_t n) {
  apply_map(f, offset, n, [](double x) { return det_exp(x); });
}

void apply_logit(float* f, float offset, std::int64_t n) {
  apply_map(f, offset, n, [](double x) { return 1.0 / (1.0 + det_exp(-x)); });
}

constexpr Link kLinks[] = {
    {"identity", nullptr, nullptr},     {"probit", nullptr, apply_probit},
    {"logit", nullptr, apply_logit},    {"exp", nullptr, apply_exp, true},
    {"log_product", log_term, nullptr}, {"product", log_term, apply_exp},
};

}  // namespace

const Link& find_link(const std::string& name) {
  std::string names;
  for (const Link& link : kLinks) {
    if (name == link.name) return link;
    names += std::string(names.empty() ? "'" : ", '") + link.name + "'";
  }
  throw std::invalid_argument("link must be one of " + names);
}

}  // namespace obart
