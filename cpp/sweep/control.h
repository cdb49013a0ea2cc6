// What the thread that samples shares with the one that watches it.
#pragma once

#include <atomic>
#include <cstdint>

namespace obart {

class Control {
 public:
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  const std::atomic<bool>* flag() const { return &stop_; }
  void report(std::int64_t sweep, double sigma, double acceptance) {
    sigma_.store(sigma, std::memory_order_relaxed);
    acceptance_.store(acceptance, std::memory_order_relaxed);
    sweep_.store(sweep, std::memory_order_release);
  }
  std::int64_t sweep() const { return sweep_.load(std::memory_order_acquire); }
  double sigma() const { return sigma_.load(std::memory_order_relaxed); }
  double acceptance() const { return acceptance_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> sweep_{0};
  std::atomic<double> sigma_{0.0}, acceptance_{0.0};
};

}  // namespace obart
