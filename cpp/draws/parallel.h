// Independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace obart {

// Each thread makes a worker of its own and calls worker(piece) for the pieces it gets, in no fixed
// order. The first exception is thrown again at the end.
template <class MakeWorker>
void for_pieces(std::int64_t n_pieces, std::int64_t n_threads, const MakeWorker& make_worker) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&]() noexcept {
    try {
      auto worker = make_worker();
      for (std::int64_t piece; (piece = next.fetch_add(1)) < n_pieces;) worker(piece);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  const std::int64_t n_used = std::max<std::int64_t>(std::min(n_threads, n_pieces), 1);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(n_used - 1));
  // An exception must not leave this function while threads run. Where the system has no more of
  // them, or no memory, fewer will do.
  try {
    for (std::int64_t t = 1; t < n_used; ++t) threads.emplace_back(run);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  run();
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace obart
