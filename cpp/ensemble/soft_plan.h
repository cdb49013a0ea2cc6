// Trees of soft rules as tasks for a backend: their gates, and the columns of shares they write.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/soft_tasks.h"
#include "ensemble/route_plan.h"
#include "model/tree.h"

namespace obart {

class SoftPlan {
 public:
  void reserve(std::size_t n_gates, std::size_t n_terms);
  // Takes the place of what was there. Room is left for a rule of so many terms besides.
  void set(const Data& data, const RulePools& pools, std::span<const Tree> trees,
           std::size_t n_more_terms = 0);
  // Another rule that divides the shares of a node of the last tree. Returns the column of those
  // that go left; those that go right are in the next one.
  std::int32_t add_rule(const Data& data, const RulePools& pools, const Rule& rule, int node);

  // Of a node of the last tree.
  std::int32_t column_of(int node) const { return column_[static_cast<std::size_t>(node)]; }
  std::int32_t n_columns() const { return n_columns_; }  // at most, of any tree
  // Leaves have the outputs that they had when the plan was set.
  std::span<const SoftTree> trees() const { return trees_; }

 private:
  void add_tree(const Data& data, const RulePools& pools, const Tree& tree);
  void add_gate(const Data& data, const RulePools& pools, const Rule& rule, std::int32_t from);

  std::vector<SoftGate> gates_;
  std::vector<SoftTerm> outputs_;  // tree after tree, by code
  std::vector<SoftTree> trees_;
  std::vector<std::int32_t> column_;
  std::int32_t next_column_ = 1, n_columns_ = 1;
  RoutePlan plan_;
};

}  // namespace obart
