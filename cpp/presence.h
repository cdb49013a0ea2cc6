// Which leaf codes occur in each block of rows, a mask for each tree and block. Where the rows of a
// large table are in a good order, a block has few of a tree's leaves, and most of a sweep's work
// can be left out there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "aligned.h"
#include "data.h"

namespace obart {

// Bit c stands for code c, the last bit for all codes from 63 on, the padding's among them. A mask
// may have a bit too many, never one too few.
using CodeMask = std::uint64_t;
inline constexpr int kOwnBits = 63;
inline constexpr CodeMask kSharedBit = CodeMask{1} << kOwnBits;
inline constexpr CodeMask kAnyCodes = ~CodeMask{0};

// Internal linkage, because kernels for several instruction sets use them (kernels_lanes.h).
static inline CodeMask code_bit(std::uint8_t code) {
  return CodeMask{1} << (code < kOwnBits ? code : kOwnBits);
}
// Whether a block may have one of the codes; without masks any block may.
static inline bool may_have(const CodeMask* masks, std::int64_t block, CodeMask codes) {
  return masks == nullptr || (masks[block] & codes) != 0;
}

inline CodeMask find_codes(const std::uint8_t* code, std::int64_t n_rows) {
  std::uint8_t seen[256] = {};
  for (std::int64_t i = 0; i < n_rows; ++i) seen[code[i]] = 1;
  CodeMask mask = 0;
  for (int c = 0; c < 256; ++c)
    if (seen[c] != 0) mask |= code_bit(static_cast<std::uint8_t>(c));
  return mask;
}

class Presence {
 public:
  // In small tables trees have few leaves and most blocks have them all: no masks are kept.
  static constexpr std::int64_t kFewestBlocks = 32;

  Presence() = default;
  Presence(std::size_t n_trees, std::int64_t n_blocks)
      : n_blocks_(static_cast<std::size_t>(n_blocks)),
        mask_(n_blocks >= kFewestBlocks ? n_trees * n_blocks_ : 0) {}

  bool is_kept() const { return mask_.size() > 0; }
  // By block; null where no masks are kept.
  CodeMask* of_tree(std::size_t m) { return is_kept() ? mask_.data() + m * n_blocks_ : nullptr; }
  const CodeMask* of_tree(std::size_t m) const {
    return is_kept() ? mask_.data() + m * n_blocks_ : nullptr;
  }

 private:
  std::size_t n_blocks_ = 0;
  AlignedBuffer<CodeMask> mask_;
};

}  // namespace obart
