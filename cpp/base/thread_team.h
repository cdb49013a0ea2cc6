// A few threads that work on one chain together. They spin for a moment between tasks, because a
// task is one pass over the rows (tens of microseconds) and waking a sleeping thread costs as much.
#pragma once

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace obart {

// The first and the last of n pieces of work that a thread does.
inline std::pair<std::int64_t, std::int64_t> share(std::int64_t n, std::int64_t thread,
                                                   std::int64_t n_threads) {
  return {n * thread / n_threads, n * (thread + 1) / n_threads};
}

class ThreadTeam {
 public:
  explicit ThreadTeam(std::int64_t n_threads) : n_threads_(n_threads < 1 ? 1 : n_threads) {}
  ~ThreadTeam() {
    if (workers_.empty()) return;
    task_ = nullptr;
    start();
    for (std::thread& worker : workers_) worker.join();
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  std::int64_t size() const { return n_threads_; }

  // Calls work(thread) once on each thread, thread 0 being the caller's; returns when all are done.
  template <class Work>
  void run(const Work& work) {
    if (n_threads_ == 1) {
      work(std::int64_t{0});
      return;
    }
    launch();
    context_ = &work;
    task_ = [](const void* context, std::int64_t thread) {
      (*static_cast<const Work*>(context))(thread);
    };
    n_busy_.store(n_threads_ - 1, std::memory_order_relaxed);
    start();
    work(std::int64_t{0});
    for (int spins = 0; n_busy_.load(std::memory_order_acquire) != 0; ++spins)
      if (spins > kSpins) std::this_thread::yield();
  }

 private:
  static constexpr int kSpins = 20000;

  void launch() {
    if (!workers_.empty()) return;
    try {
      for (std::int64_t t = 1; t < n_threads_; ++t) workers_.emplace_back([this, t] { loop(t); });
    } catch (const std::system_error&) {  // the system has no more: fewer will do
      n_threads_ = static_cast<std::int64_t>(workers_.size()) + 1;
    }
  }
  void start() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  void loop(std::int64_t thread) {
    std::uint64_t seen = 0;
    for (;;) {
      for (int spins = 0; round_.load(std::memory_order_acquire) == seen; ++spins)
        if (spins > kSpins) round_.wait(seen, std::memory_order_acquire);
      ++seen;
      if (task_ == nullptr) return;
      task_(context_, thread);
      n_busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::int64_t n_threads_;
  std::vector<std::thread> workers_;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::int64_t> n_busy_{0};
  void (*task_)(const void*, std::int64_t) = nullptr;
  const void* context_ = nullptr;
};

}  // namespace obart
