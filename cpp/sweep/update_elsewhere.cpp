#include "sweep/update_elsewhere.h"

#include "base/planted_bugs.h"
#include "sweep/accept.h"

namespace obart {
namespace {

TreeTask describe(const Tree& tree, const Proposal& proposal, const RightCounts& counts) {
  TreeTask task{};
  task.log_prior_ratio = proposal.log_prior_ratio;
  task.log_transition_ratio = proposal.log_transition_ratio;
  task.right_of_left = static_cast<double>(counts.of_left);
  task.right_of_right = static_cast<double>(counts.of_right);
  task.n_leaves = tree.n_leaves();
  task.is_valid = proposal.valid;
  task.left_code = proposal.left_code;
  task.right_code = proposal.right_code;
  switch (proposal.effect) {
    case Effect::split_leaf:
      task.effect = TreeEffect::split;
      break;
    case Effect::merge_leaves:
      task.effect = TreeEffect::merge;
      if (proposal.valid) task.prune = tree.prune_codes(proposal.node);
      break;
    case Effect::replace_rule:
      task.effect = TreeEffect::replace;
      break;
  }
  return task;
}

}  // namespace

void update_elsewhere(Ensemble& ensemble, NormalLeaf& leaf, double sigma, Workspace& work,
                      TreesBackend& backend, Rng& rng) {
  TreesScratch& scratch = work.elsewhere;
  scratch.clear();
  for (std::size_t m = 0; m < ensemble.trees.size(); ++m) {
    const Tree& tree = ensemble.trees[m];
    scratch.trees.push_back(describe(tree, work.proposals[m], work.right_counts[m]));
    if (!ensemble.tree_scales.empty() && !OBART_BUG(card_tree_scale_unused))
      leaf.set(sigma, ensemble.leaf_sd_of(m));
    scratch.trees.back().inv_tau2 = leaf.inverse_leaf_variance();
    scratch.trees.back().first = static_cast<std::int32_t>(scratch.outputs.size());
    for (int c = 0; c < tree.n_leaves(); ++c) {
      scratch.n_rows.push_back(static_cast<double>(tree.leaf_node(c).n_rows));
      scratch.outputs.push_back(tree.leaf_node(c).output);
    }
    scratch.n_rows.push_back(0.0);
    scratch.outputs.push_back(0.0F);
  }
  scratch.new_outputs.resize(scratch.outputs.size());
  scratch.accepted.resize(scratch.trees.size());
  backend.update_trees({scratch.trees.data(), static_cast<std::int32_t>(scratch.trees.size()),
                        static_cast<std::int32_t>(scratch.outputs.size()), scratch.n_rows.data(),
                        scratch.outputs.data(), leaf.parameters(ensemble.uses_data),
                        ensemble.weights(), rng.words().data(), scratch.accepted.data(),
                        scratch.new_outputs.data()});
  for (std::size_t m = 0; m < ensemble.trees.size(); ++m) {
    Tree& tree = ensemble.trees[m];
    const Proposal& proposal = work.proposals[m];
    if (scratch.accepted[m] != 0)
      accept_move(ensemble, work, m);
    else if (proposal.has_rule())
      ensemble.pools.release(proposal.rule);
    const float* outputs = scratch.new_outputs.data() + scratch.trees[m].first;
    for (int c = 0; c < tree.n_leaves(); ++c) tree.leaf_node(c).output = outputs[c];
  }
}

}  // namespace obart
