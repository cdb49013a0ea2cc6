// The normal distribution over arrays, for AVX-512.
#include "base/normal_lanes.h"

namespace obart {
const NormalKernels kNormalAvx512{normal_cdf, mixture, log_normal_cdf};
}  // namespace obart
