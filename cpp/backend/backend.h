// Where the rows are worked on. A chain asks its backend for a few operations over plain arrays;
// the backend knows nothing of priors, likelihoods or moves.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "backend/tasks.h"
#include "base/threads.h"

namespace obart {

// Sums of the residual, and of the weights where there are any, by cell. They stay where they are
// until the next pass.
struct PassSums {
  const double* residual;
  const double* weight;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Evaluates all rules on all rows, and counts. Ends early once `stop` (or null) is set; counts
  // and bits are then worthless.
  virtual void route(std::span<const RouteTask> tasks, const std::atomic<bool>* stop,
                     RightCounts* counts) = 0;
  // Codes of whole trees. `counts` has an entry for each rule, tree after tree.
  virtual void rebuild(std::span<const RebuildTask> trees, RightCounts* counts) = 0;
  virtual PassSums apply_and_sum(const PassTask& task) = 0;

  // Ends early once `stop` (or null) is set; the residual is then worthless.
  virtual void refresh(const RefreshTask& task, const std::atomic<bool>* stop) = 0;
  // f = t - r becomes factor times f.
  virtual void scale_fit(const double* target, double factor, float* residual) = 0;
  virtual double weighted_squares(const FitRows& rows) = 0;  // of w r^2
  virtual FitSums fit_sums(const FitRows& rows) = 0;
};

// A backend for tables of so many rows. Throws std::invalid_argument for an unknown name.
std::unique_ptr<Backend> make_backend(const std::string& name, std::int64_t n_rows,
                                      Threads threads);

}  // namespace obart
