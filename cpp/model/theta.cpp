#include "model/theta.h"

#include <algorithm>

#include "base/planted_bugs.h"

namespace obart {

RuleCounts::RuleCounts(std::int64_t p_cont, const RuleSettings& settings)
    : n_nonzero(static_cast<std::size_t>(p_cont), 0), n_of(settings.directions.size(), 0) {
  if (settings.directions.empty()) return;
  uses_theta_ = 0;
  may_choose_.resize(n_nonzero.size(), 0);
  for (std::size_t c = 0; c < settings.directions.size(); ++c) {
    const DirectionSettings& direction = settings.directions[c];
    if (!uses_theta(direction.kind)) continue;
    const auto bit = static_cast<std::uint16_t>(1U << c);
    uses_theta_ |= bit;
    if (direction.columns.empty())
      for (std::uint16_t& column : may_choose_) column |= bit;
    for (const std::uint32_t j : direction.columns) may_choose_[j] |= bit;
  }
}

std::int64_t RuleCounts::n_choices(std::size_t column) const {
  if (may_choose_.empty()) return n_continuous;
  std::int64_t n = 0;
  for (std::size_t c = 0; c < n_of.size(); ++c)
    if ((may_choose_[column] >> c & 1U) != 0) n += n_of[c];
  return n;
}

RuleCounts count_rules(std::int64_t p_cont, const RuleSettings& settings, const RulePools& pools,
                       const std::vector<Tree>& trees) {
  RuleCounts counts(p_cont, settings);
  for (const Tree& tree : trees)
    tree.for_each_decision([&](int i) { counts.add(pools, tree.node(i).rule, 1); });
  return counts;
}

bool learns_theta(std::int64_t p_cont, const RuleSettings& settings) {
  const Directions& directions = settings.directions;
  const bool has_theta =
      directions.empty() ? !settings.axis_rules || settings.theta_by_column
                         : std::ranges::any_of(directions, uses_theta, &DirectionSettings::kind);
  return !settings.theta_fixed && p_cont > 1 && has_theta;
}

std::size_t theta_size(std::int64_t p_cont, const RuleSettings& settings) {
  const bool by_column = settings.theta_by_column && learns_theta(p_cont, settings);
  return by_column ? static_cast<std::size_t>(p_cont) : 1;
}

double first_theta(std::int64_t p_cont, const RuleSettings& settings) {
  return p_cont == 1 && !settings.theta_fixed ? 1.0 : settings.theta;
}

std::vector<double> draw_theta(std::int64_t p_cont, const RuleSettings& settings, Rng& rng) {
  std::vector<double> theta(theta_size(p_cont, settings), first_theta(p_cont, settings));
  update_theta(settings, RuleCounts(p_cont, settings), rng, theta);
  return theta;
}

void update_theta(const RuleSettings& settings, const RuleCounts& counts, Rng& rng,
                  std::vector<double>& theta) {
  const auto p_cont = static_cast<std::int64_t>(counts.n_nonzero.size());
  if (!learns_theta(p_cont, settings)) return;
  const auto a = [&](std::int64_t used) { return settings.theta_a + static_cast<double>(used); };
  const auto b = [&](std::int64_t zeros) {
    return settings.theta_b +
           (OBART_BUG(theta_counts_missing_zeros) ? 0.0 : static_cast<double>(zeros));
  };
  if (!settings.theta_by_column) {
    std::int64_t used = 0;
    std::int64_t choices = 0;
    for (std::size_t j = 0; j < counts.n_nonzero.size(); ++j) {
      used += counts.n_nonzero[j];
      choices += counts.n_choices(j);
    }
    theta[0] = rng.beta(a(used), b(choices - used));
  } else if (!settings.axis_rules) {
    for (std::size_t j = 0; j < theta.size(); ++j)
      if (counts.is_chosen(j))
        theta[j] = rng.beta(a(counts.n_nonzero[j]), b(counts.n_choices(j) - counts.n_nonzero[j]));
  } else {
    double total = 0.0;
    for (std::size_t j = 0; j < theta.size(); ++j)
      total += theta[j] = rng.gamma(a(counts.n_nonzero[j]));
    for (double& weight : theta) weight /= total;
  }
}

}  // namespace obart
