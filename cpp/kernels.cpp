#include "kernels.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace obart {
namespace {

bool can_run(const Kernels& table) {
#ifdef OBART_HAVE_AVX512
  if (&table == &kKernelsAvx512)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#endif
#ifdef OBART_HAVE_AVX2
  if (&table == &kKernelsAvx2) return __builtin_cpu_supports("avx2");
#endif
  return &table == &kKernelsBaseline;
}

const Kernels& choose() {
  const char* wanted = std::getenv("OBLIQUEBART_SIMD");
  for (const Kernels* table : available_kernels())
    if (wanted == nullptr || *wanted == '\0' || std::string(wanted) == table->name) return *table;
  throw std::runtime_error(std::string("OBLIQUEBART_SIMD=") + wanted +
                           " is not available here; use baseline, avx2 or avx512");
}

}  // namespace

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> tables{
#ifdef OBART_HAVE_AVX512
      &kKernelsAvx512,
#endif
#ifdef OBART_HAVE_AVX2
      &kKernelsAvx2,
#endif
      &kKernelsBaseline};
  std::erase_if(tables, [](const Kernels* table) { return !can_run(*table); });
  return tables;
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace obart
