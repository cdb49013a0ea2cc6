// The kernels for every machine.
#include "backend/cpu/kernels_generic.h"

namespace obart {
const CpuKernels kCpuBaseline{route, apply_and_sum, assign, accumulate, accumulate_double};
}  // namespace obart
