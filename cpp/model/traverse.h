// Plain traversal of a tree, one row at a time: the reference that the kernels must agree with.
#pragma once

#include <cstdint>

#include "model/data.h"
#include "model/tree.h"

namespace obart {

// phi'x of a continuous rule: NaN where a value is missing.
inline float score_of_row(const Data& data, const RulePools& pools, const Rule& rule,
                          std::int64_t row) {
  const PhiEntry* phi = pools.phi.at(rule.offset);
  float score = 0.0F;
  for (std::uint32_t k = 0; k < rule.n_items; ++k) {
    const float term = phi[k].value * data.cont(phi[k].column)[row];
    score = k == 0 ? term : score + term;
  }
  return score;
}

// The same float operations in the same order as the kernels, so that both decide alike at the cut.
inline bool goes_right(const Data& data, const RulePools& pools, const Rule& rule,
                       std::int64_t row) {
  if (rule.kind == RuleKind::categorical) {
    const std::uint32_t level = data.cat(rule.column)[row];
    return (pools.levels.at(rule.offset)[level / 32] >> (level % 32)) & 1U;
  }
  const float score = score_of_row(data, pools, rule, row);
  return rule.missing_right ? !(score < rule.cut) : score >= rule.cut;
}

inline int leaf_of_row(const Data& data, const RulePools& pools, const Tree& tree,
                       std::int64_t row) {
  int i = 0;
  while (!tree.node(i).is_leaf()) {
    const Node& x = tree.node(i);
    i = goes_right(data, pools, x.rule, row) ? x.right : x.left;
  }
  return i;
}

}  // namespace obart
