// The kernels for AVX-512: 64 rows at a time, a comparison of 64 codes is one 64-bit mask.
#if defined(__GNUC__) && !defined(__clang__)
// False alarms inside the intrinsics of GCC 12.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include "backend/cpu/pass_avx512.h"

namespace obart {
namespace {

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
                             RightCounts& counts, const SideOf& side_of) {
  const __m512i left = _mm512_set1_epi8(static_cast<char>(task.left_code));
  const __m512i right = _mm512_set1_epi8(static_cast<char>(task.right_code));
  const bool two_codes = task.left_code != task.right_code;
  const std::int64_t end = first_group + n_groups;
  std::int64_t g = first_group;
  // Where neighbouring rows resemble each other, a leaf has no rows in most blocks.
  const auto is_empty = [&] {
    const __m512i codes = load_codes(task.code + g * kGroupRows);
    return (_mm512_cmpeq_epi8_mask(codes, left) | _mm512_cmpeq_epi8_mask(codes, right)) == 0;
  };
  for (; g < end && is_empty(); ++g) {
    cells::prefetch_next_block(task, g);
    task.right[g] = 0;
  }
  std::int64_t n_left = 0;
  std::int64_t n_right = 0;
  for (; g < end; ++g) {
    cells::prefetch_next_block(task, g);
    const __m512i codes = load_codes(task.code + g * kGroupRows);
    const std::uint64_t side = side_of(g * kGroupRows);
    const std::uint64_t in_left = side & _mm512_cmpeq_epi8_mask(codes, left);
    const std::uint64_t in_right = two_codes ? side & _mm512_cmpeq_epi8_mask(codes, right) : 0;
    n_left += std::popcount(in_left);
    n_right += std::popcount(in_right);
    task.right[g] = in_left | in_right;
  }
  counts.of_left += n_left;
  counts.of_right += n_right;
}

void route(const RouteTask& task, std::int64_t first_group, std::int64_t n_groups,
           RightCounts& counts) {
  if (task.is_categorical) {
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

const CpuKernels kCpuAvx512{route, apply_and_sum, assign, accumulate, accumulate_double};

}  // namespace obart
