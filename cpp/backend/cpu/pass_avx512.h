// A pass with AVX-512: apply a change, then sum over cells. Included by kernels_avx512.cpp alone.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstring>
#include <utility>

#include "backend/cpu/cells.h"

// Internal linkage on purpose, see base/lanes.h.
namespace obart {
namespace {

#define OBART_INLINE inline __attribute__((always_inline))

OBART_INLINE __m512i load_codes(const std::uint8_t* p) {
  return _mm512_loadu_si512(static_cast<const void*>(p));
}

OBART_INLINE double reduce_register(__m512 v) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
  const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
  const __m512d eight = _mm512_add_pd(low, high);
  const __m256d four =
      _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

// What a block's change takes: nothing, one value for all rows, a table (narrow with or without a
// rule, medium, wide).
enum class Apply { none, constant, plain, split, medium, wide };
// How rows find their cells: all are in one, by code, or by code and side of a rule.
enum class Keys { all, code, split };
constexpr int kMediumCodes = 31;  // up to this many codes a table fits two registers

OBART_INLINE __m512i code_index(const std::uint8_t* code) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(code)));
}
OBART_INLINE __m512 wide_lookup(const float* table, const std::uint8_t* code) {
  return _mm512_i32gather_ps(code_index(code), table, 4);
}

// A quarter of a group's bits, straight from memory to a mask register.
OBART_INLINE __mmask16 load_quarter(const std::uint64_t* bits, std::int64_t row) {
  std::uint16_t quarter_bits;
  std::memcpy(&quarter_bits, reinterpret_cast<const char*>(bits) + row / 8, sizeof(quarter_bits));
  return static_cast<__mmask16>(quarter_bits);
}
constexpr std::uint64_t kNoBits[kBlockGroups] = {};

// What the residuals of sixteen rows change by. Low bits of a code choose the entry; padding rows
// (255) find the last one, which is zero.
template <Apply How>
class Changes {
 public:
  explicit Changes(const PassTask& task, int only_code) : task_(task) {
    if constexpr (How == Apply::none || How == Apply::wide) return;
    if constexpr (How == Apply::constant) {
      left_[0] = _mm512_set1_ps(task.apply.left_delta[only_code]);
      return;
    }
    left_[0] = _mm512_loadu_ps(task.apply.left_delta);
    if constexpr (How != Apply::plain) right_[0] = _mm512_loadu_ps(task.apply.right_delta);
    if constexpr (How == Apply::medium) {
      left_[1] = _mm512_maskz_loadu_ps(0x7fff, task.apply.left_delta + kLanes);
      right_[1] = _mm512_maskz_loadu_ps(0x7fff, task.apply.right_delta + kLanes);
    }
  }

  OBART_INLINE __m512 at(const std::uint8_t* code, const std::uint64_t* right,
                         std::int64_t row) const {
    if constexpr (How == Apply::constant) return left_[0];
    const __m512i index = code_index(code);
    if constexpr (How == Apply::wide) {
      const __m512 delta = _mm512_i32gather_ps(index, task_.apply.left_delta, 4);
      if (right == kNoBits) return delta;
      return _mm512_mask_blend_ps(load_quarter(right, row), delta,
                                  _mm512_i32gather_ps(index, task_.apply.right_delta, 4));
    } else if constexpr (How == Apply::medium) {
      return _mm512_mask_blend_ps(load_quarter(right, row),
                                  _mm512_permutex2var_ps(left_[0], index, left_[1]),
                                  _mm512_permutex2var_ps(right_[0], index, right_[1]));
    } else {
      const __m512 delta = _mm512_permutexvar_ps(index, left_[0]);
      if constexpr (How == Apply::plain) return delta;
      return _mm512_mask_permutexvar_ps(delta, load_quarter(right, row), index, right_[0]);
    }
  }

 private:
  const PassTask& task_;
  __m512 left_[2], right_[2];
};

// What a pass needs of one block of rows; bits are never null.
struct Pass {
  float* residual;
  const float* weight;
  const std::uint8_t* apply_code;
  const std::uint64_t* apply_right;
  const std::uint8_t* sum_code;
  const std::uint64_t* sum_right;
  std::int64_t n_rows;
  int only_code;  // of the change, where that is constant
  const std::uint8_t* cell_key;
  double* sums;
  double* weights;
};

template <int NumCells, bool Weighted, Apply How, Keys By>
void pass_block(const PassTask& task, const Pass& pass) {
  constexpr int n_slots = NumCells > 0 ? NumCells : 1;
  __m512 acc[n_slots];
  __m512 acc_weight[Weighted ? n_slots : 1];
  __m512i wanted[n_slots];
#pragma GCC unroll 16
  for (int c = 0; c < NumCells; ++c) {
    acc[c] = _mm512_setzero_ps();
    if constexpr (Weighted) acc_weight[c] = _mm512_setzero_ps();
    wanted[c] = _mm512_set1_epi32(pass.cell_key[c]);
  }
  const Changes<How> changes(task, pass.only_code);
  const Pass p = pass;  // a copy, which the stores to the residual cannot change
  for (std::int64_t row = 0; row < p.n_rows; row += kLanes) {
    __m512 r = _mm512_loadu_ps(p.residual + row);
    if constexpr (How != Apply::none) {
      r = _mm512_add_ps(r, changes.at(p.apply_code + row, p.apply_right, row));
      _mm512_storeu_ps(p.residual + row, r);
    }
    if constexpr (NumCells > 0) {
      __m512 w;
      if constexpr (Weighted) {
        w = _mm512_loadu_ps(p.weight + row);
        r = _mm512_mul_ps(r, w);
      }
      if constexpr (By == Keys::all) {
        acc[0] = _mm512_add_ps(acc[0], r);
        if constexpr (Weighted) acc_weight[0] = _mm512_add_ps(acc_weight[0], w);
        continue;
      }
      __m512i key = code_index(p.sum_code + row);
      if constexpr (By == Keys::split)
        key = _mm512_mask_or_epi32(key, load_quarter(p.sum_right, row), key,
                                   _mm512_set1_epi32(cells::CellKeys::kRight));
#pragma GCC unroll 16
      for (int c = 0; c < NumCells; ++c) {
        const __mmask16 mask = _mm512_cmpeq_epi32_mask(key, wanted[c]);
        acc[c] = _mm512_mask_add_ps(acc[c], mask, acc[c], r);
        if constexpr (Weighted)
          acc_weight[c] = _mm512_mask_add_ps(acc_weight[c], mask, acc_weight[c], w);
      }
    }
  }
#pragma GCC unroll 16
  for (int c = 0; c < NumCells; ++c) {
    pass.sums[c] = reduce_register(acc[c]);
    if constexpr (Weighted) pass.weights[c] = reduce_register(acc_weight[c]);
  }
}

template <Apply How>
void multiply_rows(const PassTask& task, const Pass& pass) {
  const Changes<How> changes(task, pass.only_code);
  const Pass p = pass;
  for (std::int64_t row = 0; row < p.n_rows; row += kLanes) {
    const __m512 factor = changes.at(p.apply_code + row, p.apply_right, row);
    _mm512_storeu_ps(p.residual + row, _mm512_mul_ps(_mm512_loadu_ps(p.residual + row), factor));
  }
}

// Changes that are factors are applied before the pass, while the block is in the cache; what is
// left of the change for the pass is nothing.
Apply apply_factors(const PassTask& task, const Pass& pass, Apply how) {
  if (task.combine == Combine::add) return how;
  switch (how) {
    case Apply::none:
      break;
    case Apply::constant:
      multiply_rows<Apply::constant>(task, pass);
      break;
    case Apply::plain:
      multiply_rows<Apply::plain>(task, pass);
      break;
    case Apply::split:
      multiply_rows<Apply::split>(task, pass);
      break;
    case Apply::medium:
      multiply_rows<Apply::medium>(task, pass);
      break;
    case Apply::wide:
      multiply_rows<Apply::wide>(task, pass);
  }
  return Apply::none;
}

// Codes below 32.
void remap_medium(const PassTask& task, const std::uint64_t* right, std::int64_t first_group,
                  std::int64_t n_groups) {
  const auto table = [](const std::uint8_t* map) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(map)));
  };
  const __m512i left = table(task.apply.left_map);
  const __m512i other = table(task.apply.right_map);
  const __m512i left_high = table(task.apply.left_map + 16);
  const __m512i other_high = table(task.apply.right_map + 16);
  const __m512i padding = _mm512_set1_epi8(static_cast<char>(0xff));
  for (std::int64_t g = 0; g < n_groups; ++g) {
    std::uint8_t* code = task.apply.code + (first_group + g) * kGroupRows;
    const __m512i codes = load_codes(code);
    const __mmask64 real = _mm512_cmpneq_epi8_mask(codes, padding);
    const __mmask64 high = real & _mm512_test_epi8_mask(codes, _mm512_set1_epi8(16));
    const __mmask64 bits = right[g];
    __m512i mapped = _mm512_mask_shuffle_epi8(codes, real, left, codes);
    mapped = _mm512_mask_shuffle_epi8(mapped, real & bits, other, codes);
    mapped = _mm512_mask_shuffle_epi8(mapped, high, left_high, codes);
    mapped = _mm512_mask_shuffle_epi8(mapped, high & bits, other_high, codes);
    _mm512_storeu_si512(static_cast<void*>(code), mapped);
  }
}

using Block = void (*)(const PassTask&, const Pass&);

// Cells that one pass sums in registers.
template <bool Weighted>
constexpr int kPassCells = Weighted ? 8 : 16;

template <bool Weighted, Apply How, Keys By, int... N>
Block block_for(int n_cells, std::integer_sequence<int, N...>) {
  static constexpr Block table[] = {pass_block<N, Weighted, How, By>...};
  return table[n_cells];
}

template <bool Weighted, Apply How>
Block block_for(Keys by, int n_cells) {
  using Sizes = std::make_integer_sequence<int, kPassCells<Weighted> + 1>;
  if (by == Keys::split) return block_for<Weighted, How, Keys::split>(n_cells, Sizes{});
  if (by == Keys::code) return block_for<Weighted, How, Keys::code>(n_cells, Sizes{});
  return pass_block<1, Weighted, How, Keys::all>;
}

template <bool Weighted>
Block choose_block(Apply how, Keys by, int n_cells) {
  switch (how) {
    case Apply::none:
      return block_for<Weighted, Apply::none>(by, n_cells);
    case Apply::constant:
      return block_for<Weighted, Apply::constant>(by, n_cells);
    case Apply::plain:
      return block_for<Weighted, Apply::plain>(by, n_cells);
    case Apply::split:
      return block_for<Weighted, Apply::split>(by, n_cells);
    case Apply::medium:
      return block_for<Weighted, Apply::medium>(by, n_cells);
    default:
      return block_for<Weighted, Apply::wide>(by, n_cells);
  }
}

// How a block of a tree changes, with or without rows that a rule sends right.
Apply apply_how(const PassTask& task, bool is_split) {
  if (task.apply.code == nullptr) return Apply::none;
  if (task.apply.n_codes > kMediumCodes) return Apply::wide;
  if (task.apply.n_codes > kNarrowCodes) return Apply::medium;
  return is_split ? Apply::split : Apply::plain;
}

// The same where the codes of the block are known: it may do with less than the tree needs.
Apply apply_how(const PassTask& task, bool is_split, CodeMask codes) {
  if (task.apply.code == nullptr) return Apply::none;
  if (!is_split && std::has_single_bit(codes) && codes != kSharedBit) return Apply::constant;
  if (codes < CodeMask{1} << kLanes) return is_split ? Apply::split : Apply::plain;
  return apply_how(task, is_split);
}

// A bit for each of the codes 0 to 15 that occur in a block.
std::uint32_t codes_present(const std::uint8_t* code, std::int64_t n_groups) {
  const auto bits = static_cast<std::int64_t>(0x8040201008040201U);
  const __m512i low = _mm512_broadcast_i32x4(_mm_set_epi64x(0, bits));
  const __m512i high = _mm512_broadcast_i32x4(_mm_set_epi64x(bits, 0));
  __m512i any_low = _mm512_setzero_si512();
  __m512i any_high = _mm512_setzero_si512();
  for (std::int64_t g = 0; g < n_groups; ++g) {
    const __m512i codes = load_codes(code + g * kGroupRows);
    any_low = _mm512_or_si512(any_low, _mm512_shuffle_epi8(low, codes));
    any_high = _mm512_or_si512(any_high, _mm512_shuffle_epi8(high, codes));
  }
  const auto fold = [](__m512i v) {
    auto x = static_cast<std::uint64_t>(_mm512_reduce_or_epi64(v));
    x |= x >> 32;
    x |= x >> 16;
    return static_cast<std::uint32_t>((x | x >> 8) & 0xffU);
  };
  return fold(any_low) | fold(any_high) << 8;
}

template <bool Weighted>
void sum_by_table(const cells::CellKeys& keys, const Pass& pass) {
  alignas(64) std::uint8_t key[kBlockRows];
  const std::int64_t n_groups = pass.n_rows / kGroupRows;
  if (keys.by_table) {
    keys.look_up(key, pass.sum_code, pass.sum_right, n_groups);
  } else {
    const __m512i right = _mm512_set1_epi8(static_cast<char>(cells::CellKeys::kRight));
    for (std::int64_t g = 0; g < n_groups; ++g) {
      const __m512i codes = load_codes(pass.sum_code + g * kGroupRows);
      _mm512_store_si512(
          key + g * kGroupRows,
          _mm512_mask_blend_epi8(pass.sum_right[g], codes, _mm512_or_si512(codes, right)));
    }
  }
  cells::sum_by_table<Weighted>({pass.residual, pass.weight, key, pass.n_rows}, keys, pass.sums,
                                pass.weights);
}

Keys keys_by(const std::uint64_t* sum_right) {
  return sum_right != nullptr && sum_right != kNoBits ? Keys::split : Keys::code;
}

template <bool Weighted>
void run_passes(const PassTask& task, Pass pass, int n_cells, Apply how) {
  do {
    const int here = std::min(n_cells, kPassCells<Weighted>);
    choose_block<Weighted>(how, keys_by(pass.sum_right), here)(task, pass);
    how = Apply::none;
    n_cells -= here;
    pass.cell_key += here;
    pass.sums += here;
    if constexpr (Weighted) pass.weights += here;
  } while (n_cells > 0);
}

Pass pass_of(const PassTask& task, const BlockSums& out, std::int64_t block) {
  const std::int64_t group = block * kBlockGroups;
  const std::int64_t row = block * kBlockRows;
  Pass pass{};
  pass.residual = task.residual + row;
  if (task.apply.code != nullptr) pass.apply_code = task.apply.code + row;
  pass.apply_right = task.apply.right != nullptr ? task.apply.right + group : kNoBits;
  if (task.sum.code != nullptr) pass.sum_code = task.sum.code + row;
  pass.sum_right = task.sum.right != nullptr ? task.sum.right + group : kNoBits;
  pass.n_rows = std::min(kBlockGroups, task.n_groups - group) * kGroupRows;
  pass.sums = out.residual + block * task.sum.n_cells;
  if (task.weight != nullptr) {
    pass.weight = task.weight + row;
    pass.weights = out.weight + block * task.sum.n_cells;
  }
  return pass;
}

// Sums only the cells that the block has.
template <bool Weighted>
void sum_present(const PassTask& task, const BlockSums& out, const cells::CellKeys& keys,
                 cells::PresentCells& present, Pass pass, Apply how, std::int64_t block) {
  pass.cell_key = present.key;
  pass.sums = present.sums;
  pass.weights = present.weights;
  if (present.n_cells == 1 && present.is_whole && pass.sum_right == kNoBits)
    choose_block<Weighted>(how, Keys::all, 1)(task, pass);
  else
    run_passes<Weighted>(task, pass, present.n_cells, how);
  present.spread<Weighted>(out, keys, block);
}

void remap(const PassTask& task, const Pass& pass, std::int64_t block) {
  const std::int64_t group = block * kBlockGroups;
  if (task.apply.n_codes > kMediumCodes)
    cells::remap_plain(task, pass.apply_right, group, pass.n_rows / kGroupRows);
  else
    remap_medium(task, pass.apply_right, group, pass.n_rows / kGroupRows);
}

// Blocks whose codes are not known.
template <bool Weighted>
void pass_unknown(const PassTask& task, const BlockSums& out, std::int64_t first_block,
                  std::int64_t last_block) {
  const cells::CellKeys keys(task);
  const bool few = keys.n_cells < cells::PresentCells::kFewest;
  const Apply how = apply_how(task, task.apply.right != nullptr);
  const Apply how_in_pass = task.combine == Combine::add ? how : Apply::none;
  const Block apply_only = choose_block<Weighted>(how_in_pass, Keys::code, 0);
  const Block pass_few =
      choose_block<Weighted>(how_in_pass, keys_by(task.sum.right), few ? keys.n_cells : 0);
  for (std::int64_t block = first_block; block < last_block; ++block) {
    cells::prefetch_next_tree(task, block);
    Pass pass = pass_of(task, out, block);
    apply_factors(task, pass, how);
    if (few) {
      pass.cell_key = keys.of_cell;
      pass_few(task, pass);
    } else if (cells::PresentCells::pays(keys)) {
      const std::int64_t n_groups = pass.n_rows / kGroupRows;
      cells::PresentCells present(keys, codes_present(pass.sum_code, n_groups));
      sum_present<Weighted>(task, out, keys, present, pass, how_in_pass, block);
    } else {
      apply_only(task, pass);
      sum_by_table<Weighted>(keys, pass);
    }
    if (how != Apply::none && task.apply.left_map != nullptr) remap(task, pass, block);
  }
}

// Blocks whose codes are known, of the tree that changes or of the tree that is summed.
template <bool Weighted>
void pass_known(const PassTask& task, const BlockSums& out, std::int64_t first_block,
                std::int64_t last_block) {
  const cells::CellKeys keys(task);
  const cells::CellsOfCodes of_codes(task, keys);
  const cells::MovedCodes moved(task);
  for (std::int64_t block = first_block; block < last_block; ++block) {
    cells::prefetch_next_tree(task, block);
    Pass pass = pass_of(task, out, block);
    if (!may_have(task.apply.masks, block, task.apply.routed)) pass.apply_right = kNoBits;
    if (!may_have(task.sum.masks, block, task.sum.routed)) pass.sum_right = kNoBits;
    const CodeMask codes = task.apply.masks != nullptr ? task.apply.masks[block] : kAnyCodes;
    pass.only_code = std::countr_zero(codes);
    const Apply how =
        apply_factors(task, pass, apply_how(task, pass.apply_right != kNoBits, codes));
    cells::PresentCells present(keys, of_codes,
                                task.sum.masks != nullptr ? task.sum.masks[block] : kAnyCodes);
    if (present.fits) {
      sum_present<Weighted>(task, out, keys, present, pass, how, block);
    } else {
      choose_block<Weighted>(how, Keys::code, 0)(task, pass);
      sum_by_table<Weighted>(keys, pass);
    }
    if (!moved.concerns(block)) continue;
    remap(task, pass, block);
    moved.update(block, pass.n_rows);
  }
}

void apply_and_sum(const PassTask& task, const BlockSums& out, std::int64_t first_block,
                   std::int64_t last_block) {
  const bool is_known = task.apply.masks != nullptr || task.sum.masks != nullptr;
  if (task.weight != nullptr)
    (is_known ? pass_known<true> : pass_unknown<true>)(task, out, first_block, last_block);
  else
    (is_known ? pass_known<false> : pass_unknown<false>)(task, out, first_block, last_block);
}

}  // namespace
}  // namespace obart
