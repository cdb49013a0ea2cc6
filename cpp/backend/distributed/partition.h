// How the rows of a table are shared out among workers, and how their sums are put together again.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/blocks.h"

namespace obart {

// Every worker has neighbouring blocks. They fall into as few runs as possible that are wholes of
// the additions in pairs: 2^k blocks that start at a multiple of 2^k. Only the sums of runs travel,
// and their total has the bits of one machine's.
class Partition {
 public:
  // The first row of each worker, a multiple of a block, and the number of rows of them all. Throws
  // std::invalid_argument if a worker would have no rows.
  Partition(const std::vector<std::int64_t>& first_rows, std::int64_t n_rows, std::size_t worker);

  std::int64_t n_rows_in_all() const { return n_rows_; }
  std::int64_t first_row() const { return first_row_; }
  std::int64_t n_own_rows() const { return n_own_rows_; }
  std::size_t n_runs() const { return runs_.size(); }

  // The runs of this worker: the number of the first among all runs, and their blocks, counted from
  // the worker's own first block.
  std::size_t first_run() const { return first_run_; }
  const std::vector<BlockRange>& own_runs() const { return own_runs_; }

  // Adds up the sums of all runs, `width` each; the total is where the first was.
  void add_up(double* sums, std::size_t width) const;

 private:
  void add_runs(BlockRange blocks);
  std::size_t plan(std::int64_t first, std::int64_t size);

  std::int64_t n_rows_, n_blocks_, first_row_ = 0, n_own_rows_ = 0;
  std::vector<BlockRange> runs_;  // of all workers, in the order of rows
  std::size_t first_run_ = 0;
  std::vector<BlockRange> own_runs_;
  std::vector<std::pair<std::size_t, std::size_t>> additions_;  // the second run to the first
};

}  // namespace obart
