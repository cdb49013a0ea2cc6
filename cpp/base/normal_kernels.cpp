#include "base/normal_kernels.h"

namespace obart {

const NormalKernels& normal_kernels([[maybe_unused]] Simd level) {
#ifdef OBART_X86_SIMD
  if (level == Simd::avx512) return kNormalAvx512;
  if (level == Simd::avx2) return kNormalAvx2;
#endif
  return kNormalBaseline;
}

const NormalKernels& normal_kernels() { return normal_kernels(chosen_simd()); }

}  // namespace obart
