// Soft rules: the widths they may have, and what they make of a row, by plain traversal: the
// reference that the kernels must agree with.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "base/soft_share.h"
#include "model/data.h"
#include "model/rule.h"
#include "model/traverse.h"
#include "model/tree.h"

namespace obart {

// Rules outside of these are not valid.
inline constexpr float kLeastWidth = 1e-12F, kMostWidth = 1e12F;

// ||phi||_1: half of the range of phi'x over the box of all columns. Widths are in units of it.
inline double half_range(std::span<const PhiEntry> phi) {
  double sum = 0.0;
  for (const PhiEntry& entry : phi) sum += std::abs(static_cast<double>(entry.value));
  return sum;
}

// The width of a rule under the prior, in units of its median, at u ~ U(0, 1). Its logarithm is
// logistic with scale 2: from rules that are all but hard to rules that are all but linear.
inline double width_at(double u) {
  const double odds = u / (1.0 - u);
  return odds * odds;
}

// The inverse: u of a width.
inline double quantile_of_width(double width) {
  const double odds = std::sqrt(width);
  return odds / (1.0 + odds);
}

inline bool is_valid_width(float width) { return width >= kLeastWidth && width <= kMostWidth; }

// How much of a row goes left.
inline float left_share(const Data& data, const RulePools& pools, const Rule& rule,
                        std::int64_t row) {
  const bool is_soft = rule.kind == RuleKind::continuous && rule.width > 0.0F && rule.n_items > 0;
  if (!is_soft) return goes_right(data, pools, rule, row) ? 0.0F : 1.0F;
  const float score = score_of_row(data, pools, rule, row);
  if (score != score) return rule.missing_right ? 0.0F : 1.0F;
  return share_at((rule.cut - score) * (1.0F / rule.width));
}

// The output of a tree at a row, below a node that has so much of it.
inline double shared_output(const Data& data, const RulePools& pools, const Tree& tree,
                            std::int64_t row, int i = 0, double share = 1.0) {
  const Node& x = tree.node(i);
  if (x.is_leaf()) return share * static_cast<double>(x.output);
  if (share == 0.0) return 0.0;
  const auto left = static_cast<double>(left_share(data, pools, x.rule, row));
  return shared_output(data, pools, tree, row, x.left, share * left) +
         shared_output(data, pools, tree, row, x.right, share * (1.0 - left));
}

}  // namespace obart
