#include "kernels_generic.h"

namespace obart {
const Kernels kKernelsAvx2{"avx2",
                           route,
                           fused,
                           assign,
                           accumulate,
                           accumulate_double,
                           lanes::normal_cdf,
                           lanes::mixture,
                           lanes::log_probit};
}  // namespace obart
