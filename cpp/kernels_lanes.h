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

inline void remap_plain(std::uint8_t* code, const std::uint64_t* right,
                        const std::uint8_t* left_map, const std::uint8_t* right_map,
                        std::int64_t n_groups) {
  for (std::int64_t g = 0; g < n_groups; ++g) {
    std::uint8_t* c = code + g * kGroupRows;
    const std::uint64_t bits = right != nullptr ? right[g] : 0;
    for (int i = 0; i < kGroupRows; ++i)
      c[i] = ((bits >> i) & 1U) != 0 ? right_map[c[i]] : left_map[c[i]];
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
}  // namespace
}  // namespace obart
