// The loops over the rows of soft trees, for AVX2.
#include "backend/cpu/soft_lanes.h"

namespace obart {
const SoftKernels kSoftAvx2{divide, add, add_double, products};
}  // namespace obart
