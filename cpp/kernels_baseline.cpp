#include "kernels_generic.h"

namespace obart {
const Kernels kKernelsBaseline{"baseline",
                               route,
                               fused,
                               assign,
                               accumulate,
                               accumulate_double,
                               lanes::normal_cdf,
                               lanes::mixture,
                               lanes::log_probit};
}  // namespace obart
