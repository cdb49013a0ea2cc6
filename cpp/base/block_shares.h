// How the threads of a team share the blocks of a table, and how their sums become one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/blocks.h"

namespace obart {

// Each thread has neighbouring blocks, the same in every pass, so that their codes stay in its
// cache. It adds up the pairs of blocks (base/blocks.h) that lie within its share; the caller adds
// the few that do not. Together they add what add_in_pairs adds, in the same order for each sum.
class BlockShares {
 public:
  struct Share {
    std::int64_t first, last;
  };

  explicit BlockShares(std::int64_t n_blocks) : n_blocks_(n_blocks) {}

  // Room for so many threads, so that later calls of set_threads do not allocate.
  void reserve(std::int64_t most_threads) {
    std::size_t n_levels = 1;
    while ((std::int64_t{1} << n_levels) < n_blocks_) ++n_levels;
    across_.reserve(static_cast<std::size_t>(most_threads) * n_levels);
  }

  void set_threads(std::int64_t n_threads) {
    n_threads_ = n_threads;
    const std::int64_t fair = ceil_div(n_blocks_, n_threads);
    chunk_ = 1;
    while (largest_share(2 * chunk_) <= fair + fair / kTolerance) chunk_ *= 2;
    find_pairs_across();
  }

  Share of(std::int64_t thread) const { return {begin_of(thread), begin_of(thread + 1)}; }

  // Within a thread's share.
  void add_own(double* sums, std::int64_t width, Share own) const {
    for (std::int64_t step = 1; step < own.last - own.first; step *= 2) {
      const std::int64_t pair = 2 * step;
      for (std::int64_t block = ceil_div(own.first, pair) * pair;
           block + step < own.last && std::min(block + pair, n_blocks_) <= own.last; block += pair)
        add({block, block + step}, sums, width);
    }
  }
  // Across shares: the sums of all blocks are then those of block 0.
  void add_rest(double* sums, std::int64_t width) const {
    for (const Pair& pair : across_) add(pair, sums, width);
  }

 private:
  struct Pair {
    std::int64_t to, from;
  };
  // Shares are cut at multiples of a power of two, which leaves few pairs across them, as long as
  // the largest share grows by no more than a fiftieth.
  static constexpr std::int64_t kTolerance = 50;

  static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
  static void add(Pair pair, double* sums, std::int64_t width) {
    for (std::int64_t k = 0; k < width; ++k)
      sums[pair.to * width + k] += sums[pair.from * width + k];
  }

  std::int64_t largest_share(std::int64_t chunk) const {
    return ceil_div(ceil_div(n_blocks_, chunk), n_threads_) * chunk;
  }
  std::int64_t begin_of(std::int64_t thread) const {
    const std::int64_t n_chunks = ceil_div(n_blocks_, chunk_);
    return std::min(n_chunks * thread / n_threads_ * chunk_, n_blocks_);
  }

  // Pairs of each level that have the beginning of a share inside them.
  void find_pairs_across() {
    across_.clear();
    for (std::int64_t step = 1; step < n_blocks_; step *= 2) {
      std::int64_t previous = -1;
      for (std::int64_t thread = 1; thread < n_threads_; ++thread) {
        const std::int64_t begin = begin_of(thread);
        const std::int64_t block = begin / (2 * step) * (2 * step);
        const bool is_across = block < begin && block + step < n_blocks_ && begin < n_blocks_;
        if (!is_across || block == previous) continue;
        across_.push_back({block, block + step});
        previous = block;
      }
    }
  }

  std::int64_t n_blocks_;
  std::int64_t n_threads_ = 1;
  std::int64_t chunk_ = 1;  // blocks
  std::vector<Pair> across_;
};

}  // namespace obart
