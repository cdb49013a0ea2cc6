// The normal distribution, Student's t and the logistic over arrays of floats, compiled for each
// instruction set.
#pragma once

#include <cstdint>

#include "base/even_student_t.h"
#include "base/simd.h"

namespace obart {

struct NormalKernels {
  // f = Phi(offset + f), n values.
  void (*cdf)(float* f, float offset, std::int64_t n);
  // Of the mixture of n normals with equal weights: its density at x, and the probability of the
  // tail below x (sign 1) or above x (sign -1), with a small relative error.
  void (*mixture)(const float* mean, const float* inverse_sd, std::int64_t n, float x, float sign,
                  double* tail, double* density);
  // The sum of log Phi(s (offset + factor f)), s = 1 for label 1 and -1 for label 0.
  double (*log_cdf)(const float* f, const std::uint8_t* label, float offset, float factor,
                    std::int64_t n);
  // The same, each row times its weight.
  double (*weighted_log_cdf)(const float* f, const std::uint8_t* label, const float* weight,
                             float offset, float factor, std::int64_t n);
  // The sum of log(Phi(high - factor f) - Phi(low - factor f)); low < high, either may be infinite.
  double (*log_interval)(const float* f, float factor, double low, double high, std::int64_t n);
  // As `mixture`, of Student's t.
  void (*student_t_mixture)(const EvenStudentT& t, const float* mean, const float* inverse_scale,
                            std::int64_t n, float x, float sign, double* tail, double* density);
  // The sum of weight log logistic(offset + factor f).
  double (*log_logistic)(const float* f, const float* offset, const float* weight, float factor,
                         std::int64_t n);
  // out = log(exp(a) + exp(b)); it may be one of them.
  void (*log_add_exp)(const float* a, const float* b, float* out, std::int64_t n);
};

// For the chosen instruction set.
const NormalKernels& normal_kernels();
const NormalKernels& normal_kernels(Simd level);

extern const NormalKernels kNormalBaseline;
#ifdef OBART_X86_SIMD
extern const NormalKernels kNormalAvx2;
extern const NormalKernels kNormalAvx512;
#endif

}  // namespace obart
