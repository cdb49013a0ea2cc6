// What every instruction set shares: which cell of a partition a row is in, which cells a block of
// rows has, and what codes it has after a move.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/cpu/kernels.h"

// Internal linkage on purpose: the linker must not share code between files that are compiled for
// different instruction sets.
namespace obart {
namespace {
namespace cells {

// Rules are evaluated tree by tree within a block of rows, and the next block of a tree's codes
// lies elsewhere than the codes read last: the hardware does not see it coming.
inline void prefetch_next_block(const RouteTask& task, std::int64_t group) {
  const std::int64_t next = group + kBlockGroups;
  __builtin_prefetch(task.code + next * kGroupRows, 0, 2);
  if (next % 8 == 0) __builtin_prefetch(task.right + next, 1, 2);
}

// The codes of the tree after the one that is summed, in the same block. The hardware sees them
// coming only once they are read, and not across pages.
inline void prefetch_next_tree(const PassTask& task, std::int64_t block) {
  constexpr std::int64_t line = 64;
  if (task.sum.next == nullptr) return;
  const std::int64_t first = block * kBlockGroups;
  const std::int64_t last = std::min(first + kBlockGroups, task.n_groups);
  for (std::int64_t row = first * kGroupRows; row < last * kGroupRows; row += line)
    __builtin_prefetch(task.sum.next + row, 0, 2);
}

// A byte per row says to which cell it belongs: the code, plus 128 where the rule sends the row
// right. Trees of more leaves than that has room for look the cell up.
struct CellKeys {
  static constexpr int kRight = 128;
  static constexpr int kMostCodes = 127;  // 127 + 128 is the padding's
  int n_cells = 0;
  bool by_table = false;
  std::uint8_t of_cell[kTableSize];
  std::uint8_t cell_of[2][kTableSize];  // by side and code

  explicit CellKeys(const PassTask& task) {
    if (task.sum.code == nullptr) return;
    n_cells = static_cast<int>(task.sum.n_cells);
    by_table = n_cells > kMostCodes;
    for (int c = 0; c < n_cells; ++c) {
      const SumCell cell = task.sum.cells[c];
      const bool is_right = cell.side == Side::right;
      of_cell[c] = static_cast<std::uint8_t>(by_table ? c : cell.code | (is_right ? kRight : 0));
      if (!by_table) continue;
      if (!is_right) cell_of[0][cell.code] = of_cell[c];
      if (cell.side != Side::left) cell_of[1][cell.code] = of_cell[c];
    }
    if (by_table) cell_of[0][kTableSize - 1] = cell_of[1][kTableSize - 1] = kTableSize - 1;
  }

  // The same for any number of cells; `right` is the block's, or null.
  void find(std::uint8_t* key, const std::uint8_t* code, const std::uint64_t* right,
            std::int64_t n_groups) const {
    if (by_table) return look_up(key, code, right, n_groups);
    for (std::int64_t i = 0; i < n_groups * kGroupRows; ++i) {
      const std::uint64_t bits = right != nullptr ? right[i / kGroupRows] : 0;
      key[i] = static_cast<std::uint8_t>(code[i] | ((bits >> (i % kGroupRows)) & 1U) * kRight);
    }
  }
  void look_up(std::uint8_t* key, const std::uint8_t* code, const std::uint64_t* right,
               std::int64_t n_groups) const {
    for (std::int64_t g = 0; g < n_groups; ++g) {
      const std::uint64_t bits = right != nullptr ? right[g] : 0;
      for (std::int64_t i = g * kGroupRows; i < (g + 1) * kGroupRows; ++i)
        key[i] = cell_of[(bits >> (i % kGroupRows)) & 1U][code[i]];
    }
  }
};

// The block's rows that a rule sends right, or null: no rule, or it concerns no leaf of the block,
// and then the bits may be anything.
inline const std::uint64_t* apply_right_of(const PassTask& task, std::int64_t block) {
  return task.apply.right != nullptr && may_have(task.apply.masks, block, task.apply.routed)
             ? task.apply.right + block * kBlockGroups
             : nullptr;
}
inline const std::uint64_t* sum_right_of(const PassTask& task, std::int64_t block) {
  return task.sum.right != nullptr && may_have(task.sum.masks, block, task.sum.routed)
             ? task.sum.right + block * kBlockGroups
             : nullptr;
}

// The cells of each code, to find quickly those of a block.
struct CellsOfCodes {
  static constexpr int kMostCells = 60;  // so that no code shares its bit
  bool is_known;                         // of more cells nothing is known
  std::uint8_t first[kOwnBits];
  CodeMask all = 0;  // codes with a cell
  int n_more = 0;    // cells beyond the first of a code
  std::uint8_t more[kMostCells];

  CellsOfCodes(const PassTask& task, const CellKeys& keys) : is_known(keys.n_cells <= kMostCells) {
    for (int c = 0; is_known && c < keys.n_cells; ++c) {
      const std::uint8_t code = task.sum.cells[c].code;
      if ((all & code_bit(code)) == 0)
        first[code] = static_cast<std::uint8_t>(c);
      else
        more[n_more++] = static_cast<std::uint8_t>(c);
      all |= code_bit(code);
    }
  }
};

// The cells that have rows in a block, which are few where neighbouring rows resemble each other.
// The others' sums are zero.
struct PresentCells {
  static constexpr int kFewest = 6;      // of fewer cells, all are summed
  static constexpr int kMostCells = 16;  // of more, a table is quicker
  int n_cells = 0;
  bool fits = true;
  bool is_whole = false;  // no row of the block is in other cells
  int cell[kMostCells];
  std::uint8_t key[kMostCells];
  double sums[kMostCells];
  double weights[kMostCells];

  static bool pays(const CellKeys& keys) {
    return keys.n_cells >= kFewest && keys.n_cells <= kMostCells;
  }

  // Of a block with these codes; `fits` tells whether there was room for them.
  PresentCells(const CellKeys& keys, const CellsOfCodes& cells, CodeMask codes) {
    is_whole = (codes & ~cells.all) == 0;
    codes &= cells.all;
    fits = cells.is_known && std::popcount(codes) + cells.n_more <= kMostCells;
    if (!fits) return;
    const auto add = [&](int c) {
      cell[n_cells] = c;
      key[n_cells++] = keys.of_cell[c];
    };
    for (CodeMask rest = codes; rest != 0; rest &= rest - 1)
      add(cells.first[std::countr_zero(rest)]);
    for (int k = 0; k < cells.n_more; ++k)
      if ((codes & code_bit(keys.of_cell[cells.more[k]] % CellKeys::kRight)) != 0)
        add(cells.more[k]);
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
  void spread(const BlockSums& out, const CellKeys& keys, std::int64_t block) const {
    const auto fill = [&](double* to, const double* from) {
      std::fill_n(to, keys.n_cells, 0.0);
      for (int i = 0; i < n_cells; ++i) to[cell[i]] = from[i];
    };
    fill(out.residual + block * keys.n_cells, sums);
    if constexpr (Weighted) fill(out.weight + block * keys.n_cells, weights);
  }
};

struct SumBlock {
  const float* residual;
  const float* weight;  // or null
  const std::uint8_t* key;
  std::int64_t n_rows;
};

// Sums over many cells: a sum per cell and lane in memory, so that a row costs the same for any
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

// `right` is the block's, or null.
inline void remap_plain(const PassTask& task, const std::uint64_t* right, std::int64_t first_group,
                        std::int64_t n_groups) {
  // Copies, which the stores to the codes cannot change.
  std::uint8_t* code = task.apply.code + first_group * kGroupRows;
  const std::uint8_t* const map[2] = {task.apply.left_map, task.apply.right_map};
  for (std::int64_t g = 0; g < n_groups; ++g, code += kGroupRows) {
    const std::uint64_t bits = right != nullptr ? right[g] : 0;
    if (bits == 0)
      for (int i = 0; i < kGroupRows; ++i) code[i] = map[0][code[i]];
    else
      for (int i = 0; i < kGroupRows; ++i) code[i] = map[(bits >> i) & 1U][code[i]];
  }
}

// Which blocks a change of codes concerns, and what codes they have after it.
class MovedCodes {
 public:
  explicit MovedCodes(const PassTask& task) : task_(task) {
    if (task.apply.code == nullptr || task.apply.left_map == nullptr) return;
    moves_ = true;
    if (task.apply.masks == nullptr) return;
    for (int c = 0; c < task.apply.n_codes; ++c)
      if (task.apply.left_map[c] != c ||
          (task.apply.right != nullptr && task.apply.right_map[c] != c))
        moved_ |= code_bit(static_cast<std::uint8_t>(c));
  }

  bool concerns(std::int64_t block) const {
    return moves_ && may_have(task_.apply.masks, block, moved_);
  }

  // After the codes of the block have changed. A rule may have sent all rows of a leaf to one side,
  // so its codes are looked for.
  void update(std::int64_t block, std::int64_t n_rows) const {
    if (task_.apply.masks == nullptr) return;
    CodeMask& mask = task_.apply.masks[block];
    CodeMask now = mask & kSharedBit;
    CodeMask doubtful = 0;
    for (int c = 0; c < task_.apply.n_codes; ++c) {
      const CodeMask bit = code_bit(static_cast<std::uint8_t>(c));
      if ((mask & bit) == 0) continue;
      CodeMask to = code_bit(task_.apply.left_map[c]);
      if (task_.apply.right != nullptr && (task_.apply.routed & bit) != 0) {
        to |= code_bit(task_.apply.right_map[c]);
        doubtful |= to;
      }
      now |= to;
    }
    const std::uint8_t* code = task_.apply.code + block * kBlockRows;
    for (doubtful &= ~kSharedBit; doubtful != 0; doubtful &= doubtful - 1) {
      const int c = std::countr_zero(doubtful);
      if (std::memchr(code, c, static_cast<std::size_t>(n_rows)) == nullptr)
        now &= ~(CodeMask{1} << c);
    }
    mask = now;
  }

 private:
  const PassTask& task_;
  bool moves_ = false;
  CodeMask moved_ = 0;
};

}  // namespace cells
}  // namespace
}  // namespace obart
