// Phase 3 where the rows are not in this machine's memory: all trees go there together, and what
// became of them is repeated here.
#pragma once

#include "sweep/phases.h"

namespace obart {

void update_elsewhere(Ensemble& ensemble, NormalLeaf& leaf, double sigma, Workspace& work,
                      TreesBackend& backend, Rng& rng);

}  // namespace obart
