// How many threads a chain uses, from what its sweeps take. Pure logic: it has no clock and no
// threads. Draws do not depend on the number, so trying another one costs nothing but time.
#pragma once

#include <array>
#include <cstdint>

namespace obart {

class ThreadChooser {
 public:
  ThreadChooser(std::int64_t n_blocks, std::int64_t most);

  // Of the next sweep.
  std::int64_t n_threads() const { return is_candidates_turn() ? candidate_ : settled_; }
  // What the sweep with so many threads took.
  void add(double seconds);
  // Called in place of `add`, in the middle of a sweep: its threads have no processors and made it
  // wait for so many seconds. The rest of the sweep has fewer.
  void give_up(double seconds);
  // About what a sweep takes; 0 before the first.
  double recent() const { return recent_; }
  std::int64_t most() const { return most_; }
  // False where more than one thread can never pay.
  bool has_choice() const { return most_ > 1; }

 private:
  enum class Direction : std::uint8_t { up, down };

  // Two numbers of threads take turns: runs of a few sweeps each. The first sweep of a run is left
  // out, because the other threads' caches hold its rows.
  static constexpr int kMostRuns = 6;  // three of each
  static constexpr int kMostTimed = 32;

  bool is_candidates_turn() const;
  bool is_trying() const { return candidate_ > 0; }
  std::int64_t efficient(std::int64_t n_threads) const;
  bool begin_trial(Direction direction, std::int64_t from);
  bool turn(Direction from);
  void add_to_trial(double seconds);
  void end_trial(double ratio);
  void watch(double seconds);
  void begin_look(Direction first);
  void end_look();

  std::int64_t n_blocks_, most_, settled_;
  std::int64_t candidate_ = 0;  // none
  Direction direction_ = Direction::up;
  bool may_turn_ = false;    // the other direction is still to be tried in this look
  bool has_moved_ = false;   // in this look
  bool has_slowed_ = false;  // which is why this look was taken
  std::int64_t fewest_ = 1;  // that this look tries
  int n_timed_ = 1;          // sweeps of a run, without the first
  int run_ = 0;              // of the trial
  int n_in_run_ = 0;         // sweeps so far, with the first
  std::array<double, kMostTimed> run_seconds_{};
  std::array<double, 2> mean_{};  // sums over runs of their medians: settled, candidate

  std::int64_t n_since_look_ = 0;
  std::int64_t interval_;      // until the next look
  double look_seconds_ = 0.0;  // that the present look has cost
  double recent_ = 0.0;        // a running mean of what sweeps take
  double reference_ = 0.0;     // the same after the last look
};

}  // namespace obart
