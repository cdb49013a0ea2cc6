// Rows on several workers, which are processes, perhaps on several machines. Each has some of the
// rows, all of the trees and the same random numbers. Only sums and counts travel; all workers add
// them up in the same order, and so take the same decisions.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/distributed/partition.h"

namespace obart {

// Adds up arrays of all workers. Each call waits for the others.
class Collective {
 public:
  virtual ~Collective() = default;
  // In place. No two workers have a number other than zero at the same place, unless all numbers
  // are whole; so any order of the additions gives the same bits.
  virtual void sum(std::span<double> values) = 0;
};

class DistributedBackend final : public PassBackend {
 public:
  DistributedBackend(Partition partition, std::shared_ptr<Collective> collective, Threads threads);

  void route(std::span<const RouteTask> tasks, const std::atomic<bool>* stop,
             RightCounts* counts) override;
  void rebuild(std::span<const RebuildTask> trees, RightCounts* counts) override;
  PassSums apply_and_sum(const PassTask& task) override;
  void refresh(const RefreshTask& task, const std::atomic<bool>* stop) override;
  void scale_fit(const double* target, double factor, float* residual) override;
  double weighted_squares(const FitRows& rows) override;
  FitSums fit_sums(const FitRows& rows) override;

 private:
  void add_counts(std::size_t n, RightCounts* counts);
  double* clear(std::size_t width);
  void add_up(std::size_t width);
  std::int64_t n_padded(const BlockRange& run) const;

  const Partition partition_;
  const std::shared_ptr<Collective> collective_;
  CpuBackend rows_;
  std::vector<double> values_;  // what travels
};

}  // namespace obart
