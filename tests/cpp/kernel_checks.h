// Every table of kernels against plain loops, on random tasks.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/simd.h"

namespace obart::testing {

struct KernelChecks {
  std::vector<std::string> tables;
  std::int64_t n_tasks = 0;
  std::int64_t n_different = 0;  // outputs that are not the same bits
};

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// A random task, done by each table and plainly.
template <class Task, class KernelsOf>
void check_task(Rng& rng, std::int64_t n_groups, int size, const KernelsOf& kernels_of,
                KernelChecks& found) {
  const Task task(rng, n_groups, size);
  Task expected = task;
  expected.run_plainly();
  ++found.n_tasks;
  for (const Simd level : available_simd()) {
    Task done = task;
    done.run(kernels_of(level));
    if (!(done == expected)) ++found.n_different;
  }
}

void check_soft_kernels(Rng& rng, KernelChecks& found);
KernelChecks check_kernels(std::uint64_t seed);

}  // namespace obart::testing
