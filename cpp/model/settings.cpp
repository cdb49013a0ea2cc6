#include "model/settings.h"

#include <stdexcept>

namespace obart {
namespace {

void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(std::string("settings: ") + what);
}

bool is_user_set(std::size_t move) {
  return move != static_cast<std::size_t>(MoveKind::grow) &&
         move != static_cast<std::size_t>(MoveKind::prune);
}

}  // namespace

double MoveSettings::half_rest() const {
  double rest = 1.0;
  for (std::size_t k = 0; k < kNumMoves; ++k)
    if (is_user_set(k)) rest -= share[k];
  return 0.5 * rest;
}

void EnsembleSettings::verify() const {
  require(n_trees >= 1, "n_trees must be at least 1");
  require(depth.alpha > 0.0 && depth.alpha < 1.0, "alpha must be in (0, 1)");
  require(depth.beta >= 0.0 && depth.beta < 1e6, "beta must be finite and not negative");
  require(depth.max_depth >= 0 && depth.max_depth <= 250, "max_depth must be in 0..250");
  require(min_samples_leaf >= 0, "min_samples_leaf must not be negative");
  require(hidden_columns >= 0, "hidden_columns must not be negative");
  require(leaf.leaf_sd > 0.0 && leaf.leaf_sd < 1e300, "leaf_sd must be positive and finite");
  require(leaf.leaf_sd_fixed || (leaf.leaf_shape > 0.0 && leaf.leaf_rate > 0.0),
          "leaf_shape and leaf_rate must be positive");
  // With fewer, scales of trees leave the range of floats.
  require(leaf.tree_df == 0.0 || (leaf.tree_df >= 0.1 && leaf.tree_df < 1e6),
          "tree_df must be 0 or in [0.1, 1e6)");
  require(leaf.tree_df == 0.0 || leaf.model == "normal", "tree_df goes with normal leaves");
  require(leaf.output_correlation > -1.0 && leaf.output_correlation < 1.0,
          "output_correlation must be in (-1, 1)");
  require(rules.theta >= 0.0 && rules.theta <= 1.0, "theta must be in [0, 1]");
  require(rules.theta_fixed || (rules.theta_a > 0.0 && rules.theta_b >= 0.0),
          "theta_a, theta_b must be positive");
  require(!rules.soft || (rules.width_scale > 0.0 && rules.width_scale < 1e6),
          "width_scale must be positive");
  require(!rules.soft || (leaf.model == "normal" && leaf.output_correlation == 0.0),
          "soft rules go with normal leaves whose outputs have no output_correlation");
  require(rules.directions.empty() || !rules.axis_rules,
          "axis_rules and directions exclude each other");
  verify_directions(rules.directions);
  for (std::size_t k = 0; k < kNumMoves; ++k)
    require(!is_user_set(k) || moves.share[k] >= 0.0, "the share of a move must not be negative");
  require(moves.half_rest() > 0.0,
          "the shares of the moves besides grow and prune must be below 1 in all");
  require(moves.perturb_angle > 0.0 && moves.perturb_shift > 0.0, "perturb steps must be positive");
}

double LikelihoodSettings::required(const std::string& wanted) const {
  const auto at = more.find(wanted);
  if (at == more.end())
    throw std::invalid_argument("settings: the likelihood " + name + " needs " + wanted +
                                " in `more`");
  return at->second;
}

void LikelihoodSettings::verify() const {
  require(sigma > 0.0 && sigma < 1e300, "sigma must be positive and finite");
  require(sigma_fixed || (nu > 0.0 && lambda > 0.0), "nu and lambda must be positive");
}

void Settings::verify() const {
  require(!ensembles.empty(), "a chain needs an ensemble");
  for (const EnsembleSettings& ensemble : ensembles) ensemble.verify();
  likelihood.verify();
  require(n_threads >= 1, "n_threads must be at least 1");
  require(long_sweep >= 0.0, "long_sweep must not be negative");
}

}  // namespace obart
