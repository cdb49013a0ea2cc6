// Every hyperparameter of the model and the sampler, in units of the standardised outcome.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace obart {

enum class LikelihoodKind { gaussian, probit, none };

struct Settings {
  std::int64_t n_trees = 200;
  double alpha = 0.95;  // a node at depth d splits with probability alpha (1 + d)^-beta
  double beta = 2.0;
  std::int64_t max_depth = 250;  // a node at this depth or deeper never splits
  std::int64_t min_samples_leaf = 1;
  bool axis_rules = false;  // phi = e_j: classical BART

  LikelihoodKind likelihood = LikelihoodKind::gaussian;
  double offset = 0.0;  // probit: Phi^-1(mean y)

  double leaf_sd = 0.1;
  bool leaf_sd_fixed = true;  // otherwise leaf_sd^2 ~ Inv-Gamma(leaf_shape, leaf_rate)
  double leaf_shape = 1.5;
  double leaf_rate = 0.01;
  bool stretch = true;  // a sampled leaf_sd is also scaled together with all outputs
  // Of an output's deviation from its conditional mean with the one before: 0 is a plain Gibbs
  // step; below 0 outputs are drawn on the other side of their mean (overrelaxation).
  double output_correlation = 0.0;

  double sigma = 1.0;
  bool sigma_fixed = false;  // otherwise sigma^2 ~ Inv-Gamma(nu/2, nu lambda/2)
  double nu = 3.0;
  double lambda = 1.0;

  double theta = 0.5;
  bool theta_fixed = false;  // otherwise theta ~ Beta(theta_a, theta_b)
  double theta_a = 200.0;
  double theta_b = 200.0;
  // Each column its own theta_j ~ Beta(theta_a, theta_b); with axis rules, column weights
  // s ~ Dirichlet(theta_a, ..., theta_a). Not with theta_fixed.
  bool theta_by_column = false;

  double p_change = 0.0;  // shares of the moves; the rest is grow and prune, half each
  double p_perturb = 0.0;
  double perturb_angle = 0.3;
  double perturb_shift = 0.1;

  std::int64_t n_threads = 1;  // within the chain

  void verify() const {
    const auto require = [](bool ok, const char* what) {
      if (!ok) throw std::invalid_argument(std::string("settings: ") + what);
    };
    require(n_trees >= 1, "n_trees must be at least 1");
    require(alpha > 0.0 && alpha < 1.0, "alpha must be in (0, 1)");
    require(beta >= 0.0 && beta < 1e6, "beta must be finite and not negative");
    require(max_depth >= 0 && max_depth <= 250, "max_depth must be in 0..250");
    require(min_samples_leaf >= 0, "min_samples_leaf must not be negative");
    require(leaf_sd > 0.0 && leaf_sd < 1e300, "leaf_sd must be positive and finite");
    require(leaf_sd_fixed || (leaf_shape > 0.0 && leaf_rate > 0.0),
            "leaf_shape and leaf_rate must be positive");
    require(output_correlation > -1.0 && output_correlation < 1.0,
            "output_correlation must be in (-1, 1)");
    require(sigma > 0.0 && sigma < 1e300, "sigma must be positive and finite");
    require(sigma_fixed || (nu > 0.0 && lambda > 0.0), "nu and lambda must be positive");
    require(theta >= 0.0 && theta <= 1.0, "theta must be in [0, 1]");
    require(theta_fixed || (theta_a > 0.0 && theta_b >= 0.0), "theta_a, theta_b must be positive");
    require(p_change >= 0.0 && p_perturb >= 0.0 && p_change + p_perturb < 1.0,
            "p_change + p_perturb must be in [0, 1)");
    require(perturb_angle > 0.0 && perturb_shift > 0.0, "perturb steps must be positive");
    require(n_threads >= 1, "n_threads must be at least 1");
  }
};

}  // namespace obart
