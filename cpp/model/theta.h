// theta, the probability that a column is part of a rule: one number for all continuous columns, or
// one for each; with axis rules, the weights of the columns.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "model/data.h"
#include "model/rule.h"
#include "model/settings.h"
#include "model/tree.h"

namespace obart {

// What the rules of an ensemble say about theta.
struct RuleCounts {
  std::vector<std::int64_t> n_nonzero;  // rules that use each continuous column
  std::int64_t n_continuous = 0;        // continuous rules
  std::int64_t n_axis = 0;              // those on one column

  explicit RuleCounts(std::int64_t p_cont = 0) : n_nonzero(static_cast<std::size_t>(p_cont), 0) {}
  void add(const RulePools& pools, const Rule& rule, int sign) {
    if (rule.kind != RuleKind::continuous) return;
    n_continuous += sign;
    const PhiEntry* phi = pools.phi.at(rule.offset);
    for (std::uint32_t k = 0; k < rule.n_items; ++k) n_nonzero[phi[k].column] += sign;
    if (rule.n_items == 1) n_axis += sign;
  }
  bool operator==(const RuleCounts&) const = default;
};

RuleCounts count_rules(std::int64_t p_cont, const RulePools& pools, const std::vector<Tree>& trees);

bool learns_theta(std::int64_t p_cont, const RuleSettings& settings);
// How many numbers theta has.
std::size_t theta_size(std::int64_t p_cont, const RuleSettings& settings);
// Where a chain starts, and where theta stays if it is not learned.
double first_theta(std::int64_t p_cont, const RuleSettings& settings);
// From its prior, or as it is fixed.
std::vector<double> draw_theta(std::int64_t p_cont, const RuleSettings& settings, Rng& rng);
// The conjugate update.
void update_theta(const RuleSettings& settings, const RuleCounts& counts, Rng& rng,
                  std::vector<double>& theta);

}  // namespace obart
