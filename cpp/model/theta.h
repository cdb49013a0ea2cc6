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

// What the rules of an ensemble say about theta, and about the weights of a mixture.
struct RuleCounts {
  std::vector<std::int64_t> n_nonzero;  // rules that use each continuous column by theta
  std::int64_t n_continuous = 0;        // continuous rules
  std::int64_t n_axis = 0;              // those on one column
  std::vector<std::int64_t> n_of;       // rules of each component of a mixture, if it is one

  RuleCounts(std::int64_t p_cont, const RuleSettings& settings);
  void add(const RulePools& pools, const Rule& rule, int sign) {
    if (rule.kind != RuleKind::continuous) return;
    n_continuous += sign;
    if (rule.n_items == 1) n_axis += sign;
    if (!n_of.empty()) n_of[rule.component] += sign;
    if ((uses_theta_ >> rule.component & 1U) == 0) return;
    const PhiEntry* phi = pools.phi.at(rule.offset);
    for (std::uint32_t k = 0; k < rule.n_items; ++k) n_nonzero[phi[k].column] += sign;
  }
  // Rules that had the choice to use a column by theta.
  std::int64_t n_choices(std::size_t column) const;
  // Whether any rule can have it.
  bool is_chosen(std::size_t column) const { return may_choose_.empty() || may_choose_[column]; }
  bool operator==(const RuleCounts&) const = default;

 private:
  std::uint32_t uses_theta_ = 1;           // bits of the components
  std::vector<std::uint16_t> may_choose_;  // the same for each column, of a mixture
};

RuleCounts count_rules(std::int64_t p_cont, const RuleSettings& settings, const RulePools& pools,
                       const std::vector<Tree>& trees);

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
