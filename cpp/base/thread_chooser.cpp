#include "base/thread_chooser.h"

#include <algorithm>
#include <cmath>

namespace obart {
namespace {

// A thread with fewer blocks than this costs more than it does; with so many rows' worth it pays
// on any machine, so that is where a chain starts.
constexpr std::int64_t kFewestBlocks = 2;
constexpr std::int64_t kGoodBlocks = 8;

// The first sweeps are not typical: trees are small.
constexpr std::int64_t kFirstLook = 20;
constexpr std::int64_t kFirstInterval = 100;
constexpr std::int64_t kLongestInterval = 3200;
constexpr std::int64_t kFewestBetween = 50;

constexpr double kRunSeconds = 2e-3;
constexpr int kFewestTimed = 3;
constexpr double kLongSweep = 0.05;  // a run of these is one sweep, and the one left out

constexpr double kPays = 0.95;    // of the time: more threads are taken
constexpr double kSaves = 1.0;    // fewer are taken
constexpr double kClear = 0.25;   // difference that needs no further run
constexpr double kSlower = 1.25;  // than after the last look: time for another
constexpr double kMemory = 0.9;   // of the running mean

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double median(double* values, int n) {
  std::nth_element(values, values + n / 2, values + n);
  return values[n / 2];
}

}  // namespace

ThreadChooser::ThreadChooser(std::int64_t n_blocks, std::int64_t most)
    : n_blocks_(std::max<std::int64_t>(n_blocks, 1)),
      most_(efficient(
          std::clamp<std::int64_t>(most, 1, std::max<std::int64_t>(n_blocks_ / kFewestBlocks, 1)))),
      settled_(efficient(std::clamp<std::int64_t>(n_blocks_ / kGoodBlocks, 1, most_))),
      next_look_(kFirstLook),
      interval_(kFirstInterval) {}

// The fewest threads whose largest share is as small: a pass takes as long as that.
std::int64_t ThreadChooser::efficient(std::int64_t n_threads) const {
  return ceil_div(n_blocks_, ceil_div(n_blocks_, n_threads));
}

// Runs alternate, and so does who begins: settled, candidate, candidate, settled, ...
bool ThreadChooser::is_candidates_turn() const {
  return is_trying() && (run_ % 4 == 1 || run_ % 4 == 2);
}

void ThreadChooser::add(double seconds) {
  if (!has_choice()) return;
  if (is_trying())
    add_to_trial(seconds);
  else
    watch(seconds);
}

// ---- between looks -----------------------------------------------------------------------------

void ThreadChooser::watch(double seconds) {
  recent_ = recent_ == 0.0 ? seconds : kMemory * recent_ + (1.0 - kMemory) * seconds;
  ++n_since_look_;
  const bool has_slowed =
      reference_ > 0.0 && n_since_look_ >= kFewestBetween && recent_ > kSlower * reference_;
  if (n_since_look_ < next_look_ && !has_slowed) return;
  const bool is_first = reference_ == 0.0;
  // To try fewer threads costs most where all of them are needed: only at first and if sweeps take
  // longer than they did.
  may_turn_ = is_first || has_slowed;
  has_moved_ = false;
  if (has_slowed) interval_ = kFirstInterval;
  begin_look(has_slowed ? Direction::down : Direction::up);
}

void ThreadChooser::begin_look(Direction first) {
  if (begin_trial(first)) return;
  if (may_turn_) {
    may_turn_ = false;
    if (begin_trial(first == Direction::up ? Direction::down : Direction::up)) return;
  }
  end_look();
}

void ThreadChooser::end_look() {
  candidate_ = 0;
  n_since_look_ = 0;
  interval_ = has_moved_ ? kFirstInterval : std::min(2 * interval_, kLongestInterval);
  next_look_ = interval_;
  reference_ = recent_;
}

// ---- one number against another ----------------------------------------------------------------

bool ThreadChooser::begin_trial(Direction direction) {
  const std::int64_t other = direction == Direction::up
                                 ? efficient(std::min(2 * settled_, most_))
                                 : efficient(std::max<std::int64_t>(settled_ / 2, 1));
  if (direction == Direction::up ? other <= settled_ : other >= settled_) return false;
  direction_ = direction;
  candidate_ = other;
  run_ = n_in_run_ = 0;
  mean_ = {};
  n_timed_ = recent_ > kLongSweep
                 ? 1
                 : static_cast<int>(std::clamp(kRunSeconds / std::max(recent_, 1e-9),
                                               static_cast<double>(kFewestTimed),
                                               static_cast<double>(kMostTimed)));
  return true;
}

void ThreadChooser::add_to_trial(double seconds) {
  if (n_in_run_ > 0) run_seconds_[static_cast<std::size_t>(n_in_run_ - 1)] = seconds;
  if (n_in_run_++ < n_timed_) return;
  mean_[is_candidates_turn() ? 1 : 0] += median(run_seconds_.data(), n_timed_);
  n_in_run_ = 0;
  ++run_;
  if (run_ % 2 != 0) return;
  const double ratio = mean_[1] / std::max(mean_[0], 1e-12);
  if (run_ == kMostRuns || std::abs(ratio - 1.0) > kClear) end_trial(ratio);
}

void ThreadChooser::end_trial(double ratio) {
  const double n_runs = 0.5 * run_;
  const bool is_better = direction_ == Direction::up ? ratio < kPays : ratio <= kSaves;
  recent_ = mean_[is_better ? 1 : 0] / n_runs;
  if (is_better) {
    settled_ = candidate_;
    has_moved_ = true;
    may_turn_ = false;
  }
  candidate_ = 0;
  if (is_better ? begin_trial(direction_) : false) return;
  if (may_turn_) {
    may_turn_ = false;
    if (begin_trial(direction_ == Direction::up ? Direction::down : Direction::up)) return;
  }
  end_look();
}

}  // namespace obart
