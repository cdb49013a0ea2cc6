// The kernels for machines without AVX-512, sixteen lanes as pieces of one register each. Included
// by one source file per instruction set.
#pragma once

#include "backend/cpu/registers.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions here are inlined: no ABI is crossed

namespace obart {
namespace {

using registers::kPieceLanes;
using registers::kPieces;
using registers::VFloat;
using registers::VInt;

// ---- route -------------------------------------------------------------------------------------

template <bool MissingRight>
OBART_INLINE std::uint64_t side_continuous(const RouteTask& task, std::int64_t first_row) {
  constexpr int together = 4;  // pieces
  std::uint64_t side = 0;
  for (int lane = 0; lane < kGroupRows; lane += together * kPieceLanes) {
    const std::int64_t row = first_row + lane;
    VFloat score[together];
    for (int i = 0; i < together; ++i)
      score[i] =
          task.terms[0].value * registers::load(task.terms[0].column + row + i * kPieceLanes);
    for (std::uint32_t k = 1; k < task.n_terms; ++k)
      for (int i = 0; i < together; ++i)
        score[i] = score[i] + task.terms[k].value *
                                  registers::load(task.terms[k].column + row + i * kPieceLanes);
    // A missing value makes the score NaN, which compares false.
    for (int i = 0; i < together; ++i)
      side |= registers::signs(MissingRight ? ~(score[i] < task.cut) : score[i] >= task.cut)
              << (lane + i * kPieceLanes);
  }
  return side;
}

OBART_INLINE std::uint64_t side_categorical(const RouteTask& task, std::int64_t first_row) {
  std::uint64_t side = 0;
  for (int lane = 0; lane < kGroupRows; lane += kPieceLanes)
    side |= registers::level_bits(task.column + first_row + lane, task.words) << lane;
  return side;
}

template <class SideOf>
OBART_INLINE void route_with(const RouteTask& task, std::int64_t first_group, std::int64_t n_groups,
                             RightCounts& counts, const SideOf& side_of) {
  const bool two_codes = task.left_code != task.right_code;
  for (std::int64_t g = first_group; g < first_group + n_groups; ++g) {
    cells::prefetch_next_block(task, g);
    const std::int64_t row = g * kGroupRows;
    std::uint64_t in_left = registers::rows_with(task.code + row, task.left_code);
    std::uint64_t in_right = two_codes ? registers::rows_with(task.code + row, task.right_code) : 0;
    const std::uint64_t side = (in_left | in_right) != 0 ? side_of(row) : 0;
    in_left &= side;
    in_right &= side;
    counts.of_left += std::popcount(in_left);
    counts.of_right += std::popcount(in_right);
    task.right[g] = in_left | in_right;
  }
}

void route(const RouteTask& task, std::int64_t first_group, std::int64_t n_groups,
           RightCounts& counts) {
  if (task.is_categorical)
    route_with(task, first_group, n_groups, counts,
               [&](std::int64_t row) { return side_categorical(task, row); });
  else if (task.n_terms == 0)
    std::fill_n(task.right + first_group, n_groups, std::uint64_t{0});
  else if (task.missing_right)
    route_with(task, first_group, n_groups, counts,
               [&](std::int64_t row) { return side_continuous<true>(task, row); });
  else
    route_with(task, first_group, n_groups, counts,
               [&](std::int64_t row) { return side_continuous<false>(task, row); });
}

// ---- a pass: apply -----------------------------------------------------------------------

OBART_INLINE void make_keys(std::uint8_t* key, const std::uint8_t* code, const std::uint64_t* right,
                            std::int64_t n_groups) {
  for (std::int64_t g = 0; g < n_groups; ++g)
    registers::keys_of_group(key + g * kGroupRows, code + g * kGroupRows, right[g]);
}

template <Combine How, class Lookup>
OBART_INLINE void change_rows(float* residual, std::int64_t n_rows, const Lookup& lookup) {
  for (std::int64_t i = 0; i < n_rows; i += kPieceLanes) {
    const VFloat r = registers::load(residual + i);
    registers::store(residual + i, How == Combine::add ? r + lookup(i) : r * lookup(i));
  }
}

// `right` is the block's, or null.
template <Combine How>
void apply_block(const PassTask& task, const std::uint64_t* right, std::int64_t first_group,
                 std::int64_t n_groups) {
  const std::int64_t n_rows = n_groups * kGroupRows;
  const std::uint8_t* code = task.apply.code + first_group * kGroupRows;
  float* residual = task.residual + first_group * kGroupRows;
  const bool is_wide = task.apply.n_codes > kNarrowCodes;
  if (is_wide && right != nullptr) {
    for (std::int64_t i = 0; i < n_rows; ++i) {
      const bool goes_right = ((right[i / kGroupRows] >> (i % kGroupRows)) & 1U) != 0;
      const float change = (goes_right ? task.apply.right_delta : task.apply.left_delta)[code[i]];
      residual[i] = How == Combine::add ? residual[i] + change : residual[i] * change;
    }
  } else if (is_wide) {
    change_rows<How>(residual, n_rows, [&](std::int64_t i) {
      return registers::wide_at(task.apply.left_delta, code + i);
    });
  } else if (right != nullptr) {
    std::uint8_t key[kBlockRows];
    make_keys(key, code, right, n_groups);
    const registers::NarrowTable<true> table(task.apply.left_delta, task.apply.right_delta);
    change_rows<How>(residual, n_rows, [&](std::int64_t i) { return table.at(key + i); });
  } else {
    const registers::NarrowTable<false> table(task.apply.left_delta, nullptr);
    change_rows<How>(residual, n_rows, [&](std::int64_t i) { return table.at(code + i); });
  }
}

// ---- a pass: sums ------------------------------------------------------------------------

constexpr int kRegisters = 8;  // for the sums, of sixteen
// Up to so many cells, passes with masks are quicker than a table of sums.
constexpr int kMostCells = kPieceLanes == 8 ? 12 : 6;

// Pieces that are summed side by side: enough to hide the latency of an addition.
constexpr int pieces_together(int n_sums) {
  int n = kPieces;
  while (n > 1 && n * n_sums > kRegisters) n /= 2;
  return n;
}

template <int NumCells, bool Weighted>
void sum_cells(const cells::SumBlock& block, const std::uint8_t* cell_key, double* sums,
               double* weights) {
  constexpr int together = pieces_together(Weighted ? 2 * NumCells : NumCells);
  alignas(64) float lane[NumCells][kLanes];
  alignas(64) float weight_lane[Weighted ? NumCells : 1][kLanes];
  VInt wanted[NumCells];
  for (int c = 0; c < NumCells; ++c) wanted[c] = VInt{} + static_cast<std::int32_t>(cell_key[c]);
  for (int first = 0; first < kLanes; first += together * kPieceLanes) {
    // A sum that starts at +0.0 never becomes -0.0, so adding the +0.0 of a row that is masked out
    // leaves its bits alone.
    VFloat acc[NumCells][together] = {};
    VFloat acc_weight[Weighted ? NumCells : 1][together] = {};
    for (std::int64_t row = first; row < block.n_rows; row += kLanes) {
      for (int i = 0; i < together; ++i) {
        const VInt key = registers::widen(block.key + row + i * kPieceLanes);
        VFloat r = registers::load(block.residual + row + i * kPieceLanes);
        VFloat w = {};
        if constexpr (Weighted) {
          w = registers::load(block.weight + row + i * kPieceLanes);
          r = r * w;
        }
        for (int c = 0; c < NumCells; ++c) {
          const VInt mask = key == wanted[c];
          acc[c][i] = acc[c][i] + registers::keep(r, mask);
          if constexpr (Weighted) acc_weight[c][i] = acc_weight[c][i] + registers::keep(w, mask);
        }
      }
    }
    for (int c = 0; c < NumCells; ++c)
      for (int i = 0; i < together; ++i) {
        registers::store(lane[c] + first + i * kPieceLanes, acc[c][i]);
        if constexpr (Weighted)
          registers::store(weight_lane[c] + first + i * kPieceLanes, acc_weight[c][i]);
      }
  }
  for (int c = 0; c < NumCells; ++c) {
    sums[c] = reduce(lane[c]);
    if constexpr (Weighted) weights[c] = reduce(weight_lane[c]);
  }
}

template <bool Weighted>
void run_passes(const cells::SumBlock& block, const std::uint8_t* cell_key, int n_cells,
                double* sums, double* weights) {
  using Sum = void (*)(const cells::SumBlock&, const std::uint8_t*, double*, double*);
  static constexpr Sum by_cells[] = {sum_cells<1, Weighted>, sum_cells<2, Weighted>,
                                     sum_cells<3, Weighted>, sum_cells<4, Weighted>,
                                     sum_cells<5, Weighted>, sum_cells<6, Weighted>,
                                     sum_cells<7, Weighted>, sum_cells<8, Weighted>};
  constexpr int most = static_cast<int>(std::size(by_cells));
  for (int c = 0; c < n_cells; c += most)
    by_cells[std::min(n_cells - c, most) - 1](block, cell_key + c, sums + c,
                                              Weighted ? weights + c : nullptr);
}

template <bool Weighted>
void sum_block(const CellSums& sum, const BlockSums& out, const cells::SumBlock& block,
               const cells::CellKeys& keys, const cells::CellsOfCodes& of_codes,
               std::int64_t index) {
  double* sums = out.residual + index * keys.n_cells;
  double* weights = Weighted ? out.weight + index * keys.n_cells : nullptr;
  if (sum.masks != nullptr) {
    cells::PresentCells present(keys, of_codes, sum.masks[index]);
    if (present.fits && present.n_cells <= kMostCells) {
      run_passes<Weighted>(block, present.key, present.n_cells, present.sums, present.weights);
      present.spread<Weighted>(out, keys, index);
    } else {
      cells::sum_by_table<Weighted>(block, keys, sums, weights);
    }
  } else if (registers::kFindsCodes && cells::PresentCells::pays(keys)) {
    const std::int64_t n_groups = block.n_rows / kGroupRows;
    cells::PresentCells present(keys,
                                registers::codes_present(sum.code + index * kBlockRows, n_groups));
    run_passes<Weighted>(block, present.key, present.n_cells, present.sums, present.weights);
    present.spread<Weighted>(out, keys, index);
  } else if (keys.n_cells > kMostCells) {
    cells::sum_by_table<Weighted>(block, keys, sums, weights);
  } else {
    run_passes<Weighted>(block, keys.of_cell, keys.n_cells, sums, weights);
  }
}

void apply_and_sum(const PassTask& task, const BlockSums& out, std::int64_t first_block,
                   std::int64_t last_block) {
  const auto apply = task.combine == Combine::multiply ? apply_block<Combine::multiply>
                                                       : apply_block<Combine::add>;
  const cells::CellKeys keys(task);
  const cells::CellsOfCodes of_codes(task, keys);
  const cells::MovedCodes moved(task);
  alignas(64) std::uint8_t key[kBlockRows];
  for (std::int64_t b = first_block; b < last_block; ++b) {
    cells::prefetch_next_tree(task, b);
    const std::int64_t first_group = b * kBlockGroups;
    const std::int64_t n_groups = std::min(kBlockGroups, task.n_groups - first_group);
    const std::int64_t row = first_group * kGroupRows;
    if (task.apply.code != nullptr) {
      const std::uint64_t* right = cells::apply_right_of(task, b);
      apply(task, right, first_group, n_groups);
      if (moved.concerns(b)) {
        cells::remap_plain(task, right, first_group, n_groups);
        moved.update(b, n_groups * kGroupRows);
      }
    }
    if (keys.n_cells == 0) continue;
    cells::SumBlock block{task.residual + row, nullptr, task.sum.code + row, n_groups * kGroupRows};
    const std::uint64_t* right = cells::sum_right_of(task, b);
    if (keys.by_table) {
      keys.look_up(key, block.key, right, n_groups);
      block.key = key;
    } else if (right != nullptr) {
      make_keys(key, block.key, right, n_groups);
      block.key = key;
    }
    if (task.weight != nullptr) {
      block.weight = task.weight + row;
      sum_block<true>(task.sum, out, block, keys, of_codes, b);
    } else {
      sum_block<false>(task.sum, out, block, keys, of_codes, b);
    }
  }
}

// ---- prediction and refresh --------------------------------------------------------------------

void assign(std::uint8_t* code, const std::uint64_t* right, std::int64_t n_groups,
            std::uint8_t value) {
  for (std::int64_t g = 0; g < n_groups; ++g)
    if (right[g] != 0) registers::assign_group(code + g * kGroupRows, right[g], value);
}

void accumulate(float* f, const std::uint8_t* code, const float* table, bool wide,
                std::int64_t n_groups) {
  const registers::NarrowTable<false> narrow(table, nullptr);
  const std::int64_t n_rows = n_groups * kGroupRows;
  if (wide)
    change_rows<Combine::add>(f, n_rows,
                              [&](std::int64_t i) { return registers::wide_at(table, code + i); });
  else
    change_rows<Combine::add>(f, n_rows, [&](std::int64_t i) { return narrow.at(code + i); });
}

void accumulate_double(double* sum, const std::uint8_t* code, const float* table, bool wide,
                       std::int64_t n_groups) {
  const registers::NarrowTable<false> narrow(table, nullptr);
  for (std::int64_t row = 0; row < n_groups * kGroupRows; row += kPieceLanes) {
    float value[kPieceLanes];
    registers::store(value, wide ? registers::wide_at(table, code + row) : narrow.at(code + row));
    for (int i = 0; i < kPieceLanes; ++i) sum[row + i] += static_cast<double>(value[i]);
  }
}

}  // namespace
}  // namespace obart

#pragma GCC diagnostic pop
