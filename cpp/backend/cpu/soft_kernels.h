// The loops over the rows of soft trees, compiled for each instruction set. All give the same bits,
// as those of kernels.h.
#pragma once

#include <cstdint>
#include <span>

#include "backend/soft_tasks.h"
#include "base/simd.h"

namespace obart {

// A column of shares, and what it is multiplied by.
struct SharedOutput {
  const float* share;
  float output;
};

struct SoftKernels {
  // Divides the shares of n rows, a multiple of 64, from `first_row` of the gate's columns on.
  void (*divide)(const SoftGate& gate, std::int64_t first_row, std::int64_t n, const float* from,
                 float* left, float* right);
  // to = from + output * share + ..., in this order; `to` may be `from`.
  void (*add)(float* to, const float* from, std::span<const SharedOutput> terms, std::int64_t n);
  // to += output * share.
  void (*add_double)(double* to, const float* share, float output, std::int64_t n);
  // Products of columns and residual, as count_products says; n is at most a block.
  void (*products)(const SoftColumns& columns, const float* residual, const float* weight,
                   std::int64_t n, double* out);
};

const SoftKernels& soft_kernels(Simd level);
const SoftKernels& soft_kernels();  // for the chosen instruction set

extern const SoftKernels kSoftBaseline;
#ifdef OBART_X86_SIMD
extern const SoftKernels kSoftAvx2;
extern const SoftKernels kSoftAvx512;
#endif

}  // namespace obart
