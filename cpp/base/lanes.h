// Sums in sixteen lanes, row i in lane i mod 16, which are added in one fixed order: the same bits
// for every width of the machine's registers.
#pragma once

namespace obart {

inline constexpr int kLanes = 16;

// Internal linkage on purpose: the linker must not share code between files that are compiled for
// different instruction sets.
namespace {

// Sixteen lanes to one double, always in this order.
inline double reduce(const float* lane) {
  double half[8];
  for (int i = 0; i < 8; ++i)
    half[i] = static_cast<double>(lane[i]) + static_cast<double>(lane[i + 8]);
  for (int width = 4; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) half[i] += half[i + width];
  return half[0];
}

}  // namespace
}  // namespace obart
