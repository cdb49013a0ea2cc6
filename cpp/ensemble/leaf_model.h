// Leaf models: what a leaf's output means. Each is a type with
//
//   kName, kCombine                  its name, and how an output acts on the residual of its rows
//   kFirstOutput                     the output of the roots that a chain starts with
//   kScaleIsConjugate                whether leaf_sd^2 is inverse-gamma given the outputs; if not,
//                                    log_outputs(leaf_sd, sums) is their log density
//   Stats                            sufficient statistics of the rows of a cell, with a sum;
//   Stats{}
//                                    means no data
//   set(sigma, leaf_sd)              before the trees of a sweep, or before each tree
//   stats(cell, old)                 from what a pass gives for a cell, and the output that its
//                                    rows have now
//   log_split_gain(l, r)             log marginal likelihood of two leaves over that of one
//   log_change_gain(l, r, l*, r*)    the same two leaves under another rule
//   draw(stats, rng)                 an output from its conditional
//   draw_prior(leaf_sd, rng)         an output from its prior
//   delta(old, now)                  what the residual is combined with where the output changes
//   term(output), residual(t, sum)   the residual from scratch: from the target and the sum of the
//                                    terms of all trees; 0 for padding rows
//
// and, if kKeepsDeviations, what normal_leaf.h says of deviations. The sweep is a template over the
// leaf model, so a new one is a file and an entry of this list.
#pragma once

#include <variant>

#include "ensemble/gamma_leaf.h"
#include "ensemble/normal_leaf.h"

namespace obart {

using LeafModel = std::variant<NormalLeaf, PrecisionLeaf, RateLeaf>;

// Throws std::invalid_argument for a name that no model of the list has.
LeafModel make_leaf_model(const LeafSettings& settings);

}  // namespace obart
