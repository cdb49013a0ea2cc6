// Where the rows are worked on. A chain asks its backend for a few operations over plain arrays;
// the backend knows nothing of priors, likelihoods or moves.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "backend/soft_tasks.h"
#include "backend/tasks.h"
#include "backend/trees_task.h"

namespace obart {

// Sums of the residual, and of the weights where there are any, by cell. They stay where they are
// until the next pass.
struct PassSums {
  const double* residual;
  const double* weight;
};

// The rows of an ensemble in this machine's memory.
struct HostRows {
  float* residual;
  const double* target;
  std::uint8_t* code;  // by tree, n_padded each
  std::int64_t n_trees;
};

class PassBackend;
class TreesBackend;

class Backend {
 public:
  virtual ~Backend() = default;

  // How the trees are updated: one of the two is not null.
  virtual PassBackend* by_pass() { return nullptr; }
  virtual TreesBackend* by_trees() { return nullptr; }

  // Null if it cannot share out rows between leaves, as soft rules do.
  virtual SoftRows* soft_rows() { return nullptr; }

  // Evaluates all rules on all rows, and counts. Ends early once `stop` (or null) is set; counts
  // and bits are then worthless.
  virtual void route(std::span<const RouteTask> tasks, const std::atomic<bool>* stop,
                     RightCounts* counts) = 0;
  // Codes of whole trees. `counts` has an entry for each rule, tree after tree.
  virtual void rebuild(std::span<const RebuildTask> trees, RightCounts* counts) = 0;

  // Ends early once `stop` (or null) is set; the residual is then worthless.
  virtual void refresh(const RefreshTask& task, const std::atomic<bool>* stop) = 0;
  // f = t - r becomes factor times f.
  virtual void scale_fit(const double* target, double factor, float* residual) = 0;
  virtual double weighted_squares(const FitRows& rows) = 0;  // of w r^2
  virtual FitSums fit_sums(const FitRows& rows) = 0;
};

// Comes back after each tree.
class PassBackend : public Backend {
 public:
  PassBackend* by_pass() final { return this; }
  virtual PassSums apply_and_sum(const PassTask& task) = 0;
};

// Has the rows in a memory of its own, and does not come back before all trees are updated. All
// trees start as a root.
class TreesBackend : public Backend {
 public:
  TreesBackend* by_trees() final { return this; }
  virtual void attach(const HostRows& rows) = 0;
  virtual void update_trees(const TreesTask& task) = 0;
  // This machine's memory: residual, target and weights become what they are; they have been
  // written; the codes become what they are.
  virtual void fetch_rows() = 0;
  virtual void rows_changed() = 0;
  virtual void fetch_codes() = 0;
};

}  // namespace obart
