// Sums over the rows of a table, in double.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/blocks.h"
#include "base/lanes.h"

namespace obart {

// The sums over the rows of one block of what `add` gives for each, in lanes.
template <int N, class Add>
void sum_block(std::int64_t start, std::int64_t n_padded, double (&block)[N], const Add& add) {
  double lane[N][kLanes] = {};
  const std::int64_t end = std::min(start + kBlockRows, n_padded);
  for (std::int64_t i = start; i < end; i += kLanes)
    for (int l = 0; l < kLanes; ++l) add(static_cast<std::size_t>(i + l), l, lane);
  for (int k = 0; k < N; ++k) {
    for (int width = kLanes / 2; width >= 1; width /= 2)
      for (int l = 0; l < width; ++l) lane[k][l] += lane[k][l + width];
    block[k] = lane[k][0];
  }
}

// Over all rows, block after block.
template <int N, class Add>
void sum_rows(std::int64_t n_padded, double (&total)[N], const Add& add) {
  PairwiseSum<N> blocks;
  for (std::int64_t start = 0; start < n_padded; start += kBlockRows) {
    double block[N];
    sum_block(start, n_padded, block, add);
    blocks.add(block);
  }
  blocks.total(total);
}

}  // namespace obart
