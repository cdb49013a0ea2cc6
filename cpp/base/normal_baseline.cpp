// The normal distribution and Student's t over arrays, for every machine.
#include "base/normal_lanes.h"
#include "base/student_t_lanes.h"

namespace obart {
const NormalKernels kNormalBaseline{
    normal_cdf, mixture, log_normal_cdf, weighted_log_normal_cdf, log_interval, student_t_mixture};
}  // namespace obart
