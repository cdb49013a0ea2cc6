// The kernels for AVX-512: 64 rows at a time, a comparison of 64 codes is one 64-bit mask.
#if defined(__GNUC__) && !defined(__clang__)
// False alarms inside the intrinsics of GCC 12.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <bit>

#include "kernels_normal.h"

namespace obart {
namespace {

#define OBART_INLINE inline __attribute__((always_inline))

namespace lanes {

// The bits of a group that belong to a cell, given those with its code: eq & ((right & a) ^ b).
struct SideMask {
  std::uint64_t a, b;
};
inline SideMask side_mask(Side side) {
  switch (side) {
    case Side::left:
      return {~std::uint64_t{0}, ~std::uint64_t{0}};
    case Side::right:
      return {~std::uint64_t{0}, 0};
    default:
      return {0, ~std::uint64_t{0}};
  }
}

inline constexpr std::int64_t kMaxCells = 8;  // summed in one go; more cells take more passes

// Runs `pass(n_cells, with_apply, first_cell, first_group, n_groups, sums, weights)` over the
// blocks.
template <class Pass>
void for_blocks(const FusedTask& task, std::int64_t first_block, std::int64_t last_block,
                const Pass& pass) {
  for (std::int64_t block = first_block; block < last_block; ++block) {
    const std::int64_t first_group = block * kBlockGroups;
    const std::int64_t n_groups = std::min(kBlockGroups, task.n_groups - first_group);
    bool with_apply = task.apply_code != nullptr;
    std::int64_t first_cell = 0;
    const std::int64_t n_cells = task.sum_code != nullptr ? task.n_cells : 0;
    do {
      const std::int64_t here = std::min(n_cells - first_cell, kMaxCells);
      pass(static_cast<int>(here), with_apply, first_cell, first_group, n_groups,
           task.sums + block * task.n_cells + first_cell,
           task.weights != nullptr ? task.weights + block * task.n_cells + first_cell : nullptr);
      with_apply = false;
      first_cell += here;
    } while (first_cell < n_cells);
  }
}

}  // namespace lanes

OBART_INLINE __m512i load_codes(const std::uint8_t* p) {
  return _mm512_loadu_si512(static_cast<const void*>(p));
}
OBART_INLINE __mmask16 quarter(std::uint64_t bits, int q) {
  return static_cast<__mmask16>(bits >> (q * kLanes));
}

// ---- route -------------------------------------------------------------------------------------

template <bool MissingRight>
OBART_INLINE std::uint64_t side_continuous(const RouteTask& task, std::int64_t row) {
  const __m512 cut = _mm512_set1_ps(task.cut);
  __m512 score[4];
  const __m512 first = _mm512_set1_ps(task.terms[0].value);
  for (int q = 0; q < 4; ++q)
    score[q] = _mm512_mul_ps(first, _mm512_loadu_ps(task.terms[0].column + row + q * kLanes));
  for (std::uint32_t k = 1; k < task.n_terms; ++k) {
    const __m512 value = _mm512_set1_ps(task.terms[k].value);
    const float* column = task.terms[k].column + row;
    for (int q = 0; q < 4; ++q)
      score[q] =
          _mm512_add_ps(score[q], _mm512_mul_ps(value, _mm512_loadu_ps(column + q * kLanes)));
  }
  // A missing value makes the score NaN: "not less" is true for it, "greater or equal" is not.
  constexpr int op = MissingRight ? _CMP_NLT_UQ : _CMP_GE_OQ;
  std::uint64_t side = 0;
  for (int q = 0; q < 4; ++q)
    side |= static_cast<std::uint64_t>(_mm512_cmp_ps_mask(score[q], cut, op)) << (q * kLanes);
  return side;
}

OBART_INLINE std::uint64_t side_categorical(const RouteTask& task, std::int64_t row,
                                            __m512i first_words) {
  std::uint64_t side = 0;
  for (int q = 0; q < 4; ++q) {
    const __m512i level = _mm512_loadu_si512(task.column + row + q * kLanes);
    const __m512i index = _mm512_srli_epi32(level, 5);
    const __m512i word = task.n_words <= kLanes ? _mm512_permutexvar_epi32(index, first_words)
                                                : _mm512_i32gather_epi32(index, task.words, 4);
    const __m512i shift = _mm512_and_si512(level, _mm512_set1_epi32(31));
    const __mmask16 bit =
        _mm512_test_epi32_mask(_mm512_srlv_epi32(word, shift), _mm512_set1_epi32(1));
    side |= static_cast<std::uint64_t>(bit) << (q * kLanes);
  }
  return side;
}

template <class SideOf>
OBART_INLINE void route_with(const RouteTask& task, std::int64_t first_group, std::int64_t n_groups,
                             std::int64_t* counts, const SideOf& side_of) {
  const __m512i left = _mm512_set1_epi8(static_cast<char>(task.left_code));
  const __m512i right = _mm512_set1_epi8(static_cast<char>(task.right_code));
  const bool two_codes = task.left_code != task.right_code;
  std::int64_t n_left = 0;
  std::int64_t n_right = 0;
  for (std::int64_t g = first_group; g < first_group + n_groups; ++g) {
    const __m512i codes = load_codes(task.code + g * kGroupRows);
    const std::uint64_t side = side_of(g * kGroupRows);
    const std::uint64_t in_left = side & _mm512_cmpeq_epi8_mask(codes, left);
    const std::uint64_t in_right = two_codes ? side & _mm512_cmpeq_epi8_mask(codes, right) : 0;
    n_left += std::popcount(in_left);
    n_right += std::popcount(in_right);
    task.right[g] = in_left | in_right;
  }
  counts[0] += n_left;
  counts[1] += n_right;
}

void route(const RouteTask& task, std::int64_t first_group, std::int64_t n_groups,
           std::int64_t* counts) {
  if (task.kind == RuleKind::categorical) {
    const auto n_first = std::min<std::uint32_t>(task.n_words, kLanes);
    const __m512i words =
        _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1U << n_first) - 1U), task.words);
    route_with(task, first_group, n_groups, counts,
               [&](std::int64_t row) { return side_categorical(task, row, words); });
  } else if (task.n_terms == 0) {
    route_with(task, first_group, n_groups, counts, [](std::int64_t) { return std::uint64_t{0}; });
  } else if (task.missing_right) {
    route_with(task, first_group, n_groups, counts,
               [&](std::int64_t row) { return side_continuous<true>(task, row); });
  } else {
    route_with(task, first_group, n_groups, counts,
               [&](std::int64_t row) { return side_continuous<false>(task, row); });
  }
}

// ---- fused pass --------------------------------------------------------------------------------

OBART_INLINE double reduce(__m512 v) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
  const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
  const __m512d eight = _mm512_add_pd(low, high);
  const __m256d four =
      _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

enum class Apply { none, plain, split, wide };

OBART_INLINE __m512 wide_lookup(const float* table, const std::uint8_t* code) {
  const __m512i index =
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(code)));
  return _mm512_i32gather_ps(index, table, 4);
}
OBART_INLINE __m512i code_index(const std::uint8_t* code) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(code)));
}

template <int NumCells, bool Weighted, Apply How>
void fused_block(const FusedTask& task, std::int64_t first_cell, std::int64_t first_group,
                 std::int64_t n_groups, double* sums, double* weights) {
  constexpr int n_slots = NumCells > 0 ? NumCells : 1;
  __m512 acc[n_slots];
  __m512 acc_weight[Weighted ? n_slots : 1];
  __m512i cell_code[n_slots];
  lanes::SideMask side[n_slots];
  for (int c = 0; c < NumCells; ++c) {
    acc[c] = _mm512_setzero_ps();
    if constexpr (Weighted) acc_weight[c] = _mm512_setzero_ps();
    cell_code[c] = _mm512_set1_epi8(static_cast<char>(task.cells[first_cell + c].code));
    side[c] = lanes::side_mask(task.cells[first_cell + c].side);
  }
  const __m512 left_delta =
      How == Apply::none ? _mm512_setzero_ps() : _mm512_loadu_ps(task.left_delta);
  const __m512 right_delta =
      How == Apply::split ? _mm512_loadu_ps(task.right_delta) : _mm512_setzero_ps();

  for (std::int64_t g = first_group; g < first_group + n_groups; ++g) {
    const std::int64_t row = g * kGroupRows;
    __m512 r[4];
    for (int q = 0; q < 4; ++q) r[q] = _mm512_loadu_ps(task.residual + row + q * kLanes);
    if constexpr (How != Apply::none) {
      std::uint64_t bits = 0;
      if constexpr (How == Apply::split) bits = task.apply_right[g];
      if constexpr (How == Apply::wide)
        bits = task.apply_right != nullptr ? task.apply_right[g] : 0;
      for (int q = 0; q < 4; ++q) {
        const std::uint8_t* code = task.apply_code + row + q * kLanes;
        __m512 delta;
        if constexpr (How == Apply::wide) {
          delta = _mm512_mask_blend_ps(quarter(bits, q), wide_lookup(task.left_delta, code),
                                       wide_lookup(task.right_delta, code));
        } else {
          // The low four bits of a code choose the entry; padding rows (255) find entry 15, zero.
          const __m512i index = code_index(code);
          delta = _mm512_permutexvar_ps(index, left_delta);
          if constexpr (How == Apply::split)
            delta = _mm512_mask_permutexvar_ps(delta, quarter(bits, q), index, right_delta);
        }
        r[q] = _mm512_add_ps(r[q], delta);
        _mm512_storeu_ps(task.residual + row + q * kLanes, r[q]);
      }
    }
    if constexpr (NumCells > 0) {
      __m512 w[4];
      if constexpr (Weighted) {
        for (int q = 0; q < 4; ++q) {
          w[q] = _mm512_loadu_ps(task.weight + row + q * kLanes);
          r[q] = _mm512_mul_ps(r[q], w[q]);
        }
      }
      const __m512i codes = load_codes(task.sum_code + row);
      const std::uint64_t bits = task.sum_right != nullptr ? task.sum_right[g] : 0;
      for (int c = 0; c < NumCells; ++c) {
        const std::uint64_t mask =
            _mm512_cmpeq_epi8_mask(codes, cell_code[c]) & ((bits & side[c].a) ^ side[c].b);
        for (int q = 0; q < 4; ++q) {
          acc[c] = _mm512_mask_add_ps(acc[c], quarter(mask, q), acc[c], r[q]);
          if constexpr (Weighted)
            acc_weight[c] =
                _mm512_mask_add_ps(acc_weight[c], quarter(mask, q), acc_weight[c], w[q]);
        }
      }
    }
  }
  for (int c = 0; c < NumCells; ++c) {
    sums[c] = reduce(acc[c]);
    if constexpr (Weighted) weights[c] = reduce(acc_weight[c]);
  }
}

OBART_INLINE void remap_narrow(std::uint8_t* code, const std::uint64_t* right,
                               const std::uint8_t* left_map, const std::uint8_t* right_map,
                               std::int64_t n_groups) {
  const __m512i left =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(left_map)));
  const __m512i other =
      _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(right_map)));
  const __m512i padding = _mm512_set1_epi8(static_cast<char>(0xff));
  for (std::int64_t g = 0; g < n_groups; ++g) {
    const __m512i codes = load_codes(code + g * kGroupRows);
    const __mmask64 real = _mm512_cmpneq_epi8_mask(codes, padding);
    const __mmask64 bits = right != nullptr ? right[g] : 0;
    __m512i mapped = _mm512_mask_shuffle_epi8(codes, real, left, codes);
    mapped = _mm512_mask_shuffle_epi8(mapped, real & bits, other, codes);
    _mm512_storeu_si512(static_cast<void*>(code + g * kGroupRows), mapped);
  }
}

using Block = void (*)(const FusedTask&, std::int64_t, std::int64_t, std::int64_t, double*,
                       double*);

template <bool Weighted, Apply How>
Block block_for(int n_cells) {
  static constexpr Block table[lanes::kMaxCells + 1] = {
      fused_block<0, Weighted, How>, fused_block<1, Weighted, How>, fused_block<2, Weighted, How>,
      fused_block<3, Weighted, How>, fused_block<4, Weighted, How>, fused_block<5, Weighted, How>,
      fused_block<6, Weighted, How>, fused_block<7, Weighted, How>, fused_block<8, Weighted, How>};
  return table[n_cells];
}

template <bool Weighted>
Block choose_block(const FusedTask& task, int n_cells, bool with_apply) {
  if (!with_apply) return block_for<Weighted, Apply::none>(n_cells);
  if (task.apply_wide) return block_for<Weighted, Apply::wide>(n_cells);
  if (task.apply_right != nullptr) return block_for<Weighted, Apply::split>(n_cells);
  return block_for<Weighted, Apply::plain>(n_cells);
}

void fused(const FusedTask& task, std::int64_t first_block, std::int64_t last_block) {
  lanes::for_blocks(
      task, first_block, last_block,
      [&](int n_cells, bool with_apply, std::int64_t first_cell, std::int64_t first_group,
          std::int64_t n_groups, double* sums, double* weights) {
        const Block block = task.weight != nullptr ? choose_block<true>(task, n_cells, with_apply)
                                                   : choose_block<false>(task, n_cells, with_apply);
        block(task, first_cell, first_group, n_groups, sums, weights);
        if (!with_apply || task.left_map == nullptr) return;
        if (task.apply_wide)
          lanes::remap_plain(task, first_group, n_groups);
        else
          remap_narrow(task.apply_code + first_group * kGroupRows,
                       task.apply_right != nullptr ? task.apply_right + first_group : nullptr,
                       task.left_map, task.right_map, n_groups);
      });
}

// ---- prediction and refresh --------------------------------------------------------------------

void assign(std::uint8_t* code, const std::uint64_t* right, std::int64_t n_groups,
            std::uint8_t value) {
  const __m512i values = _mm512_set1_epi8(static_cast<char>(value));
  for (std::int64_t g = 0; g < n_groups; ++g)
    _mm512_mask_storeu_epi8(code + g * kGroupRows, right[g], values);
}

void accumulate(float* f, const std::uint8_t* code, const float* table, bool wide,
                std::int64_t n_groups) {
  const std::int64_t n = n_groups * kGroupRows;
  if (wide) {
    for (std::int64_t i = 0; i < n; i += kLanes)
      _mm512_storeu_ps(f + i, _mm512_add_ps(_mm512_loadu_ps(f + i), wide_lookup(table, code + i)));
    return;
  }
  const __m512 narrow = _mm512_loadu_ps(table);
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const __m512 value = _mm512_permutexvar_ps(code_index(code + i), narrow);
    _mm512_storeu_ps(f + i, _mm512_add_ps(_mm512_loadu_ps(f + i), value));
  }
}

void accumulate_double(double* sum, const std::uint8_t* code, const float* table, bool wide,
                       std::int64_t n_groups) {
  const __m512 narrow = _mm512_loadu_ps(table);
  for (std::int64_t i = 0; i < n_groups * kGroupRows; i += kLanes) {
    const __m512 value =
        wide ? wide_lookup(table, code + i) : _mm512_permutexvar_ps(code_index(code + i), narrow);
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(value));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1));
    _mm512_storeu_pd(sum + i, _mm512_add_pd(_mm512_loadu_pd(sum + i), low));
    _mm512_storeu_pd(sum + i + 8, _mm512_add_pd(_mm512_loadu_pd(sum + i + 8), high));
  }
}

}  // namespace

const Kernels kKernelsAvx512{
    "avx512",          route,         fused, assign, accumulate, accumulate_double,
    lanes::normal_cdf, lanes::mixture};

}  // namespace obart
