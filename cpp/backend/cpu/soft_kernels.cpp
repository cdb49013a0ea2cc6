#include "backend/cpu/soft_kernels.h"

namespace obart {

const SoftKernels& soft_kernels([[maybe_unused]] Simd level) {
#ifdef OBART_X86_SIMD
  if (level == Simd::avx512) return kSoftAvx512;
  if (level == Simd::avx2) return kSoftAvx2;
#endif
  return kSoftBaseline;
}

const SoftKernels& soft_kernels() { return soft_kernels(chosen_simd()); }

}  // namespace obart
