#include "ensemble/route_plan.h"

namespace obart {

// Room for twice as many terms, or it would be a little too small again and again.
void RoutePlan::clear(std::size_t n_terms) {
  tasks.clear();
  terms.clear();
  if (terms.capacity() < n_terms) terms.reserve(2 * n_terms);
}

RouteTask RoutePlan::describe(const Data& data, const RulePools& pools, const Rule& rule) {
  RouteTask task{};
  task.is_categorical = rule.kind == RuleKind::categorical;
  task.missing_right = rule.missing_right;
  task.cut = rule.cut;
  if (rule.kind == RuleKind::continuous) {
    const PhiEntry* phi = pools.phi.at(rule.offset);
    task.terms = terms.data() + terms.size();
    task.n_terms = rule.n_items;
    for (std::uint32_t k = 0; k < rule.n_items; ++k)
      terms.push_back({data.cont(phi[k].column), phi[k].value});
  } else {
    task.column = data.cat(rule.column);
    task.words = pools.levels.at(rule.offset);
    task.n_words = rule.n_items;
  }
  return task;
}

}  // namespace obart
