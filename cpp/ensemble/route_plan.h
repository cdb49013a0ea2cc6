// Rules as tasks for a backend.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/tasks.h"
#include "model/data.h"
#include "model/rule.h"

namespace obart {

// Tasks point into the terms, which must not move.
struct RoutePlan {
  std::vector<RouteTask> tasks;
  std::vector<RouteTask::Term> terms;

  // Room for so many terms.
  void clear(std::size_t n_terms);
  // What says which way a row goes.
  RouteTask describe(const Data& data, const RulePools& pools, const Rule& rule);
};

}  // namespace obart
