#include "sweep/draw_prior.h"

#include <cmath>
#include <deque>
#include <memory>
#include <stdexcept>

#include "likelihood/likelihood.h"
#include "model/rule_prior.h"
#include "model/theta.h"
#include "model/traverse.h"

namespace obart {
namespace {

// Draws the trees of one ensemble, without outputs.
class TreeSimulator {
 public:
  TreeSimulator(const Data& table, const EnsembleSettings& settings)
      : data_(table.without_last(settings.hidden_columns)),
        settings_(settings),
        depth_prior_(settings.depth),
        rule_prior_(data_, settings),
        geometry_(data_.p_cont(), data_.n_levels()) {}

  std::vector<double> theta;
  std::vector<double> direction_weights;
  std::vector<Tree> trees;
  RulePools pools;

  // False as soon as something is not valid.
  bool draw(Rng& rng) {
    trees.clear();
    pools = {};
    theta = draw_theta(data_.p_cont(), settings_.rules, rng);
    rule_prior_.set_theta(theta);
    const Directions& directions = settings_.rules.directions;
    direction_weights.resize(n_direction_weights(directions));
    draw_direction_weights(directions, {}, rng, direction_weights);
    rule_prior_.set_direction_weights(direction_weights);
    for (std::int64_t m = 0; m < settings_.n_trees; ++m) {
      Tree tree(data_.n_rows());
      if (!grow(tree, 0, rng) || !count_rows(tree)) return false;
      trees.push_back(std::move(tree));
    }
    return true;
  }

  EnsembleDraw draw_outputs(Rng& rng) {
    const LeafSettings& leaf = settings_.leaf;
    EnsembleDraw out{Draws(settings_.n_trees, data_.p_cont_of_table(), data_.n_levels()),
                     theta,
                     leaf.leaf_sd,
                     direction_weights,
                     {}};
    if (!leaf.leaf_sd_fixed) out.leaf_sd = std::sqrt(leaf.leaf_rate / rng.gamma(leaf.leaf_shape));
    std::visit(
        [&](const auto& model) {
          for (Tree& tree : trees) {
            const double leaf_sd = out.leaf_sd * draw_tree_scale(out.tree_scales, rng);
            for (int code = 0; code < tree.n_leaves(); ++code)
              tree.leaf_node(code).output = model.draw_prior(leaf_sd, rng);
          }
        },
        make_leaf_model(leaf));
    out.trees.keep(data_, pools, trees, {});
    return out;
  }

 private:
  // The scale of the next tree, which is kept where trees have their own.
  double draw_tree_scale(std::vector<double>& scales, Rng& rng) const {
    const double half_df = 0.5 * settings_.leaf.tree_df;
    if (half_df == 0.0) return 1.0;
    scales.push_back(std::sqrt(half_df / rng.gamma(half_df)));
    return scales.back();
  }

  // The branching process below a node.
  bool grow(Tree& tree, int node, Rng& rng) {
    if (!(rng.uniform() < depth_prior_.split(tree.node(node).depth))) return true;
    Rule rule;
    if (tree.n_leaves() >= kMaxLeaves) return false;
    if (!rule_prior_.draw(DrawMode::raw, rng, pools, geometry_, tree, node, rule)) return false;
    tree.grow(node, rule, 0, 0);
    const int left = tree.node(node).left;
    const int right = tree.node(node).right;
    return grow(tree, left, rng) && grow(tree, right, rng);
  }

  bool count_rows(Tree& tree) const {
    for (int code = 0; code < tree.n_leaves(); ++code) tree.leaf_node(code).n_rows = 0;
    for (std::int64_t i = 0; i < data_.n_rows(); ++i)
      ++tree.node(leaf_of_row(data_, pools, tree, i)).n_rows;
    if (tree.is_root_only()) return true;
    for (int code = 0; code < tree.n_leaves(); ++code)
      if (tree.leaf_node(code).n_rows < settings_.min_samples_leaf) return false;
    return true;
  }

  const Data data_;
  const EnsembleSettings& settings_;
  DepthPrior depth_prior_;
  RulePrior rule_prior_;
  CellGeometry geometry_;
};

}  // namespace

PriorDraw draw_prior(const Data& data, const Settings& settings, Rng& rng,
                     std::int64_t max_attempts) {
  const std::unique_ptr<Likelihood> likelihood = make_likelihood(data, settings);
  std::deque<TreeSimulator> simulators;  // which refer to their own data
  for (const EnsembleSettings& ensemble : settings.ensembles)
    simulators.emplace_back(data, ensemble);
  for (std::int64_t attempt = 0; attempt < max_attempts; ++attempt) {
    bool valid = true;
    for (TreeSimulator& simulator : simulators) valid = valid && simulator.draw(rng);
    if (!valid) continue;
    PriorDraw out;
    likelihood->draw_prior_scales(rng);  // on which sigma may depend
    out.sigma = likelihood->draw_prior_sigma(rng);
    out.scales = likelihood->scales();
    for (TreeSimulator& simulator : simulators)
      out.ensembles.push_back(simulator.draw_outputs(rng));
    return out;
  }
  throw std::runtime_error("draw_prior: no valid ensemble in the allowed number of attempts");
}

}  // namespace obart
