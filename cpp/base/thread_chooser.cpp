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

constexpr double kPays = 0.95;        // of the time: more threads are taken
constexpr double kSaves = 1.0;        // fewer are taken
constexpr double kNoWorse = 1.1;      // twice as many may still pay
constexpr double kScales = 1.4;       // half of them take so much longer: they are needed
constexpr double kClear = 0.25;       // difference that needs no further run
constexpr double kSlower = 1.25;      // than after the last look: time for another
constexpr double kHopeless = 3.0;     // one sweep is enough to see it
constexpr double kWaking = 0.01;      // seconds
constexpr double kLookShare = 0.02;   // of the time, at most, is spent on looks
constexpr double kLongestRest = 1e6;  // sweeps
constexpr double kShortest = 1e-9;    // seconds
constexpr double kMemory = 0.9;       // of the running mean

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
      interval_(kFirstLook) {}

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
  if (n_since_look_ < interval_ && !has_slowed) return;
  has_moved_ = false;
  has_slowed_ = has_slowed;
  look_seconds_ = 0.0;
  // To try fewer threads costs most where all of them are needed: only at first, and if sweeps take
  // longer than they did. Then so few are out of the question that they would have been slower
  // before.
  may_turn_ = reference_ == 0.0 || has_slowed;
  fewest_ = 1;
  if (has_slowed) {
    interval_ = kFirstInterval;
    fewest_ =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(settled_) * reference_ / recent_));
  }
  begin_look(has_slowed ? Direction::down : Direction::up);
}

void ThreadChooser::begin_look(Direction first) {
  if (begin_trial(first, settled_) || turn(first)) return;
  end_look();
}

// Tries the other direction, once in a look.
bool ThreadChooser::turn(Direction from) {
  if (!may_turn_) return false;
  may_turn_ = false;
  return begin_trial(from == Direction::up ? Direction::down : Direction::up, settled_);
}

void ThreadChooser::end_look() {
  candidate_ = 0;
  n_since_look_ = 0;
  interval_ =
      has_moved_ ? kFirstInterval : std::clamp(2 * interval_, kFirstInterval, kLongestInterval);
  if (recent_ > 0.0) {
    const double rest = look_seconds_ / (kLookShare * recent_);
    interval_ = std::max(interval_, static_cast<std::int64_t>(std::min(rest, kLongestRest)));
  }
  reference_ = recent_;
}

void ThreadChooser::give_up(double seconds) {
  if (!is_trying()) look_seconds_ = 0.0;
  look_seconds_ += seconds;
  has_moved_ = true;
  const bool is_candidate = is_candidates_turn();
  end_look();
  if (is_candidate) return;
  settled_ = efficient(std::max<std::int64_t>(settled_ / 2, 1));
  recent_ = reference_ = 0.0;  // of another number
}

// ---- one number against another ----------------------------------------------------------------

// Twice or half as many threads as `from`, if there is such a number.
bool ThreadChooser::begin_trial(Direction direction, std::int64_t from) {
  const std::int64_t other = direction == Direction::up
                                 ? efficient(std::min(2 * from, most_))
                                 : efficient(std::max<std::int64_t>(from / 2, 1));
  if (direction == Direction::up ? other <= from : other >= from || other < fewest_) return false;
  direction_ = direction;
  candidate_ = other;
  run_ = n_in_run_ = 0;
  mean_ = {};
  n_timed_ = recent_ > kLongSweep
                 ? 1
                 : static_cast<int>(std::clamp(kRunSeconds / std::max(recent_, kShortest),
                                               static_cast<double>(kFewestTimed),
                                               static_cast<double>(kMostTimed)));
  return true;
}

void ThreadChooser::add_to_trial(double seconds) {
  if (is_candidates_turn()) {
    const double usual = mean_[0] / std::max(1, run_ / 2 + run_ % 2);
    look_seconds_ += std::max(seconds - usual, 0.0);
    // The first sweep of a run may have to wake threads.
    if (seconds > kHopeless * usual + (n_in_run_ == 0 ? kWaking : 0.0)) {
      mean_[1] = seconds;
      mean_[0] = usual;
      run_ = 2;
      end_trial(kHopeless);
      return;
    }
  }
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
  const Direction direction = direction_;
  const std::int64_t tried = candidate_;
  const bool is_better = direction == Direction::up ? ratio < kPays : ratio <= kSaves;
  recent_ = mean_[is_better ? 1 : 0] / (0.5 * run_);
  candidate_ = 0;
  if (is_better) {
    settled_ = tried;
    has_moved_ = true;
    may_turn_ = false;
  }
  // A number in between can be worse than those on both sides.
  const bool is_worth_more =
      is_better || has_slowed_ || ratio < (direction == Direction::up ? kNoWorse : kScales);
  if (is_worth_more && begin_trial(direction, tried)) return;
  if (!turn(direction)) end_look();
}

}  // namespace obart
