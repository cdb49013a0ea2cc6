#include "backend/cpu/cpu_backend.h"

#include <algorithm>

#include "backend/fit_sums.h"
#include "base/math.h"

namespace obart {

CpuBackend::CpuBackend(std::int64_t n_rows, std::int64_t n_threads, std::vector<BlockRange> runs)
    : kernels_(cpu_kernels(chosen_simd())),
      n_rows_(n_rows),
      n_groups_((n_rows + kGroupRows - 1) / kGroupRows),
      n_blocks_(count_blocks(n_groups_)),
      runs_(std::move(runs)),
      team_(std::min(n_threads, std::max<std::int64_t>(1, n_blocks_))) {
  if (runs_.empty()) runs_.push_back({0, n_blocks_});
  // As many as there can be, so that a sweep does not allocate. Memory that is never touched costs
  // nothing.
  sums_.reserve(static_cast<std::size_t>(n_blocks_) * kTableSize);
  weights_.reserve(sums_.capacity());
}

// Counts of rules by thread, all zero.
RightCounts* CpuBackend::clear_counts(std::size_t n) {
  const std::size_t size = static_cast<std::size_t>(team_.size()) * n;
  if (thread_counts_.size() < size) thread_counts_.resize(size);
  std::fill_n(thread_counts_.begin(), size, RightCounts{});
  return thread_counts_.data();
}

void CpuBackend::add_counts(std::size_t n, RightCounts* counts) const {
  for (std::size_t k = 0; k < n; ++k) {
    counts[k] = {};
    for (std::size_t thread = 0; thread < static_cast<std::size_t>(team_.size()); ++thread) {
      counts[k].of_left += thread_counts_[thread * n + k].of_left;
      counts[k].of_right += thread_counts_[thread * n + k].of_right;
    }
  }
}

// Groups of rows whose columns are read from cache by all rules: a block, or less of it where the
// rules are wide, because many columns of a block would not fit.
static std::int64_t groups_together(std::span<const RouteTask> tasks) {
  constexpr std::size_t wide_terms = 6;
  constexpr std::int64_t wide_groups = 4;  // divides a block
  std::size_t n_terms = 0;
  for (const RouteTask& task : tasks) n_terms += task.n_terms;
  return n_terms >= wide_terms * tasks.size() ? wide_groups : kBlockGroups;
}

// All rules inside a block of rows: the columns are read from cache. The bits of a block without
// the rule's leaves stay what they were; nobody reads them.
void CpuBackend::route(std::span<const RouteTask> tasks, const std::atomic<bool>* stop,
                       RightCounts* counts) {
  RightCounts* by_thread = clear_counts(tasks.size());
  const std::int64_t together = groups_together(tasks);
  team_.run([&](std::int64_t thread) {
    const auto [first, last] = share(n_blocks_, thread, team_.size());
    const std::int64_t end = std::min(last * kBlockGroups, n_groups_);
    for (std::int64_t group = first * kBlockGroups; group < end; group += together) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) return;
      const std::int64_t block = group / kBlockGroups;
      const std::int64_t n = std::min(together, end - group);
      RightCounts* here = by_thread + static_cast<std::size_t>(thread) * tasks.size();
      for (const RouteTask& task : tasks) {
        if (task.concerns(block)) kernels_.route(task, group, n, *here);
        ++here;
      }
    }
  });
  add_counts(tasks.size(), counts);
}

void CpuBackend::rebuild(std::span<const RebuildTask> trees, RightCounts* counts) {
  std::size_t n_rules = 0;
  for (const RebuildTask& tree : trees) n_rules += tree.rules.size();
  RightCounts* by_thread = clear_counts(n_rules);
  team_.run([&](std::int64_t thread) {
    const auto [first, last] = share(n_blocks_, thread, team_.size());
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t group = block * kBlockGroups;
      const std::int64_t n = std::min(kBlockGroups, n_groups_ - group);
      const std::int64_t row = block * kBlockRows;
      RightCounts* here = by_thread + static_cast<std::size_t>(thread) * n_rules;
      for (const RebuildTask& tree : trees) {
        std::fill_n(tree.code + row, std::min(kBlockRows, n_rows_ - row), tree.start_code);
        for (std::size_t k = 0; k < tree.rules.size(); ++k) {
          kernels_.route(tree.rules[k], group, n, *here++);
          kernels_.assign(tree.code + row, tree.rules[k].right + group, n, tree.right_code[k]);
        }
        if (tree.masks != nullptr) tree.masks[block] = find_codes(tree.code + row, n * kGroupRows);
      }
    }
  });
  add_counts(n_rules, counts);
}

PassSums CpuBackend::apply_and_sum(const PassTask& task) {
  const auto n_cells = static_cast<std::size_t>(task.sum.code != nullptr ? task.sum.n_cells : 0);
  const std::size_t n_sums = static_cast<std::size_t>(n_blocks_) * n_cells;
  const bool is_weighted = task.weight != nullptr;
  if (sums_.size() < n_sums) sums_.resize(n_sums);
  if (is_weighted && weights_.size() < n_sums) weights_.resize(n_sums);
  const BlockSums by_block{sums_.data(), is_weighted ? weights_.data() : nullptr};
  team_.run([&](std::int64_t thread) {
    const auto [first, last] = share(n_blocks_, thread, team_.size());
    kernels_.apply_and_sum(task, by_block, first, last);
  });
  for (const BlockRange& run : runs_) {
    const auto width = static_cast<std::int64_t>(n_cells);
    add_in_pairs(sums_.data(), run.first, run.last, width);
    if (is_weighted) add_in_pairs(weights_.data(), run.first, run.last, width);
  }
  return {sums_.data(), weights_.data()};
}

void CpuBackend::refresh_block(const RefreshTask& task, std::int64_t block) const {
  double sum[kBlockRows];
  const std::int64_t row = block * kBlockRows;
  const std::int64_t n_groups = std::min(kBlockGroups, n_groups_ - block * kBlockGroups);
  const std::int64_t n = n_groups * kGroupRows;
  std::fill_n(sum, n, 0.0);
  for (const TreeTerms& tree : task.trees)
    kernels_.accumulate_double(sum, tree.code + row, tree.terms, tree.wide, n_groups);
  const double* target = task.target + row;
  float* residual = task.residual + row;
  const std::int64_t n_real = std::min(n, n_rows_ - row);
  if (task.combine == Combine::add)
    for (std::int64_t i = 0; i < n_real; ++i) residual[i] = static_cast<float>(target[i] - sum[i]);
  else
    for (std::int64_t i = 0; i < n_real; ++i)
      residual[i] = static_cast<float>(target[i] * det_exp(sum[i]));
  std::fill(residual + n_real, residual + n, 0.0F);
}

void CpuBackend::refresh(const RefreshTask& task, const std::atomic<bool>* stop) {
  team_.run([&](std::int64_t thread) {
    const auto [first, last] = share(n_blocks_, thread, team_.size());
    for (std::int64_t block = first; block < last; ++block) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) return;
      refresh_block(task, block);
    }
  });
}

void CpuBackend::scale_fit(const double* target, double factor, float* residual) {
  team_.run([&](std::int64_t thread) {
    const auto [first, last] = share(n_blocks_, thread, team_.size());
    const std::int64_t end = std::min(last * kBlockRows, n_rows_);
    for (std::int64_t i = first * kBlockRows; i < end; ++i) {
      const double f = target[i] - static_cast<double>(residual[i]);
      residual[i] = static_cast<float>(target[i] - factor * f);
    }
  });
}

double CpuBackend::weighted_squares(const FitRows& rows) {
  return sum_weighted_squares(rows, n_groups_ * kGroupRows);
}

FitSums CpuBackend::fit_sums(const FitRows& rows) { return sum_fit(rows, n_groups_ * kGroupRows); }

}  // namespace obart
