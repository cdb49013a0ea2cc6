// Every operator new of the program is counted.
#pragma once

#include <cstdint>

namespace obart::testing {

std::int64_t n_allocations();

}  // namespace obart::testing
