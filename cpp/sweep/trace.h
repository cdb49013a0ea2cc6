// Scalars of the kept sweeps, by name.
#pragma once

#include <string>
#include <vector>

#include "sweep/chain_state.h"
#include "sweep/phases.h"

namespace obart {

struct Trace {
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;  // by name, one for each kept sweep

  // Notes the names; without draws they have no values.
  Trace(const ChainState& state, const std::vector<Workspace>& work);
  void add(const ChainState& state, const std::vector<Workspace>& work);

 private:
  void add(std::size_t k, const std::string& name, double value);
};

// Over the columns for which it has a meaning.
double mean_theta(const Ensemble& ensemble);
// Mean number of leaves of a tree.
double mean_leaves(const Ensemble& ensemble);

}  // namespace obart
