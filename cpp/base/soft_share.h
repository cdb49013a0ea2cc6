// How a soft rule shares out a row.
#pragma once

namespace obart {

// Internal linkage on purpose: the linker must not share code between files that are compiled for
// different instruction sets.
namespace {

// The share that goes left, at z = (cut - phi'x) / width: it rises from 0 at -1 to 1 at 1, and is
// flat at both ends.
inline float share_at(float z) {
  const float below = z > 1.0F ? 1.0F : z;
  const float c = below < -1.0F ? -1.0F : below;
  return 0.5F + c * (0.75F - 0.25F * (c * c));
}

}  // namespace
}  // namespace obart
