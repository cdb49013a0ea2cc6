#include "base/thread_team.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace obart {
namespace {

constexpr std::int64_t kMostThreads = 1024;

// A thread that waits looks again so many times with a pause (about 0.1 ms), then so many times
// after it has let others run (about 1 ms, or more if there are others), and then it may sleep. The
// scalar work between the passes of a sweep is shorter than this, unless there is a lot of it.
constexpr int kSpins = 3000;
constexpr int kYields = 2000;
constexpr double kSpinSeconds = 5e-5;  // that kSpins take, at least
// With more threads than processors, the one that is waited for may need this one's.
constexpr int kCrowdedSpins = 20;

void pause_processor() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void pause_or_yield(int n_looks, int n_spins) {
  if (n_looks < n_spins)
    pause_processor();
  else
    std::this_thread::yield();
}

}  // namespace

std::int64_t usable_cores() {
  const std::int64_t allowed = n_allowed_processors();
  return allowed > 0 ? allowed : std::max(1U, std::thread::hardware_concurrency());
}

// ---- bells -------------------------------------------------------------------------------------

// All orders here are sequentially consistent: either the sleeper sees the new round, which was
// written before, or the caller sees the sleeper.
void ThreadTeam::Bell::ring_if_needed() {
  if (sleepers.load() == 0) return;
  rings.fetch_add(1);
  rings.notify_all();
}

void ThreadTeam::Bell::await(const std::atomic<std::uint64_t>& round, std::uint64_t seen) {
  sleepers.fetch_add(1);
  const std::uint32_t heard = rings.load();
  if (round.load() == seen) rings.wait(heard);
  sleepers.fetch_sub(1);
}

// ---- the caller's side -------------------------------------------------------------------------

ThreadTeam::ThreadTeam(std::int64_t most)
    : most_(std::clamp<std::int64_t>(most, 1, kMostThreads)),
      n_cores_(usable_cores()),
      answers_(std::make_unique<Answer[]>(static_cast<std::size_t>(most_))) {
  workers_.reserve(static_cast<std::size_t>(most_));
}

ThreadTeam::~ThreadTeam() {
  if (workers_.empty()) return;
  announce(Round(now_.number() + 1, 0));
  parked_.ring_if_needed();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadTeam::resize(std::int64_t n_threads) {
  size_ = std::clamp<std::int64_t>(n_threads, 1, most_);
  launch();
}

void ThreadTeam::launch() {
  if (static_cast<std::int64_t>(workers_.size()) + 1 >= size_) return;
  if (workers_.empty()) placement_ = Placement::near_caller(most_);
  try {
    while (static_cast<std::int64_t>(workers_.size()) + 1 < size_) {
      const auto thread = static_cast<std::int64_t>(workers_.size()) + 1;
      workers_.emplace_back([this, thread] {
        placement_.apply();
        loop(thread);
      });
    }
    return;
  } catch (const std::system_error&) {  // the system has no more, or no memory: fewer will do
  } catch (const std::bad_alloc&) {
  }
  most_ = size_ = static_cast<std::int64_t>(workers_.size()) + 1;
}

void ThreadTeam::announce(Round round) {
  const bool grows = round.n_threads() > now_.n_threads();
  now_ = round;
  order_.round.store(round.word());
  bell_.ring_if_needed();
  if (grows) parked_.ring_if_needed();
}

void ThreadTeam::await_others() {
  const int n_spins = spins(now_);
  for (std::int64_t thread = 1; thread < size_; ++thread) {
    const std::atomic<std::uint64_t>& done = answers_[static_cast<std::size_t>(thread)].done;
    int looks = 0;
    while (done.load(std::memory_order_acquire) != now_.word() && looks++ < n_spins)
      pause_processor();
    if (looks > n_spins) await_slowly(done);
  }
}

void ThreadTeam::await_slowly(const std::atomic<std::uint64_t>& done) {
  const auto begin = std::chrono::steady_clock::now();
  while (done.load(std::memory_order_acquire) != now_.word()) std::this_thread::yield();
  const std::chrono::duration<double> more = std::chrono::steady_clock::now() - begin;
  const double wait = kSpinSeconds + more.count();
  if (wait > patience_) seconds_late_ += wait;
}

// ---- the others' side --------------------------------------------------------------------------

int ThreadTeam::spins(Round round) const {
  return round.n_threads() <= n_cores_ ? kSpins : kCrowdedSpins;
}

void ThreadTeam::loop(std::int64_t thread) {
  Round seen;
  std::atomic<std::uint64_t>& done = answers_[static_cast<std::size_t>(thread)].done;
  for (;;) {
    seen = next_round(seen, thread);
    if (seen.is_last()) return;
    order_.task(order_.work, thread);
    done.store(seen.word(), std::memory_order_release);
  }
}

// The next round in which this thread takes part.
ThreadTeam::Round ThreadTeam::next_round(Round seen, std::int64_t thread) {
  for (int looks = 0;; ++looks) {
    const Round round(order_.round.load(std::memory_order_acquire));
    if (round != seen) {
      if (round.concerns(thread)) return round;
      seen = round;
    }
    if (!seen.concerns(thread)) {
      parked_.await(order_.round, seen.word());
      looks = 0;
    } else if (looks < spins(seen) + kYields) {
      pause_or_yield(looks, spins(seen));
    } else {
      bell_.await(order_.round, seen.word());
    }
  }
}

}  // namespace obart
