// Every table of kernels against plain loops, on random tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace obart::testing {

struct KernelChecks {
  std::vector<std::string> tables;
  std::int64_t n_tasks = 0;
  std::int64_t n_different = 0;  // outputs that are not the same bits
};

KernelChecks check_kernels(std::uint64_t seed);

}  // namespace obart::testing
