// The loops over rows: plain arrays in, plain arrays out, no model. One table of functions for each
// instruction set; all of them give the same bits, because each sum is kept in sixteen lanes (row i
// in lane i mod 16), lanes are added in one fixed order, and no multiply-add is contracted.
#pragma once

#include <cstdint>
#include <vector>

#include "data.h"
#include "presence.h"
#include "rule.h"

namespace obart {

inline constexpr int kLanes = 16;
inline constexpr int kNarrowCodes = 15;  // up to this many codes a table fits a register
inline constexpr int kTableSize = 256;   // entry 255 belongs to padding rows

// A rule to be evaluated on all rows of one tree.
struct RouteTask {
  struct Term {
    const float* column;
    float value;
  };
  RuleKind kind;
  bool missing_right;
  float cut;
  std::uint32_t n_terms;  // continuous
  const Term* terms;
  const std::uint32_t* column;  // categorical: codes of the rows
  const std::uint32_t* words;   //              bit 1: the level goes right
  std::uint32_t n_words;
  const std::uint8_t* code;  // leaf codes of the rows
  std::uint8_t left_code;    // only rows with one of these two codes are routed
  std::uint8_t right_code;
  const CodeMask* present;  // or null: unknown; codes of each block
  std::uint64_t* right;     // out: a bit a row

  bool concerns(std::int64_t block) const {
    return may_have(present, block, code_bit(left_code) | code_bit(right_code));
  }
};

enum class Side : std::uint8_t { both, left, right };

// A part of the finer partition: rows with this code, on this side of the proposed rule.
struct SumCell {
  std::uint8_t code;
  Side side;
};

// One pass over the residual: add tree m's change, then sum the residual over the cells of tree m
// + 1.
struct FusedTask {
  float* residual;
  const float* weight;  // or null
  std::int64_t n_groups;

  std::uint8_t* apply_code;          // or null: nothing to apply
  const std::uint64_t* apply_right;  // or null: no proposed rule, left tables only
  const float* left_delta;           // kTableSize entries
  const float* right_delta;
  int apply_codes;               // codes in apply_code are below this, or the padding's
  const std::uint8_t* left_map;  // or null: codes stay; kTableSize entries
  const std::uint8_t* right_map;
  CodeMask* apply_present;  // or null: unknown; codes of each block, kept right when codes change
  CodeMask apply_routed;    // codes with a proposed rule; blocks without them have no bits to read

  const std::uint8_t* sum_code;    // or null: nothing to sum
  const std::uint64_t* sum_right;  // or null; set only in rows whose code has a cell on the right
  const CodeMask* sum_present;     // as for the change
  CodeMask sum_routed;
  const SumCell* cells;
  std::int64_t n_cells;
  double* sums;     // [block * n_cells + cell]
  double* weights;  // the same, sums of the weights, where there are any
};

struct Kernels {
  const char* name;
  // Adds to counts[0], counts[1] the rows with left_code and right_code that go right.
  void (*route)(const RouteTask& task, std::int64_t first_group, std::int64_t n_groups,
                std::int64_t* counts);
  void (*fused)(const FusedTask& task, std::int64_t first_block, std::int64_t last_block);
  // code = value where the bit is set.
  void (*assign)(std::uint8_t* code, const std::uint64_t* right, std::int64_t n_groups,
                 std::uint8_t value);
  // f += table[code]; sum (double) += table[code].
  void (*accumulate)(float* f, const std::uint8_t* code, const float* table, bool wide,
                     std::int64_t n_groups);
  void (*accumulate_double)(double* sum, const std::uint8_t* code, const float* table, bool wide,
                            std::int64_t n_groups);
  // f = Phi(offset + f), n values.
  void (*normal_cdf)(float* f, float offset, std::int64_t n);
  // Of the mixture of n normals with equal weights: its density at x, and the probability of the
  // tail below x (sign 1) or above x (sign -1), with a small relative error.
  void (*mixture)(const float* mean, const float* inverse_sd, std::int64_t n, float x, float sign,
                  double* tail, double* density);
  // Log likelihood of n labels: the sum of log Phi(s (offset + factor f)), s = 1 for label 1 and -1
  // for label 0.
  double (*log_probit)(const float* f, const std::uint8_t* label, float offset, float factor,
                       std::int64_t n);
};

// The tables that this machine can run, best first.
std::vector<const Kernels*> available_kernels();

// The best of them, or the one that OBLIQUEBART_SIMD names.
const Kernels& kernels();

extern const Kernels kKernelsBaseline;
#ifdef OBART_HAVE_AVX2
extern const Kernels kKernelsAvx2;
#endif
#ifdef OBART_HAVE_AVX512
extern const Kernels kKernelsAvx512;
#endif

}  // namespace obart
