// What the thread that samples shares with the one that watches it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "likelihood/likelihood.h"

namespace obart {

class Control {
 public:
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  const std::atomic<bool>* flag() const { return &stop_; }

  // How far the chain is, and what its scales are, by name.
  struct Snapshot {
    std::int64_t sweep = 0;
    double sigma = 0.0;
    double acceptance = 0.0;
    std::vector<NamedScale> scales;
  };
  void report(Snapshot now) {
    const std::lock_guard lock(mutex_);
    now_ = std::move(now);
  }
  Snapshot snapshot() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }

 private:
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  Snapshot now_;
};

}  // namespace obart
