#include "sweep/trace.h"

#include <limits>

namespace obart {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : kNan;
}

double mean_depth(const Ensemble& ensemble) {
  std::int64_t depth = 0;
  for (const Tree& tree : ensemble.trees) depth += tree.depth();
  return static_cast<double>(depth) / static_cast<double>(ensemble.trees.size());
}

}  // namespace

double mean_theta(const Ensemble& ensemble) {
  double sum = 0.0;
  std::size_t n = 0;
  for (std::size_t j = 0; j < ensemble.theta.size(); ++j) {
    if (ensemble.theta.size() > 1 && !ensemble.rule_counts.is_chosen(j)) continue;
    sum += ensemble.theta[j];
    ++n;
  }
  return sum / static_cast<double>(n);
}

double mean_leaves(const Ensemble& ensemble) {
  std::int64_t n_leaves = 0;
  for (const Tree& tree : ensemble.trees) n_leaves += tree.n_leaves();
  return static_cast<double>(n_leaves) / static_cast<double>(ensemble.trees.size());
}

void Trace::add(std::size_t k, const std::string& name, double value) {
  if (k == names.size()) {
    names.push_back(name);
    values.emplace_back();
  }
  values[k].push_back(value);
}

Trace::Trace(const ChainState& state, const std::vector<Workspace>& work) {
  add(state, work);
  for (std::vector<double>& column : values) column.clear();
}

void Trace::add(const ChainState& state, const std::vector<Workspace>& work) {
  std::size_t k = 0;
  add(k++, "sigma", state.sigma);
  for (std::size_t e = 0; e < state.ensembles.size(); ++e) {
    const Ensemble& ensemble = state.ensembles[e];
    const std::string prefix = ensemble_prefix(e);
    const RuleCounts& rules = ensemble.rule_counts;
    add(k++, prefix + "theta", mean_theta(ensemble));
    add(k++, prefix + "leaf_sd", ensemble.leaf_sd);
    add(k++, prefix + "n_leaves", mean_leaves(ensemble));
    add(k++, prefix + "depth", mean_depth(ensemble));
    // Of the continuous rules, those on one column.
    add(k++, prefix + "axis_share", ratio(rules.n_axis, rules.n_continuous));
    for (std::size_t c = 0; c < ensemble.direction_weights.size(); ++c)
      add(k++, prefix + "direction." + std::to_string(c), ensemble.direction_weights[c]);
    for (std::size_t move = 0; move < kNumMoves; ++move)
      add(k++, prefix + kMoveNames[move],
          ratio(work[e].moves.accepted[move], work[e].moves.proposed[move]));
  }
  for (const NamedScale& scale : state.likelihood->scales()) add(k++, scale.name, scale.value);
}

}  // namespace obart
