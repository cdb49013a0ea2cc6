// Sums over the rows of a table, in double.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/blocks.h"
#include "base/lanes.h"

namespace obart {

// In lanes and blocks of fixed order: the sums of what `add` gives for each row.
template <int N, class Add>
void sum_rows(std::int64_t n_padded, double (&total)[N], const Add& add) {
  PairwiseSum<N> blocks;
  for (std::int64_t start = 0; start < n_padded; start += kBlockRows) {
    double lane[N][kLanes] = {};
    const std::int64_t end = std::min(start + kBlockRows, n_padded);
    for (std::int64_t i = start; i < end; i += kLanes)
      for (int l = 0; l < kLanes; ++l) add(static_cast<std::size_t>(i + l), l, lane);
    double block[N];
    for (int k = 0; k < N; ++k) {
      for (int width = kLanes / 2; width >= 1; width /= 2)
        for (int l = 0; l < width; ++l) lane[k][l] += lane[k][l + width];
      block[k] = lane[k][0];
    }
    blocks.add(block);
  }
  blocks.total(total);
}

}  // namespace obart
