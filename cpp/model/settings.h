// Every setting of the model and the sampler, in units of the standardised outcome.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "model/directions.h"
#include "moves/list.h"

namespace obart {

// How deep a tree is: a node at depth d splits with probability alpha (1 + d)^-beta.
struct DepthSettings {
  double alpha = 0.95;
  double beta = 2.0;
  std::int64_t max_depth = 250;  // a node at this depth or deeper never splits
};

// The prior of a rule's direction phi.
struct RuleSettings {
  bool axis_rules = false;   // phi = e_j: classical BART
  double theta = 0.5;        // probability that a column is part of a rule
  bool theta_fixed = false;  // otherwise theta ~ Beta(theta_a, theta_b)
  double theta_a = 200.0;
  double theta_b = 200.0;
  // Each column its own theta_j ~ Beta(theta_a, theta_b); with axis rules, column weights
  // s ~ Dirichlet(theta_a, ..., theta_a). Not with theta_fixed.
  bool theta_by_column = false;
  // Soft rules: a width of width_scale ||phi||_1 (u / (1 - u))^2, u ~ U(0, 1).
  bool soft = false;
  double width_scale = 1.0;
  // Components of a mixture, in place of the prior above; theta is that of its sparse and sign
  // rules. None: the one that axis_rules names.
  Directions directions;
};

// The prior of the leaf outputs, and how they are drawn.
struct LeafSettings {
  std::string model = "normal";  // one of ensemble/leaf_model.h
  double leaf_sd = 0.1;
  bool leaf_sd_fixed = true;  // otherwise leaf_sd^2 ~ Inv-Gamma(leaf_shape, leaf_rate)
  double leaf_shape = 1.5;
  double leaf_rate = 0.01;
  bool scale_jointly = true;  // a sampled leaf_sd is also scaled together with all outputs
  // Each tree m has a scale s_m of its own, s_m^2 ~ Inv-Gamma(tree_df/2, tree_df/2), and outputs
  // N(0, (leaf_sd s_m)^2): those of a tree are jointly Student's t. 0: all scales are one.
  double tree_df = 0.0;
  // Correlation of an output's deviation from its conditional mean with the previous one: 0 is a
  // plain Gibbs step; below 0 outputs are drawn on the other side of their mean (overrelaxation).
  double output_correlation = 0.0;
};

struct MoveSettings {
  // By move. Those of grow and prune are not read: they get the rest, half each.
  std::array<double, kNumMoves> share{};
  double perturb_angle = 0.3;
  double perturb_shift = 0.1;

  double& operator[](MoveKind move) { return share[static_cast<std::size_t>(move)]; }
  // The share of grow, and of prune.
  double half_rest() const;
};

struct EnsembleSettings {
  std::int64_t n_trees = 200;
  std::int64_t min_samples_leaf = 1;
  std::int64_t hidden_columns = 0;  // so many of the last continuous columns are in no rule
  DepthSettings depth;
  RuleSettings rules;
  LeafSettings leaf;
  MoveSettings moves;

  void verify() const;  // throws std::invalid_argument that names the setting
};

struct LikelihoodSettings {
  std::string name = "gaussian";
  double offset = 0.0;       // added to f: probit has Phi^-1(mean y)
  double sigma = 1.0;        // noise of a row of weight one
  bool sigma_fixed = false;  // otherwise sigma^2 ~ Inv-Gamma(nu/2, nu lambda/2)
  double nu = 3.0;
  double lambda = 1.0;
  std::map<std::string, double> more;  // what one likelihood alone has, by name

  // One of `more`; throws std::invalid_argument that names it if it is not given.
  double required(const std::string& wanted) const;
  void verify() const;
};

// The settings of a chain.
struct Settings {
  std::deque<EnsembleSettings> ensembles{EnsembleSettings{}};  // references to them stay valid
  LikelihoodSettings likelihood;
  std::string backend = "cpu";
  std::int64_t n_threads = 1;  // of the chain at most: it uses as many as pay
  bool threads_fixed = false;  // always all of them
  // A sweep that takes so many seconds can be stopped in the middle. For this the rows' values are
  // copied before it, by one thread.
  double long_sweep = 0.1;

  void verify() const;
};

}  // namespace obart
