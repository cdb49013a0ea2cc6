#include "backend/cpu/kernels.h"

namespace obart {

const CpuKernels& cpu_kernels([[maybe_unused]] Simd level) {
#ifdef OBART_X86_SIMD
  if (level == Simd::avx512) return kCpuAvx512;
  if (level == Simd::avx2) return kCpuAvx2;
#endif
  return kCpuBaseline;
}

}  // namespace obart
