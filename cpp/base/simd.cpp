#include "base/simd.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#ifdef OBART_X86_SIMD
#include <cpuid.h>
#endif

namespace obart {
namespace {

#ifdef OBART_X86_SIMD
// Asked of the processor: __builtin_cpu_supports needs a table in the compiler's runtime library,
// which not every Clang brings along.
struct Cpuid {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  explicit Cpuid(unsigned leaf) { __get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx); }
};

constexpr bool has_all(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

// The registers that the operating system saves (XCR0); only those may be used.
unsigned saved_registers() {
  if (!has_all(Cpuid(1).ecx, bit_OSXSAVE | bit_AVX)) return 0;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}
#endif

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
  constexpr unsigned kSaved256 = 0x06, kSaved512 = 0xe6;  // SSE, AVX; masks, upper halves
  const unsigned saved = saved_registers(), supported = Cpuid(7).ebx;
  if (has_all(saved, kSaved512) &&
      has_all(supported, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ))
    levels.push_back(Simd::avx512);
  if (has_all(saved, kSaved256) && has_all(supported, bit_AVX2) && has_all(Cpuid(1).ecx, bit_FMA))
    levels.push_back(Simd::avx2);
#endif
  levels.push_back(Simd::baseline);
  return levels;
}

Simd chosen_simd() {
  static const Simd chosen = choose();
  return chosen;
}

}  // namespace obart
