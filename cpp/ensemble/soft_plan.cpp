#include "ensemble/soft_plan.h"

#include <algorithm>

namespace obart {

void SoftPlan::reserve(std::size_t n_gates, std::size_t n_terms) {
  gates_.reserve(n_gates);
  outputs_.reserve(2 * n_gates);
  plan_.clear(n_terms);
  column_.reserve(2 * kMaxLeaves);
}

void SoftPlan::set(const Data& data, const RulePools& pools, std::span<const Tree> trees,
                   std::size_t n_more_terms) {
  std::size_t n_gates = 1, n_outputs = 0, n_terms = n_more_terms;
  for (const Tree& tree : trees) {
    n_gates += static_cast<std::size_t>(tree.n_leaves()) - 1;
    n_outputs += static_cast<std::size_t>(tree.n_leaves());
    tree.for_each_decision([&](int i) { n_terms += tree.node(i).rule.n_items; });
  }
  gates_.clear();
  outputs_.clear();
  trees_.clear();
  // Trees point to their parts, which must not move.
  if (gates_.capacity() < n_gates) gates_.reserve(2 * n_gates);
  if (outputs_.capacity() < n_outputs) outputs_.reserve(2 * n_outputs);
  plan_.clear(n_terms);
  n_columns_ = 1;
  for (const Tree& tree : trees) add_tree(data, pools, tree);
}

void SoftPlan::add_tree(const Data& data, const RulePools& pools, const Tree& tree) {
  const std::size_t first_gate = gates_.size(), first_output = outputs_.size();
  next_column_ = 1;
  column_.assign(1, 0);
  tree.for_each_decision([&](int i) {
    const Node& x = tree.node(i);
    const auto last = static_cast<std::size_t>(std::max(x.left, x.right));
    if (column_.size() <= last) column_.resize(last + 1);
    column_[static_cast<std::size_t>(x.left)] = next_column_;
    column_[static_cast<std::size_t>(x.right)] = next_column_ + 1;
    add_gate(data, pools, x.rule, column_of(i));
  });
  for (int code = 0; code < tree.n_leaves(); ++code)
    outputs_.push_back({column_of(tree.leaf(code)), tree.leaf_node(code).output});
  trees_.push_back(
      {std::span(gates_).subspan(first_gate), std::span(outputs_).subspan(first_output)});
}

std::int32_t SoftPlan::add_rule(const Data& data, const RulePools& pools, const Rule& rule,
                                int node) {
  add_gate(data, pools, rule, column_of(node));
  SoftTree& tree = trees_.back();
  tree.gates = std::span(gates_).last(tree.gates.size() + 1);
  return next_column_ - 2;
}

void SoftPlan::add_gate(const Data& data, const RulePools& pools, const Rule& rule,
                        std::int32_t from) {
  const float inverse_width = rule.width > 0.0F ? 1.0F / rule.width : 0.0F;
  const RouteTask task = plan_.describe(data, pools, rule);
  gates_.push_back({task, inverse_width, from, next_column_, next_column_ + 1});
  next_column_ += 2;
  n_columns_ = std::max(n_columns_, next_column_);
}

}  // namespace obart
