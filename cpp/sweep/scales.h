// The scales of an ensemble's outputs.
#pragma once

#include "sweep/chain_state.h"

namespace obart {

void update_leaf_sd(ChainState& state, std::size_t e);

// The scale of each tree, given its outputs and leaf_sd.
void update_tree_scales(Ensemble& ensemble, Rng& rng);

}  // namespace obart
