// Rows are handled in blocks of fixed size, reduced in a fixed order, so that sums have the same
// bits for any number of threads. Columns are padded to whole groups of 64 rows.
#pragma once

#include <cstdint>

namespace obart {

inline constexpr std::int64_t kGroupRows = 64;
inline constexpr std::int64_t kBlockRows = 1024;
inline constexpr std::int64_t kBlockGroups = kBlockRows / kGroupRows;

// Neighbouring blocks, up to `last`.
struct BlockRange {
  std::int64_t first, last;
};

inline constexpr std::int64_t count_blocks(std::int64_t n_groups) {
  return (n_groups + kBlockGroups - 1) / kBlockGroups;
}

// The sums of blocks are added in pairs, then pairs of pairs, and so on. So any 2^k neighbouring
// blocks that start at a multiple of 2^k have a sum of their own: a thread, a machine or a part of
// a graphics card can find it alone, and the bits of the whole do not depend on who did.
//
// Adds to block `first` what lies in the blocks after it, up to `last`, `width` sums each; `first`
// is a multiple of the smallest power of two that is not below last - first.
inline void add_in_pairs(double* sums, std::int64_t first, std::int64_t last, std::int64_t width) {
  for (std::int64_t step = 1; step < last - first; step *= 2)
    for (std::int64_t block = first; block + step < last; block += 2 * step)
      for (std::int64_t k = 0; k < width; ++k)
        sums[block * width + k] += sums[(block + step) * width + k];
}

// The same for sums that come block after block and need not be kept.
template <int N>
class PairwiseSum {
 public:
  void add(const double (&block)[N]) {
    double sum[N];
    for (int k = 0; k < N; ++k) sum[k] = block[k];
    int level = 0;
    for (std::uint64_t bits = n_blocks_++; (bits & 1U) != 0; bits >>= 1, ++level)
      for (int k = 0; k < N; ++k) sum[k] = waiting_[level][k] + sum[k];
    for (int k = 0; k < N; ++k) waiting_[level][k] = sum[k];
  }

  void total(double (&out)[N]) const {
    for (int k = 0; k < N; ++k) out[k] = 0.0;
    bool is_first = true;
    int level = 0;
    for (std::uint64_t bits = n_blocks_; bits != 0; bits >>= 1, ++level) {
      if ((bits & 1U) == 0) continue;
      for (int k = 0; k < N; ++k)
        out[k] = is_first ? waiting_[level][k] : waiting_[level][k] + out[k];
      is_first = false;
    }
  }

 private:
  std::uint64_t n_blocks_ = 0;
  double waiting_[48][N];  // of 2^level blocks
};

}  // namespace obart
