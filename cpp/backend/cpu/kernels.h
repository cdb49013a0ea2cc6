// The loops over rows: plain arrays in, plain arrays out. One table of functions for each
// instruction set; all of them give the same bits, because each sum is kept in sixteen lanes, lanes
// are added in one fixed order, and no multiply-add is contracted.
#pragma once

#include <cstdint>

#include "backend/tasks.h"
#include "base/lanes.h"
#include "base/simd.h"

namespace obart {

// Where a pass writes its sums.
struct BlockSums {
  double* residual;  // [block * n_cells + cell]
  double* weight;    // the same, sums of the weights; null where there are none
};

struct CpuKernels {
  // Adds to the counts the rows that go right.
  void (*route)(const RouteTask& task, std::int64_t first_group, std::int64_t n_groups,
                RightCounts& counts);
  void (*apply_and_sum)(const PassTask& task, const BlockSums& sums, std::int64_t first_block,
                        std::int64_t last_block);
  // code = value where the bit is set.
  void (*assign)(std::uint8_t* code, const std::uint64_t* right, std::int64_t n_groups,
                 std::uint8_t value);
  // f += table[code]; sum (double) += table[code].
  void (*accumulate)(float* f, const std::uint8_t* code, const float* table, bool wide,
                     std::int64_t n_groups);
  void (*accumulate_double)(double* sum, const std::uint8_t* code, const float* table, bool wide,
                            std::int64_t n_groups);
};

const CpuKernels& cpu_kernels(Simd level);

extern const CpuKernels kCpuBaseline;
#ifdef OBART_X86_SIMD
extern const CpuKernels kCpuAvx2;
extern const CpuKernels kCpuAvx512;
#endif

}  // namespace obart
