// Phase 3 of a sweep for an ensemble of soft rules.
#pragma once

#include "sweep/phases.h"

namespace obart {

void update_soft(Ensemble& ensemble, NormalLeaf& leaf, double sigma, Workspace& work, Rng& rng,
                 StopFlag stop);

}  // namespace obart
