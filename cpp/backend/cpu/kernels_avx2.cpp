// The kernels for AVX2.
#include "backend/cpu/kernels_generic.h"

namespace obart {
const CpuKernels kCpuAvx2{route, apply_and_sum, assign, accumulate, accumulate_double};
}  // namespace obart
