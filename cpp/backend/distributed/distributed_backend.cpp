#include "backend/distributed/distributed_backend.h"

#include <algorithm>

#include "backend/fit_sums.h"

namespace obart {

DistributedBackend::DistributedBackend(Partition partition, std::shared_ptr<Collective> collective,
                                       Threads threads)
    : partition_(std::move(partition)),
      collective_(std::move(collective)),
      rows_(partition_.n_own_rows(), threads, partition_.own_runs()) {
  values_.reserve(partition_.n_runs() * 2 * kTableSize);
}

// Counts are whole numbers: their sums are exact.
void DistributedBackend::add_counts(std::size_t n, RightCounts* counts) {
  values_.resize(2 * n);
  for (std::size_t k = 0; k < n; ++k) {
    values_[2 * k] = static_cast<double>(counts[k].of_left);
    values_[2 * k + 1] = static_cast<double>(counts[k].of_right);
  }
  if (n > 0) collective_->sum(values_);
  for (std::size_t k = 0; k < n; ++k)
    counts[k] = {static_cast<std::int64_t>(values_[2 * k]),
                 static_cast<std::int64_t>(values_[2 * k + 1])};
}

void DistributedBackend::route(std::span<const RouteTask> tasks, const std::atomic<bool>*,
                               RightCounts* counts) {
  rows_.route(tasks, nullptr, counts);  // a worker that stops alone would let the others wait
  add_counts(tasks.size(), counts);
}

void DistributedBackend::rebuild(std::span<const RebuildTask> trees, RightCounts* counts) {
  rows_.rebuild(trees, counts);
  std::size_t n_rules = 0;
  for (const RebuildTask& tree : trees) n_rules += tree.rules.size();
  add_counts(n_rules, counts);
}

// Room for `width` sums of each run, all zero; returns that of the first of this worker.
double* DistributedBackend::clear(std::size_t width) {
  values_.assign(partition_.n_runs() * width, 0.0);
  return values_.data() + partition_.first_run() * width;
}

void DistributedBackend::add_up(std::size_t width) {
  collective_->sum(values_);
  partition_.add_up(values_.data(), width);
}

PassSums DistributedBackend::apply_and_sum(const PassTask& task) {
  const PassSums own = rows_.apply_and_sum(task);
  if (task.sum.code == nullptr) return own;
  const std::int64_t n_cells = task.sum.n_cells;
  const bool is_weighted = task.weight != nullptr;
  const auto width = static_cast<std::size_t>(is_weighted ? 2 * n_cells : n_cells);
  double* to = clear(width);
  for (const BlockRange& run : partition_.own_runs()) {
    std::copy_n(own.residual + run.first * n_cells, n_cells, to);
    if (is_weighted) std::copy_n(own.weight + run.first * n_cells, n_cells, to + n_cells);
    to += width;
  }
  add_up(width);
  return {values_.data(), is_weighted ? values_.data() + n_cells : nullptr};
}

void DistributedBackend::refresh(const RefreshTask& task, const std::atomic<bool>*) {
  rows_.refresh(task, nullptr);
}

void DistributedBackend::scale_fit(const double* target, double factor, float* residual) {
  rows_.scale_fit(target, factor, residual);
}

// Rows of a run, with the padding of its last group.
std::int64_t DistributedBackend::n_padded(const BlockRange& run) const {
  const std::int64_t groups = (partition_.n_own_rows() + kGroupRows - 1) / kGroupRows;
  return std::min(run.last * kBlockRows, groups * kGroupRows) - run.first * kBlockRows;
}

double DistributedBackend::weighted_squares(const FitRows& rows) {
  double* to = clear(1);
  for (const BlockRange& run : partition_.own_runs())
    *to++ = sum_weighted_squares(rows.from(run.first * kBlockRows), n_padded(run));
  add_up(1);
  return values_[0];
}

FitSums DistributedBackend::fit_sums(const FitRows& rows) {
  double* to = clear(2);
  for (const BlockRange& run : partition_.own_runs()) {
    const FitSums sums = sum_fit(rows.from(run.first * kBlockRows), n_padded(run));
    *to++ = sums.target_fit;
    *to++ = sums.fit_fit;
  }
  add_up(2);
  return {values_[0], values_[1]};
}

}  // namespace obart
