// The kernels in vector extensions of GCC and Clang: the compiler maps sixteen lanes to whatever
// the target has (SSE2, AVX2, NEON). Included by one source file per instruction set.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels_normal.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions here are inlined: no ABI is crossed

namespace obart {
namespace {

using VFloat = float __attribute__((vector_size(64)));
using VInt = std::int32_t __attribute__((vector_size(64)));
using VByte = std::uint8_t __attribute__((vector_size(16)));

#define OBART_INLINE inline __attribute__((always_inline))

template <class V, class T>
OBART_INLINE void load(V& v, const T* p) {
  std::memcpy(&v, p, sizeof(V));
}
template <class V, class T>
OBART_INLINE void store(T* p, const V& v) {
  std::memcpy(p, &v, sizeof(V));
}

OBART_INLINE void load_codes(VInt& codes, const std::uint8_t* p) {
  VByte bytes;
  load(bytes, p);
  codes = __builtin_convertvector(bytes, VInt);
}

// All ones in the lanes whose bit is set.
OBART_INLINE void expand(VInt& mask, std::uint64_t bits) {
  const VInt lane_bit = {1,      2,      4,       8,       16,      32,      64,      128,
                         1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};
  const auto word = static_cast<std::int32_t>(bits & 0xffffU);
  mask = ((VInt{} + word) & lane_bit) != 0;
}

OBART_INLINE std::uint64_t compress(const VInt& mask) {
#if defined(__SSE2__)
  __m128 part[4];
  std::memcpy(part, &mask, sizeof(mask));
  return static_cast<std::uint64_t>(_mm_movemask_ps(part[0]) | _mm_movemask_ps(part[1]) << 4 |
                                    _mm_movemask_ps(part[2]) << 8 | _mm_movemask_ps(part[3]) << 12);
#else
  std::uint64_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= static_cast<std::uint64_t>(mask[i] & 1) << i;
  return bits;
#endif
}

template <bool Wide>
OBART_INLINE void lookup(VFloat& out, const float* table, const std::uint8_t* code) {
#if defined(__AVX2__)
  if constexpr (!Wide) {
    const __m256 low = _mm256_loadu_ps(table);
    const __m256 high = _mm256_loadu_ps(table + 8);
    __m256 half[2];
    for (int h = 0; h < 2; ++h) {
      const __m256i index =
          _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(code + 8 * h)));
      const __m256 from_high = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
      half[h] = _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, index),
                                 _mm256_permutevar8x32_ps(high, index), from_high);
    }
    std::memcpy(&out, half, sizeof(out));
    return;
  }
#endif
  float values[kLanes];
  for (int i = 0; i < kLanes; ++i) values[i] = table[code[i]];
  std::memcpy(&out, values, sizeof(out));
}

OBART_INLINE void keep(VFloat& out, const VFloat& value, const VInt& mask) {
  out = reinterpret_cast<VFloat>(reinterpret_cast<VInt>(value) & mask);
}

// ---- route -------------------------------------------------------------------------------------

OBART_INLINE std::uint64_t side_continuous(const RouteTask& task, std::int64_t row) {
  VFloat x;
  load(x, task.terms[0].column + row);
  VFloat score = task.terms[0].value * x;
  for (std::uint32_t k = 1; k < task.n_terms; ++k) {
    load(x, task.terms[k].column + row);
    score = score + task.terms[k].value * x;
  }
  // A missing value makes the score NaN, which compares false.
  const VInt right = task.missing_right ? ~(score < task.cut) : (score >= task.cut);
  return compress(right);
}

OBART_INLINE std::uint64_t side_categorical(const RouteTask& task, std::int64_t row) {
  std::uint64_t bits = 0;
  for (int i = 0; i < kLanes; ++i) {
    const std::uint32_t level = task.column[row + i];
    bits |= static_cast<std::uint64_t>((task.words[level / 32] >> (level % 32)) & 1U) << i;
  }
  return bits;
}

void route(const RouteTask& task, std::int64_t first_group, std::int64_t n_groups,
           std::int64_t* counts) {
  const bool two_codes = task.left_code != task.right_code;
  for (std::int64_t g = first_group; g < first_group + n_groups; ++g) {
    std::uint64_t side = 0;
    std::uint64_t in_left = 0;
    std::uint64_t in_right = 0;
    for (int q = 0; q < 4; ++q) {
      const std::int64_t row = g * kGroupRows + q * kLanes;
      VInt codes;
      load_codes(codes, task.code + row);
      std::uint64_t here = 0;
      if (task.kind == RuleKind::categorical)
        here = side_categorical(task, row);
      else if (task.n_terms > 0)
        here = side_continuous(task, row);
      side |= here << (q * kLanes);
      in_left |= compress(codes == static_cast<std::int32_t>(task.left_code)) << (q * kLanes);
      if (two_codes)
        in_right |= compress(codes == static_cast<std::int32_t>(task.right_code)) << (q * kLanes);
    }
    counts[0] += std::popcount(side & in_left);
    counts[1] += std::popcount(side & in_right);
    task.right[g] = side & (in_left | in_right);
  }
}

// ---- fused pass --------------------------------------------------------------------------------

template <bool Wide>
OBART_INLINE void change_of(VFloat& delta, const FusedTask& task, std::int64_t row,
                            std::uint64_t bits) {
  lookup<Wide>(delta, task.left_delta, task.apply_code + row);
  if (task.apply_right == nullptr) return;
  VFloat other;
  lookup<Wide>(other, task.right_delta, task.apply_code + row);
  VInt mask;
  expand(mask, bits);
  delta = reinterpret_cast<VFloat>((reinterpret_cast<VInt>(delta) & ~mask) |
                                   (reinterpret_cast<VInt>(other) & mask));
}

template <int NumCells, bool Weighted>
void fused_block(const FusedTask& task, bool with_apply, std::int64_t first_cell,
                 std::int64_t first_group, std::int64_t n_groups, double* sums, double* weights) {
  constexpr int n_slots = NumCells > 0 ? NumCells : 1;
  VFloat acc[n_slots] = {};
  VFloat acc_weight[Weighted ? n_slots : 1] = {};
  lanes::SideMask side[n_slots];
  std::int32_t cell_code[n_slots];
  for (int c = 0; c < NumCells; ++c) {
    side[c] = lanes::side_mask(task.cells[first_cell + c].side);
    cell_code[c] = task.cells[first_cell + c].code;
  }
  for (std::int64_t g = first_group; g < first_group + n_groups; ++g) {
    const std::uint64_t apply_bits = task.apply_right != nullptr ? task.apply_right[g] : 0;
    const std::uint64_t sum_bits = task.sum_right != nullptr ? task.sum_right[g] : 0;
    for (int q = 0; q < 4; ++q) {
      const std::int64_t row = g * kGroupRows + q * kLanes;
      VFloat r;
      load(r, task.residual + row);
      if (with_apply) {
        VFloat delta;
        if (task.apply_wide)
          change_of<true>(delta, task, row, apply_bits >> (q * kLanes));
        else
          change_of<false>(delta, task, row, apply_bits >> (q * kLanes));
        r = r + delta;
        store(task.residual + row, r);
      }
      if constexpr (NumCells > 0) {
        VInt codes;
        load_codes(codes, task.sum_code + row);
        VFloat w = {};
        if constexpr (Weighted) {
          load(w, task.weight + row);
          r = r * w;
        }
        for (int c = 0; c < NumCells; ++c) {
          VInt mask = codes == cell_code[c];
          if (side[c].a != 0) {
            VInt on_side;
            expand(on_side, ((sum_bits & side[c].a) ^ side[c].b) >> (q * kLanes));
            mask = mask & on_side;
          }
          VFloat part;
          keep(part, r, mask);
          acc[c] = acc[c] + part;
          if constexpr (Weighted) {
            keep(part, w, mask);
            acc_weight[c] = acc_weight[c] + part;
          }
        }
      }
    }
  }
  for (int c = 0; c < NumCells; ++c) {
    float lane[kLanes];
    store(lane, acc[c]);
    sums[c] = lanes::reduce(lane);
    if constexpr (Weighted) {
      store(lane, acc_weight[c]);
      weights[c] = lanes::reduce(lane);
    }
  }
}

template <bool Weighted>
void fused_range(const FusedTask& task, std::int64_t first_block, std::int64_t last_block) {
  using Block =
      void (*)(const FusedTask&, bool, std::int64_t, std::int64_t, std::int64_t, double*, double*);
  static constexpr Block by_cells[lanes::kMaxCells + 1] = {
      fused_block<0, Weighted>, fused_block<1, Weighted>, fused_block<2, Weighted>,
      fused_block<3, Weighted>, fused_block<4, Weighted>, fused_block<5, Weighted>,
      fused_block<6, Weighted>, fused_block<7, Weighted>, fused_block<8, Weighted>};
  lanes::for_blocks(
      task, first_block, last_block,
      [&](int n_cells, bool with_apply, std::int64_t first_cell, std::int64_t first_group,
          std::int64_t n_groups, double* sums, double* weights) {
        by_cells[n_cells](task, with_apply, first_cell, first_group, n_groups, sums, weights);
        if (with_apply && task.left_map != nullptr)
          lanes::remap_plain(task.apply_code + first_group * kGroupRows,
                             task.apply_right != nullptr ? task.apply_right + first_group : nullptr,
                             task.left_map, task.right_map, n_groups);
      });
}

void fused(const FusedTask& task, std::int64_t first_block, std::int64_t last_block) {
  if (task.weight != nullptr)
    fused_range<true>(task, first_block, last_block);
  else
    fused_range<false>(task, first_block, last_block);
}

// ---- prediction and refresh --------------------------------------------------------------------

void assign(std::uint8_t* code, const std::uint64_t* right, std::int64_t n_groups,
            std::uint8_t value) {
  for (std::int64_t g = 0; g < n_groups; ++g) {
    if (right[g] == 0) continue;
    std::uint8_t* c = code + g * kGroupRows;
    for (int i = 0; i < kGroupRows; ++i) c[i] = ((right[g] >> i) & 1U) != 0 ? value : c[i];
  }
}

template <bool Wide>
void accumulate_as(float* f, const std::uint8_t* code, const float* table, std::int64_t n_groups) {
  for (std::int64_t row = 0; row < n_groups * kGroupRows; row += kLanes) {
    VFloat sum;
    VFloat value;
    load(sum, f + row);
    lookup<Wide>(value, table, code + row);
    store(f + row, VFloat(sum + value));
  }
}
void accumulate(float* f, const std::uint8_t* code, const float* table, bool wide,
                std::int64_t n_groups) {
  if (wide)
    accumulate_as<true>(f, code, table, n_groups);
  else
    accumulate_as<false>(f, code, table, n_groups);
}

void accumulate_double(double* sum, const std::uint8_t* code, const float* table, bool /*wide*/,
                       std::int64_t n_groups) {
  for (std::int64_t i = 0; i < n_groups * kGroupRows; ++i)
    sum[i] += static_cast<double>(table[code[i]]);
}

}  // namespace
}  // namespace obart

#pragma GCC diagnostic pop
