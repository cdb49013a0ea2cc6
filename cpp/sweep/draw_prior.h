// The exact simulator of the prior: ensembles and scales, without data.
#pragma once

#include <vector>

#include "base/random.h"
#include "draws/draws.h"
#include "likelihood/likelihood.h"
#include "model/settings.h"

namespace obart {

struct EnsembleDraw {
  Draws trees;  // one draw
  std::vector<double> theta;
  double leaf_sd;
  std::vector<double> direction_weights;  // of a mixture
  std::vector<double> tree_scales;        // none where all are one
};

struct PriorDraw {
  std::vector<EnsembleDraw> ensembles;
  double sigma;
  std::vector<NamedScale> scales;  // of the likelihood
};

// Draws theta, sigma, leaf_sd and the trees from the prior restricted to valid ensembles:
// everything is drawn anew until all of it is valid. Throws after `max_attempts`.
PriorDraw draw_prior(const Data& data, const Settings& settings, Rng& rng,
                     std::int64_t max_attempts = 100'000'000);

}  // namespace obart
