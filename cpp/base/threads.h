// How many threads a chain may use.
#pragma once

#include <cstdint>

namespace obart {

struct Threads {
  std::int64_t most = 1;
  bool fixed = false;  // always as many; otherwise as many of them as pay
};

}  // namespace obart
