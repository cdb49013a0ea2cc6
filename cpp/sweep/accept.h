// What an accepted move does to a tree and to the counts of its ensemble.
#pragma once

#include "sweep/phases.h"

namespace obart {

// The move that is proposed for tree m. Outputs and codes of the rows are not its business.
void accept_move(Ensemble& ensemble, Workspace& work, std::size_t m);

}  // namespace obart
