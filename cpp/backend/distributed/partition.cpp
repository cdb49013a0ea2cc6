#include "backend/distributed/partition.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace obart {

Partition::Partition(const std::vector<std::int64_t>& first_rows, std::int64_t n_rows,
                     std::size_t worker)
    : n_rows_(n_rows), n_blocks_((n_rows + kBlockRows - 1) / kBlockRows) {
  if (worker >= first_rows.size()) throw std::invalid_argument("there is no such worker");
  if (first_rows[0] != 0) throw std::invalid_argument("the first worker must have the first row");
  for (std::size_t w = 0; w < first_rows.size(); ++w) {
    const std::int64_t last = w + 1 < first_rows.size() ? first_rows[w + 1] : n_rows;
    if (first_rows[w] % kBlockRows != 0 || first_rows[w] >= last)
      throw std::invalid_argument("each worker must have some blocks of rows");
    const std::size_t before = runs_.size();
    const BlockRange blocks{first_rows[w] / kBlockRows, (last + kBlockRows - 1) / kBlockRows};
    add_runs(blocks);
    if (w != worker) continue;
    first_row_ = first_rows[w];
    n_own_rows_ = last - first_row_;
    first_run_ = before;
    for (std::size_t k = before; k < runs_.size(); ++k)
      own_runs_.push_back({runs_[k].first - blocks.first, runs_[k].last - blocks.first});
  }
  plan(0, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n_blocks_))));
}

// The largest run that starts here and ends with the blocks, and so on. The last blocks of a table
// are a whole if those that would follow do not exist.
void Partition::add_runs(BlockRange blocks) {
  const auto end = [&](std::int64_t size) { return std::min(blocks.first + size, n_blocks_); };
  while (blocks.first < blocks.last) {
    std::int64_t size = 1;
    while (blocks.first % (2 * size) == 0 && end(2 * size) <= blocks.last && size < n_blocks_)
      size *= 2;
    runs_.push_back({blocks.first, end(size)});
    blocks.first = end(size);
  }
}

// Notes the additions that give the sum of these blocks, and returns the run that gets it.
std::size_t Partition::plan(std::int64_t first, std::int64_t size) {
  const auto run = std::ranges::lower_bound(runs_, first, {}, &BlockRange::first);
  const auto number = static_cast<std::size_t>(run - runs_.begin());
  if (run->last >= std::min(first + size, n_blocks_)) return number;
  const std::size_t left = plan(first, size / 2);
  if (first + size / 2 < n_blocks_) additions_.emplace_back(left, plan(first + size / 2, size / 2));
  return left;
}

void Partition::add_up(double* sums, std::size_t width) const {
  for (const auto& [to, from] : additions_)
    for (std::size_t k = 0; k < width; ++k) sums[to * width + k] += sums[from * width + k];
}

}  // namespace obart
