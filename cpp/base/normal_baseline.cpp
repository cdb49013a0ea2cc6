// The normal distribution, Student's t and the logistic over arrays, for every machine.
#include "base/logistic_lanes.h"
#include "base/normal_lanes.h"
#include "base/student_t_lanes.h"

namespace obart {
const NormalKernels kNormalBaseline{
    normal_cdf,   mixture,           log_normal_cdf, weighted_log_normal_cdf,
    log_interval, student_t_mixture, log_logistic,   log_add_exp};
}  // namespace obart
