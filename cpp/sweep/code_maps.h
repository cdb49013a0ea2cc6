// Where the rows of each leaf code go when a proposal is accepted.
#pragma once

#include <cstdint>

#include "moves/move.h"

namespace obart {

struct CodeMaps {
  std::uint8_t left[kTableSize], right[kTableSize];  // by the side of the proposed rule

  // Before the tree changes; the first n_map codes, and that of padding rows.
  void fill(const Tree& tree, const Proposal& proposal, std::size_t n_map) {
    for (std::size_t c = 0; c < n_map; ++c) left[c] = right[c] = static_cast<std::uint8_t>(c);
    left[kPaddingCode] = right[kPaddingCode] = kPaddingCode;
    if (proposal.effect == Effect::split_leaf) {
      right[proposal.left_code] = static_cast<std::uint8_t>(tree.n_leaves());
    } else if (proposal.effect == Effect::merge_leaves) {
      const PruneCodes codes = tree.prune_codes(proposal.node);
      for (int c = 0; c < tree.n_leaves(); ++c)
        left[c] = code_after_prune(codes, static_cast<std::uint8_t>(c));
    } else {
      left[proposal.right_code] = proposal.left_code;
      right[proposal.left_code] = proposal.right_code;
    }
  }
};

}  // namespace obart
