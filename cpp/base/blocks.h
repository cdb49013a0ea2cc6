// Rows are handled in blocks of fixed size, reduced in a fixed order, so that sums have the same
// bits for any number of threads. Columns are padded to whole groups of 64 rows.
#pragma once

#include <cstdint>

namespace obart {

inline constexpr std::int64_t kGroupRows = 64;
inline constexpr std::int64_t kBlockRows = 1024;
inline constexpr std::int64_t kBlockGroups = kBlockRows / kGroupRows;

inline constexpr std::int64_t count_blocks(std::int64_t n_groups) {
  return (n_groups + kBlockGroups - 1) / kBlockGroups;
}

}  // namespace obart
