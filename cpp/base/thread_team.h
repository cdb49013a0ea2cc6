// The threads that work on one chain together. A sweep has hundreds of passes over the rows, some
// of them a few microseconds long, so a task is handed over without a lock or a system call: the
// caller writes one word, on which the others spin, and each of them answers in a word of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/numa.h"

namespace obart {

// Processors that this process may use.
std::int64_t usable_cores();

class ThreadTeam {
 public:
  // It has one thread until it is told to have more.
  explicit ThreadTeam(std::int64_t most);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Threads of the next task, the caller's among them.
  std::int64_t size() const { return size_; }
  std::int64_t most() const { return most_; }
  // At most as many as it was made for, and fewer if the system has no more. The others sleep.
  void resize(std::int64_t n_threads);

  // What waits that took longer than `patience` seconds took in all. Threads that work do not let
  // the caller wait so long: their processors are busy with something else.
  double seconds_late() const { return seconds_late_; }
  void forget_late(double patience) { seconds_late_ = 0.0, patience_ = patience; }

  // Calls work(thread) once on each thread, thread 0 being the caller's; returns when all are done.
  // The others read a copy of the work that lies beside the word they wait for. What it has by
  // value reaches them soonest: each pointer to follow is another wait for the caller's cache.
  template <class Work>
  void run(const Work& work) {
    static_assert(std::is_trivially_copyable_v<Work> && sizeof(Work) <= kMostBytes);
    if (size_ == 1) {
      work(std::int64_t{0});
      return;
    }
    order_.task = [](const unsigned char* copy, std::int64_t thread) {
      (*std::launder(reinterpret_cast<const Work*>(copy)))(thread);
    };
    ::new (static_cast<void*>(order_.work)) Work(work);
    announce(Round(now_.number() + 1, size_));
    work(std::int64_t{0});
    await_others();
  }

 private:
  using Task = void (*)(const unsigned char* work, std::int64_t thread);
  static constexpr std::size_t kMostBytes = 256;
  // Two lines of the cache, because processors fetch them in pairs.
  static constexpr std::size_t kApart = 128;

  // A round is one task: its number, and how many threads take part.
  class Round {
   public:
    Round() = default;
    Round(std::uint64_t number, std::int64_t n_threads)
        : word_(number << kBits | static_cast<std::uint64_t>(n_threads)) {}
    explicit Round(std::uint64_t word) : word_(word) {}
    std::uint64_t word() const { return word_; }
    std::uint64_t number() const { return word_ >> kBits; }
    std::int64_t n_threads() const { return static_cast<std::int64_t>(word_ & kMask); }
    bool is_last() const { return n_threads() == 0; }
    bool concerns(std::int64_t thread) const { return is_last() || thread < n_threads(); }
    bool operator==(const Round&) const = default;

   private:
    static constexpr int kBits = 16;
    static constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
    std::uint64_t word_ = 1;  // the round before the first: the caller alone
  };

  struct alignas(kApart) Order {
    std::atomic<std::uint64_t> round{Round().word()};
    Task task = nullptr;
    alignas(std::max_align_t) unsigned char work[kMostBytes];
  };
  struct alignas(kApart) Answer {
    std::atomic<std::uint64_t> done{0};
  };
  // Threads that sleep are woken by it. `sleepers` is read in every round, and written only when a
  // thread falls asleep or wakes.
  struct alignas(kApart) Bell {
    std::atomic<std::uint32_t> rings{0};
    std::atomic<std::int32_t> sleepers{0};
    void ring_if_needed();
    // Sleeps until it rings, unless the round is another one already.
    void await(const std::atomic<std::uint64_t>& round, std::uint64_t seen);
  };

  void launch();
  void await_others();
  void await_slowly(const std::atomic<std::uint64_t>& done);
  void announce(Round round);
  void loop(std::int64_t thread);
  Round next_round(Round seen, std::int64_t thread);
  int spins(Round round) const;

  std::int64_t most_;
  std::int64_t size_ = 1;
  double patience_ = 1.0;
  double seconds_late_ = 0.0;
  const std::int64_t n_cores_;
  Round now_;
  Placement placement_;
  std::vector<std::thread> workers_;
  std::unique_ptr<Answer[]> answers_;  // by thread
  Order order_;
  Bell bell_;    // for those that take part
  Bell parked_;  // for the others
};

}  // namespace obart
