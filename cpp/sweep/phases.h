// The three phases of a sweep, for one ensemble: propose a move for every tree, route the rows by
// every proposed rule, then update tree after tree in one pass each.
#pragma once

#include <atomic>
#include <vector>

#include "backend/backend.h"
#include "ensemble/ensemble.h"
#include "sweep/soft_scratch.h"

namespace obart {

// What a backend that updates all trees by itself is given, and what comes back.
struct TreesScratch {
  std::vector<TreeTask> trees;
  std::vector<double> n_rows;
  std::vector<float> outputs, new_outputs;
  std::vector<std::uint8_t> accepted;

  void clear() {
    trees.clear();
    n_rows.clear();
    outputs.clear();
  }
};

// What the phases of a sweep hand on to each other.
struct Workspace {
  std::vector<Proposal> proposals;        // by tree
  std::vector<RightCounts> right_counts;  // by tree
  std::vector<std::uint64_t> places;      // by tree, of its proposed rule
  std::vector<std::size_t> routed;        // trees with a proposed rule
  std::vector<RightCounts> task_counts;   // by routed tree
  MoveCounts moves;                       // of this sweep
  TreesScratch elsewhere;
  SoftScratch soft;

  explicit Workspace(const EnsembleSettings& settings)
      : Workspace(static_cast<std::size_t>(settings.n_trees)) {
    if (settings.rules.soft) soft.reserve(64, 512);
  }

 private:
  explicit Workspace(std::size_t n_trees)
      : proposals(n_trees), right_counts(n_trees), places(n_trees), task_counts(n_trees) {
    routed.reserve(n_trees);
  }
};

// Set from another thread: the phases then end early, and what they leave is worthless.
struct StopFlag {
  const std::atomic<bool>* flag = nullptr;  // or null: never
  bool is_set() const { return flag != nullptr && flag->load(std::memory_order_relaxed); }
};

void propose_all(Ensemble& ensemble, Workspace& work, Rng& rng);
void route_all(Ensemble& ensemble, Workspace& work, StopFlag stop);
void update_trees(Ensemble& ensemble, Workspace& work, double sigma, Rng& rng, StopFlag stop);

}  // namespace obart
