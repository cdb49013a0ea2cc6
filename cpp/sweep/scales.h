// The scale of an ensemble's outputs.
#pragma once

#include "sweep/chain_state.h"

namespace obart {

void update_leaf_sd(ChainState& state, std::size_t e);

}  // namespace obart
