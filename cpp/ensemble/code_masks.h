// Which leaf codes occur in each block of rows, a mask for each tree and block. Where the rows of a
// large table are in a good order, a block has few of a tree's leaves, and most of a sweep's work
// can be left out there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/code_mask.h"
#include "base/aligned_buffer.h"

namespace obart {

class CodeMasks {
 public:
  // In small tables trees have few leaves and most blocks have them all: no masks are kept.
  static constexpr std::int64_t kFewestBlocks = 32;

  CodeMasks() = default;
  CodeMasks(std::size_t n_trees, std::int64_t n_blocks)
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
