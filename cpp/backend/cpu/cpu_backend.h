// The rows on the CPU: kernels for the machine's instruction set, and a team of threads.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "base/thread_team.h"

namespace obart {

class CpuBackend final : public Backend {
 public:
  // Sums of `apply_and_sum` are added up within each run of blocks, and lie where those of the
  // run's first block were; without runs there is one, of all blocks.
  CpuBackend(std::int64_t n_rows, std::int64_t n_threads, std::vector<BlockRange> runs = {});

  void route(std::span<const RouteTask> tasks, const std::atomic<bool>* stop,
             RightCounts* counts) override;
  void rebuild(std::span<const RebuildTask> trees, RightCounts* counts) override;
  PassSums apply_and_sum(const PassTask& task) override;
  void refresh(const RefreshTask& task, const std::atomic<bool>* stop) override;
  void scale_fit(const double* target, double factor, float* residual) override;
  double weighted_squares(const FitRows& rows) override;
  FitSums fit_sums(const FitRows& rows) override;

 private:
  RightCounts* clear_counts(std::size_t n);
  void add_counts(std::size_t n, RightCounts* counts) const;
  void refresh_block(const RefreshTask& task, std::int64_t block) const;

  const CpuKernels& kernels_;
  std::int64_t n_rows_, n_groups_, n_blocks_;
  std::vector<BlockRange> runs_;
  ThreadTeam team_;
  std::vector<RightCounts> thread_counts_;  // by thread and rule
  std::vector<double> sums_, weights_;      // by block and cell
};

}  // namespace obart
