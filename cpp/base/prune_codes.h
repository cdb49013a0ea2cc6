// Where the codes of a tree's leaves go when two of them are merged. Also compiled for graphics
// cards.
#pragma once

#include <cstdint>

namespace obart {

// The right leaf's code joins the left one's, and the last code fills the gap.
struct PruneCodes {
  std::uint8_t left, right, last;
};

inline std::uint8_t code_after_prune(PruneCodes codes, std::uint8_t code) {
  if (code == codes.right) code = codes.left;
  if (code == codes.last) code = codes.right;
  return code;
}

}  // namespace obart
