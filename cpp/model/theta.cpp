#include "model/theta.h"

#include "base/planted_bugs.h"

namespace obart {

RuleCounts count_rules(std::int64_t p_cont, const RulePools& pools,
                       const std::vector<Tree>& trees) {
  RuleCounts counts(p_cont);
  for (const Tree& tree : trees)
    tree.for_each_decision([&](int i) { counts.add(pools, tree.node(i).rule, 1); });
  return counts;
}

bool learns_theta(std::int64_t p_cont, const RuleSettings& settings) {
  return !settings.theta_fixed && p_cont > 1 && (!settings.axis_rules || settings.theta_by_column);
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
  update_theta(settings, RuleCounts(p_cont), rng, theta);
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
    for (const std::int64_t count : counts.n_nonzero) used += count;
    theta[0] = rng.beta(a(used), b(counts.n_continuous * p_cont - used));
  } else if (!settings.axis_rules) {
    for (std::size_t j = 0; j < theta.size(); ++j)
      theta[j] = rng.beta(a(counts.n_nonzero[j]), b(counts.n_continuous - counts.n_nonzero[j]));
  } else {
    double total = 0.0;
    for (std::size_t j = 0; j < theta.size(); ++j)
      total += theta[j] = rng.gamma(a(counts.n_nonzero[j]));
    for (double& weight : theta) weight /= total;
  }
}

}  // namespace obart
