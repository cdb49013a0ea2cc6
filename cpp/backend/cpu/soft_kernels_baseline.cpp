// The loops over the rows of soft trees, for every machine.
#include "backend/cpu/soft_lanes.h"

namespace obart {
const SoftKernels kSoftBaseline{divide, add, add_double, products};
}  // namespace obart
