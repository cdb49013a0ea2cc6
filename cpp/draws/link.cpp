#include "draws/link.h"

#include <stdexcept>

#include "base/normal_kernels.h"

namespace obart {
namespace {

void apply_probit(float* f, float offset, std::int64_t n) { normal_kernels().cdf(f, offset, n); }

constexpr Link kLinks[] = {
    {"identity", nullptr},
    {"probit", apply_probit},
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
