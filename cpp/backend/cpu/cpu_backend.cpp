#include "backend/cpu/cpu_backend.h"

#include <algorithm>

#include "backend/fit_sums.h"
#include "base/math.h"

namespace obart {

// Sums over the rows that one call asks for, at most.
static constexpr int kMostRowSums = 2;

// Seconds that the caller waits for the other threads of a pass, in all and more for each block of
// a share, before they are late; and how late they may be in a sweep, in all.
static constexpr double kPatience = 2e-5;
static constexpr double kBlockPatience = 2e-6;
static constexpr double kMostLate = 5e-3;

// ---- threads -----------------------------------------------------------------------------------

CpuBackend::CpuBackend(std::int64_t n_rows, Threads threads, std::vector<BlockRange> runs)
    : kernels_(cpu_kernels(chosen_simd())),
      n_rows_(n_rows),
      n_groups_((n_rows + kGroupRows - 1) / kGroupRows),
      n_blocks_(count_blocks(n_groups_)),
      runs_(std::move(runs)),
      chooser_(n_blocks_, std::min(threads.most, usable_cores())),
      is_choosing_(!threads.fixed && chooser_.has_choice()),
      team_(threads.fixed ? threads.most : chooser_.most()),
      shares_(n_blocks_) {
  // As many as there can be, so that a sweep does not allocate. Memory that is never touched costs
  // nothing.
  sums_.reserve(static_cast<std::size_t>(n_blocks_) * kTableSize);
  weights_.reserve(sums_.capacity());
  if (team_.most() > 1) {
    shares_.reserve(team_.most());
    row_sums_.resize(static_cast<std::size_t>(n_blocks_) * kMostRowSums);
  }
  use_threads(threads.fixed ? threads.most : chooser_.n_threads());
}

void CpuBackend::use_threads(std::int64_t n_threads) {
  team_.resize(n_threads);
  shares_.set_threads(team_.size());
}

// Before the first routing of a sweep.
void CpuBackend::choose_threads() {
  if (!is_choosing_ || !watch_.begins_sweep()) return;
  if (watch_.has_time()) chooser_.add(watch_.seconds());
  if (chooser_.n_threads() != team_.size()) use_threads(chooser_.n_threads());
  team_.forget_late(kPatience + kBlockPatience * static_cast<double>(n_blocks_ / team_.size()));
  watch_.begin();
}

// After a pass. Where other jobs have the processors, a pass can take as long as a sweep should:
// the rest of this one has fewer threads.
void CpuBackend::note_pass(bool is_last_of_ensemble) {
  if (team_.seconds_late() > kMostLate + 0.5 * chooser_.recent()) {
    chooser_.give_up(team_.seconds_late());
    use_threads(chooser_.n_threads());
    watch_.give_up();
    team_.forget_late(kPatience + kBlockPatience * static_cast<double>(n_blocks_ / team_.size()));
  }
  watch_.note_pass(is_last_of_ensemble);
}

void CpuBackend::SweepWatch::begin() {
  is_routing_ = true;
  has_ended_ = has_given_up_ = false;
  begin_ = Clock::now();
}

void CpuBackend::SweepWatch::note_pass(bool is_last_of_ensemble) {
  is_routing_ = false;
  if (!is_last_of_ensemble || has_given_up_) return;
  has_ended_ = true;
  end_ = Clock::now();
}

// The bits of sum_rows.
template <int N, class Add>
void CpuBackend::sum_all_rows(double (&total)[N], const Add& add) {
  static_assert(N <= kMostRowSums);
  const std::int64_t n_padded = n_groups_ * kGroupRows;
  if (team_.size() == 1) {
    sum_rows(n_padded, total, add);
    return;
  }
  for_shares([&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      double sum[N];
      sum_block(block * kBlockRows, n_padded, sum, add);
      std::copy_n(sum, N, row_sums_.data() + block * N);
    }
    shares_.add_own(row_sums_.data(), N, {first, last});
  });
  shares_.add_rest(row_sums_.data(), N);
  std::copy_n(row_sums_.data(), N, total);
}

// Those of a thread begin on a line of the cache.
std::size_t CpuBackend::padded_counts(std::size_t n) {
  constexpr std::size_t line = 128 / sizeof(RightCounts);
  return (n + line - 1) / line * line + line;
}

void CpuBackend::reserve_counts(std::size_t n) {
  const std::size_t size = static_cast<std::size_t>(team_.size()) * padded_counts(n);
  if (thread_counts_.size() < size) thread_counts_.resize(size);
}

// Each thread adds up those of some rules.
void CpuBackend::add_counts(std::size_t n, RightCounts* counts) {
  const auto n_threads = static_cast<std::size_t>(team_.size());
  if (n_threads == 1) {
    std::copy_n(thread_counts(0, n), n, counts);
    return;
  }
  team_.run([&](std::int64_t part) {
    const auto p = static_cast<std::size_t>(part);
    for (std::size_t k = n * p / n_threads; k < n * (p + 1) / n_threads; ++k) {
      RightCounts sum;
      for (std::int64_t thread = 0; thread < team_.size(); ++thread) {
        const RightCounts& here = thread_counts(thread, n)[k];
        sum.of_left += here.of_left;
        sum.of_right += here.of_right;
      }
      counts[k] = sum;
    }
  });
}

// ---- the work ----------------------------------------------------------------------------------

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
  choose_threads();
  reserve_counts(tasks.size());
  const std::int64_t together = groups_together(tasks);
  team_.run([&](std::int64_t thread) {
    RightCounts* const own = thread_counts(thread, tasks.size());
    std::fill_n(own, tasks.size(), RightCounts{});
    const auto [first, last] = shares_.of(thread);
    const std::int64_t end = std::min(last * kBlockGroups, n_groups_);
    for (std::int64_t group = first * kBlockGroups; group < end; group += together) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) return;
      const std::int64_t block = group / kBlockGroups;
      const std::int64_t n = std::min(together, end - group);
      RightCounts* here = own;
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
  watch_.reset();
  reserve_counts(n_rules);
  team_.run([&](std::int64_t thread) {
    RightCounts* const own = thread_counts(thread, n_rules);
    std::fill_n(own, n_rules, RightCounts{});
    const auto [first, last] = shares_.of(thread);
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t group = block * kBlockGroups;
      const std::int64_t n = std::min(kBlockGroups, n_groups_ - group);
      const std::int64_t row = block * kBlockRows;
      RightCounts* here = own;
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
  const auto width = static_cast<std::int64_t>(n_cells);
  if (!runs_.empty()) {
    for_shares([this, task, by_block](std::int64_t first, std::int64_t last) {
      kernels_.apply_and_sum(task, by_block, first, last);
    });
    for (const BlockRange& run : runs_) {
      add_in_pairs(sums_.data(), run.first, run.last, width);
      if (is_weighted) add_in_pairs(weights_.data(), run.first, run.last, width);
    }
  } else if (team_.size() == 1) {
    kernels_.apply_and_sum(task, by_block, 0, n_blocks_);
    add_in_pairs(sums_.data(), 0, n_blocks_, width);
    if (is_weighted) add_in_pairs(weights_.data(), 0, n_blocks_, width);
  } else {
    for_shares([this, task, by_block, width](std::int64_t first, std::int64_t last) {
      kernels_.apply_and_sum(task, by_block, first, last);
      shares_.add_own(by_block.residual, width, {first, last});
      if (by_block.weight != nullptr) shares_.add_own(by_block.weight, width, {first, last});
    });
    shares_.add_rest(sums_.data(), width);
    if (is_weighted) shares_.add_rest(weights_.data(), width);
  }
  if (is_choosing_) note_pass(task.sum.code == nullptr);
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
  for_shares([&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      if (stop != nullptr && stop->load(std::memory_order_relaxed)) return;
      refresh_block(task, block);
    }
  });
}

void CpuBackend::scale_fit(const double* target, double factor, float* residual) {
  for_shares([&](std::int64_t first, std::int64_t last) {
    const std::int64_t end = std::min(last * kBlockRows, n_rows_);
    for (std::int64_t i = first * kBlockRows; i < end; ++i) {
      const double f = target[i] - static_cast<double>(residual[i]);
      residual[i] = static_cast<float>(target[i] - factor * f);
    }
  });
}

double CpuBackend::weighted_squares(const FitRows& rows) {
  double total[1] = {};
  sum_all_rows(total, AddSquares{rows});
  return total[0];
}

FitSums CpuBackend::fit_sums(const FitRows& rows) {
  double total[2] = {};
  sum_all_rows(total, AddFit{rows});
  return {total[0], total[1]};
}

}  // namespace obart
