// The normal distribution over arrays, for AVX2.
#include "base/normal_lanes.h"

namespace obart {
const NormalKernels kNormalAvx2{normal_cdf, mixture, log_normal_cdf};
}  // namespace obart
