// Which leaf codes occur in a block of rows, as the bits of a word.
#pragma once

#include <cstdint>

namespace obart {

// Bit c stands for code c, the last bit for all codes from 63 on, the padding's among them. A mask
// may have a bit too many, never one too few.
using CodeMask = std::uint64_t;
inline constexpr int kOwnBits = 63;
inline constexpr CodeMask kSharedBit = CodeMask{1} << kOwnBits;
inline constexpr CodeMask kAnyCodes = ~CodeMask{0};

// Internal linkage, because kernels for several instruction sets use them (base/lanes.h).
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

}  // namespace obart
