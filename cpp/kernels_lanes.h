// Helpers that every instruction set shares.
#pragma once

#include <algorithm>

#include "kernels.h"

// Internal linkage on purpose: the linker must not share code between files that are compiled for
// different instruction sets.
namespace obart {
namespace {
namespace lanes {

// Sixteen lanes to one double, always in this order.
inline double reduce(const float* lane) {
  double half[8];
  for (int i = 0; i < 8; ++i)
    half[i] = static_cast<double>(lane[i]) + static_cast<double>(lane[i + 8]);
  for (int width = 4; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) half[i] += half[i + width];
  return half[0];
}

// Rules are evaluated tree by tree within a block of rows, and the next block of a tree's codes
// lies elsewhere than the codes read last: the hardware does not see it coming.
inline void prefetch_next_block(const RouteTask& task, std::int64_t group) {
  const std::int64_t next = group + kBlockGroups;
  __builtin_prefetch(task.code + next * kGroupRows, 0, 2);
  if (next % 8 == 0) __builtin_prefetch(task.right + next, 1, 2);
}

// A byte a row says to which cell it belongs: the code, plus 128 where the rule sends the row
// right. Trees of more leaves than that has room for look the cell up.
struct CellKeys {
  static constexpr int kRight = 128;
  static constexpr int kMostCodes = 127;  // 127 + 128 is the padding's
  int n_cells = 0;
  bool by_table = false;
  std::uint8_t of_cell[kTableSize];
  std::uint8_t cell_of[2][kTableSize];  // by side and code

  explicit CellKeys(const FusedTask& task) {
    if (task.sum_code == nullptr) return;
    n_cells = static_cast<int>(task.n_cells);
    by_table = n_cells > kMostCodes;
    for (int c = 0; c < n_cells; ++c) {
      const SumCell cell = task.cells[c];
      const bool is_right = cell.side == Side::right;
      of_cell[c] = static_cast<std::uint8_t>(by_table ? c : cell.code | (is_right ? kRight : 0));
      if (!by_table) continue;
      if (!is_right) cell_of[0][cell.code] = of_cell[c];
      if (cell.side != Side::left) cell_of[1][cell.code] = of_cell[c];
    }
    if (by_table) cell_of[0][kTableSize - 1] = cell_of[1][kTableSize - 1] = kTableSize - 1;
  }

  void look_up(std::uint8_t* key, const FusedTask& task, std::int64_t first_group,
               std::int64_t n_groups) const {
    for (std::int64_t g = 0; g < n_groups; ++g) {
      const std::uint8_t* code = task.sum_code + (first_group + g) * kGroupRows;
      const std::uint64_t bits = task.sum_right != nullptr ? task.sum_right[first_group + g] : 0;
      for (int i = 0; i < kGroupRows; ++i)
        key[g * kGroupRows + i] = cell_of[(bits >> i) & 1U][code[i]];
    }
  }
};

// The cells that have rows in a block, which are few where neighbouring rows resemble each other.
// The others' sums are zero.
struct PresentCells {
  static constexpr int kFewest = 6;      // of fewer cells, all are summed
  static constexpr int kMostCells = 16;  // of more, a table is quicker
  int n_cells = 0;
  int cell[kMostCells];
  std::uint8_t key[kMostCells];
  double sums[kMostCells];
  double weights[kMostCells];

  static bool pays(const CellKeys& keys) {
    return keys.n_cells >= kFewest && keys.n_cells <= kMostCells;
  }

  // Bit c: the block has code c.
  PresentCells(const CellKeys& keys, std::uint32_t codes) {
    for (int c = 0; c < keys.n_cells; ++c) {
      if (((codes >> (keys.of_cell[c] % CellKeys::kRight)) & 1U) == 0) continue;
      cell[n_cells] = c;
      key[n_cells++] = keys.of_cell[c];
    }
  }

  template <bool Weighted>
  void spread(const FusedTask& task, const CellKeys& keys, std::int64_t block) const {
    const auto fill = [&](double* to, const double* from) {
      std::fill_n(to, keys.n_cells, 0.0);
      for (int i = 0; i < n_cells; ++i) to[cell[i]] = from[i];
    };
    fill(task.sums + block * task.n_cells, sums);
    if constexpr (Weighted) fill(task.weights + block * task.n_cells, weights);
  }
};

struct SumBlock {
  const float* residual;
  const float* weight;  // or null
  const std::uint8_t* key;
  std::int64_t n_rows;
};

// Sums over many cells: a sum a cell and lane in memory, so that a row costs the same for any
// number of cells.
template <bool Weighted>
void sum_by_table(const SumBlock& block, const CellKeys& keys, double* sums, double* weights) {
  alignas(64) float lane[kTableSize][kLanes];
  alignas(64) float weight_lane[Weighted ? kTableSize : 1][kLanes];
  const auto clear = [&](std::size_t key) {
    std::fill_n(lane[key], kLanes, 0.0F);
    if constexpr (Weighted) std::fill_n(weight_lane[key], kLanes, 0.0F);
  };
  for (int c = 0; c < keys.n_cells; ++c) clear(keys.of_cell[c]);
  clear(kTableSize - 1);
  for (std::int64_t row = 0; row < block.n_rows; row += kLanes)
    for (int i = 0; i < kLanes; ++i) {
      const std::size_t key = block.key[row + i];
      if constexpr (Weighted) {
        lane[key][i] += block.residual[row + i] * block.weight[row + i];
        weight_lane[key][i] += block.weight[row + i];
      } else {
        lane[key][i] += block.residual[row + i];
      }
    }
  for (int c = 0; c < keys.n_cells; ++c) {
    sums[c] = reduce(lane[keys.of_cell[c]]);
    if constexpr (Weighted) weights[c] = reduce(weight_lane[keys.of_cell[c]]);
  }
}

inline void remap_plain(const FusedTask& task, std::int64_t first_group, std::int64_t n_groups) {
  for (std::int64_t g = first_group; g < first_group + n_groups; ++g) {
    std::uint8_t* c = task.apply_code + g * kGroupRows;
    const std::uint64_t bits = task.apply_right != nullptr ? task.apply_right[g] : 0;
    for (int i = 0; i < kGroupRows; ++i)
      c[i] = (((bits >> i) & 1U) != 0 ? task.right_map : task.left_map)[c[i]];
  }
}

}  // namespace lanes
}  // namespace
}  // namespace obart
