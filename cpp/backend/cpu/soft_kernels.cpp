#include "backend/cpu/soft_kernels.h"

namespace obart {

const SoftKernels& soft_kernels() {
#ifdef OBART_X86_SIMD
  if (chosen_simd() == Simd::avx512) return kSoftAvx512;
  if (chosen_simd() == Simd::avx2) return kSoftAvx2;
#endif
  return kSoftBaseline;
}

}  // namespace obart
