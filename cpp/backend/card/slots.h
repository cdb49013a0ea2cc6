// In what order a card holds rows. A thread sums one of the sixteen lanes of a block of 1,024 rows,
// so the 64 rows of a lane lie side by side: row i of lane l, which is row 16 i + l of the block,
// is slot 64 l + i of the block. Blocks are whole; slots without a row are padding.
#pragma once

#include <cstdint>

namespace obart::card {

inline constexpr int kLaneRows = 64;    // of a lane in a block
inline constexpr int kBlockLanes = 16;  // of a block
inline constexpr int kBlockSlots = 1024;
inline constexpr std::uint8_t kPadding = 255;  // the code of padding

// What a lane reads at once.
struct FourFloats {
  alignas(16) float value[4];
};
struct FourWords {
  alignas(16) std::uint32_t value[4];
};

inline std::int64_t row_of_slot(std::int64_t slot) {
  const std::int64_t in_block = slot % kBlockSlots;
  return slot - in_block + in_block % kLaneRows * kBlockLanes + in_block / kLaneRows;
}

}  // namespace obart::card
