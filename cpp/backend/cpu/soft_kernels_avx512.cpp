// The loops over the rows of soft trees, for AVX-512.
#include "backend/cpu/soft_lanes.h"

namespace obart {
const SoftKernels kSoftAvx512{divide, add, add_double, products};
}  // namespace obart
