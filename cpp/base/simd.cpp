#include "base/simd.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace obart {
namespace {

Simd choose() {
  const char* wanted = std::getenv("OBLIQUEBART_SIMD");
  for (const Simd level : available_simd())
    if (wanted == nullptr || *wanted == '\0' || std::string(wanted) == simd_name(level))
      return level;
  throw std::runtime_error(std::string("OBLIQUEBART_SIMD=") + wanted +
                           " is not available here; use baseline, avx2 or avx512");
}

}  // namespace

const char* simd_name(Simd level) {
  switch (level) {
    case Simd::avx512:
      return "avx512";
    case Simd::avx2:
      return "avx2";
    default:
      return "baseline";
  }
}

std::vector<Simd> available_simd() {
  std::vector<Simd> levels;
#ifdef OBART_X86_SIMD
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    levels.push_back(Simd::avx512);
  if (__builtin_cpu_supports("avx2")) levels.push_back(Simd::avx2);
#endif
  levels.push_back(Simd::baseline);
  return levels;
}

Simd chosen_simd() {
  static const Simd chosen = choose();
  return chosen;
}

}  // namespace obart
