// The normal distribution over arrays, for every machine.
#include "base/normal_lanes.h"

namespace obart {
const NormalKernels kNormalBaseline{normal_cdf, mixture, log_normal_cdf};
}  // namespace obart
