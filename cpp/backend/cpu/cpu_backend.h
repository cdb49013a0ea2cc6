// The rows on the CPU: kernels for the machine's instruction set, and a team of threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "base/aligned_buffer.h"
#include "base/block_shares.h"
#include "base/thread_chooser.h"
#include "base/thread_team.h"
#include "base/threads.h"

namespace obart {

class CpuBackend final : public PassBackend, public SoftRows {
 public:
  // Sums of `apply_and_sum` are added up within each run of blocks, and lie where those of the
  // run's first block were; without runs there is one, of all blocks.
  CpuBackend(std::int64_t n_rows, Threads threads, std::vector<BlockRange> runs = {});

  // Of the next work on the rows.
  std::int64_t n_threads() const { return team_.size(); }

  void route(std::span<const RouteTask> tasks, const std::atomic<bool>* stop,
             RightCounts* counts) override;
  void rebuild(std::span<const RebuildTask> trees, RightCounts* counts) override;
  PassSums apply_and_sum(const PassTask& task) override;
  void refresh(const RefreshTask& task, const std::atomic<bool>* stop) override;
  void scale_fit(const double* target, double factor, float* residual) override;
  double weighted_squares(const FitRows& rows) override;
  FitSums fit_sums(const FitRows& rows) override;

  SoftRows* soft_rows() override { return runs_.empty() ? this : nullptr; }
  const double* soft_sums(const SoftSumsTask& task) override;
  void soft_apply(std::span<const SoftTerm> terms, float* residual, bool is_last) override;
  void soft_refresh(const SoftRefreshTask& task, const std::atomic<bool>* stop) override;

 private:
  // Times the work on the rows in each sweep, from its first routing to its last pass, for the
  // choice of the number of threads.
  class SweepWatch {
   public:
    // Whether this routing is the first of a sweep.
    bool begins_sweep() const { return !is_routing_; }
    bool has_time() const { return has_ended_; }
    double seconds() const { return std::chrono::duration<double>(end_ - begin_).count(); }
    void begin();
    void note_pass(bool is_last_of_ensemble);
    // The present sweep has no time: it changed its threads.
    void give_up() { has_given_up_ = true, has_ended_ = false; }
    void reset() { is_routing_ = has_ended_ = false; }

   private:
    using Clock = std::chrono::steady_clock;
    bool is_routing_ = false;
    bool has_ended_ = false;
    bool has_given_up_ = false;
    Clock::time_point begin_, end_;
  };

  void use_threads(std::int64_t n_threads);
  void choose_threads();
  void note_pass(bool is_last_of_ensemble);
  // work(first block, last block) on each thread.
  template <class Work>
  void for_shares(const Work& work);
  template <int N, class Add>
  void sum_all_rows(double (&total)[N], const Add& add);
  RightCounts* thread_counts(std::int64_t thread, std::size_t n) {
    return thread_counts_.data() + static_cast<std::size_t>(thread) * padded_counts(n);
  }
  static std::size_t padded_counts(std::size_t n);
  void reserve_counts(std::size_t n);
  void add_counts(std::size_t n, RightCounts* counts);
  void refresh_block(const RefreshTask& task, std::int64_t block) const;
  std::int64_t rows_of_block(std::int64_t block) const {
    return std::min(kBlockRows, n_groups_ * kGroupRows - block * kBlockRows);
  }
  // Columns of shares: those of a block lie next to each other.
  float* shares_of(std::int64_t block, std::int32_t column) {
    return soft_shares_.data() + (block * n_soft_columns_ + column) * kBlockRows;
  }
  void reserve_shares(std::int64_t n_columns);
  void divide_block(std::span<const SoftGate> gates, std::int64_t block);
  // to = from + sign * terms, for the rows of a block.
  void add_terms(float* to, const float* from, std::span<const SoftTerm> terms, float sign,
                 std::int64_t block);
  void soft_sums_of_block(const SoftSumsTask& task, std::int64_t block);

  const CpuKernels& kernels_;
  std::int64_t n_rows_, n_groups_, n_blocks_;
  const std::vector<BlockRange> runs_;
  ThreadChooser chooser_;
  const bool is_choosing_;
  SweepWatch watch_;
  ThreadTeam team_;
  BlockShares shares_;
  std::vector<RightCounts> thread_counts_;  // by thread and rule
  std::vector<double> sums_, weights_;      // by block and cell
  std::vector<double> row_sums_;            // by block and sum
  AlignedBuffer<float> soft_shares_, others_left_;
  std::int64_t n_soft_columns_ = 0;
};

template <class Work>
void CpuBackend::for_shares(const Work& work) {
  team_.run([this, work](std::int64_t thread) {
    const BlockShares::Share share = shares_.of(thread);
    work(share.first, share.last);
  });
}

}  // namespace obart
