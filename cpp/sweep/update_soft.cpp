// Soft rules share out a row between the leaves, so the outputs of a tree depend on each other:
// they are normal with a precision matrix of products of shares. A tree is accepted or not with all
// its outputs integrated out, then these are drawn together. Leaf codes of the rows are kept as if
// the rules were hard: they say whether a leaf holds enough rows.
#include "sweep/update_soft.h"

#include <algorithm>
#include <utility>

#include "base/planted_bugs.h"
#include "sweep/accept.h"
#include "sweep/code_maps.h"

namespace obart {
namespace {

class SoftUpdater {
 public:
  SoftUpdater(Ensemble& ensemble, NormalLeaf& leaf, double sigma, Workspace& work, Rng& rng)
      : ensemble_(ensemble), leaf_(leaf), sigma_(sigma), work_(work), rng_(rng), s_(work.soft) {}

  void run(SoftRows& rows, StopFlag stop) {
    for (std::size_t m = 0; m < ensemble_.trees.size(); ++m) {
      plan(m);
      const Proposal& proposal = work_.proposals[m];
      const bool replaces = proposal.has_rule() && proposal.effect == Effect::replace_rule;
      const auto n_basis = static_cast<std::int32_t>(s_.basis.size());
      const double* sums =
          rows.soft_sums({s_.plan.trees()[0], s_.plan.n_columns(), s_.basis,
                          replaces ? n_basis - 2 : n_basis, proposal.left_code, proposal.right_code,
                          ensemble_.residual.data(), ensemble_.weights()});
      if (stop.is_set()) return;
      if (!ensemble_.tree_scales.empty() && !OBART_BUG(soft_tree_scale_unused))
        leaf_.set(sigma_, ensemble_.leaf_sd_of(m));
      update(m, ensemble_.uses_data ? sums : nullptr);
      rows.soft_apply(s_.terms, ensemble_.residual.data(), m + 1 == ensemble_.trees.size());
    }
  }

 private:
  // The tree with the proposed rule, and the leaves before and after in terms of its columns.
  void plan(std::size_t m) {
    const Tree& tree = ensemble_.trees[m];
    const Proposal& proposal = work_.proposals[m];
    const auto n_leaves = static_cast<std::size_t>(tree.n_leaves());
    s_.plan.set(ensemble_.data, ensemble_.pools, {&tree, 1},
                proposal.has_rule() ? proposal.rule.n_items : 0);
    s_.basis.clear();
    for (int code = 0; code < tree.n_leaves(); ++code)
      s_.basis.push_back(s_.plan.column_of(tree.leaf(code)));
    s_.now.set(n_leaves);
    s_.proposed.set(n_leaves);
    if (!proposal.valid) return;
    const std::size_t l = proposal.left_code;
    const std::size_t r = proposal.right_code;
    if (proposal.effect == Effect::merge_leaves) {
      const PruneCodes codes = tree.prune_codes(proposal.node);
      s_.proposed.column[code_after_prune(codes, codes.last)] = codes.last;
      s_.proposed.column[code_after_prune(codes, codes.left)] = codes.left;
      s_.proposed.add_second(code_after_prune(codes, codes.left), codes.right);
      s_.proposed.column.pop_back();
      return;
    }
    const std::int32_t left =
        s_.plan.add_rule(ensemble_.data, ensemble_.pools, proposal.rule, proposal.node);
    if (proposal.effect == Effect::split_leaf) {
      s_.basis[l] = left;
      s_.basis.push_back(left + 1);
      s_.now.add_second(l, n_leaves);
      s_.proposed.column.push_back(n_leaves);
    } else {
      s_.basis.insert(s_.basis.end(), {left, left + 1});
      s_.proposed.column[l] = n_leaves;
      s_.proposed.column[r] = n_leaves + 1;
    }
  }

  void update(std::size_t m, const double* sums) {
    Tree& tree = ensemble_.trees[m];
    Proposal& proposal = work_.proposals[m];
    s_.outputs.set(s_.now, sums, s_.basis.size(), leaf_);
    bool accepted = false;
    if (proposal.valid) {
      s_.proposed_outputs.set(s_.proposed, sums, s_.basis.size(), leaf_);
      const double log_accept = s_.proposed_outputs.log_likelihood_over(s_.outputs) +
                                proposal.log_prior_ratio + proposal.log_transition_ratio;
      accepted = log_accept >= 0.0 || det_log(rng_.uniform()) < log_accept;
    }
    if (accepted) {
      std::swap(s_.outputs, s_.proposed_outputs);
      std::swap(s_.now, s_.proposed);
      rewrite_codes(m);
      accept_move(ensemble_, work_, m);
    } else if (proposal.has_rule()) {
      ensemble_.pools.release(proposal.rule);
    }
    s_.outputs.draw(rng_, s_.values);
    s_.terms.clear();
    for (std::size_t c = 0; c < s_.values.size(); ++c)
      tree.leaf_node(static_cast<int>(c)).output = s_.values[c];
    s_.now.for_each_column([&](std::size_t code, std::size_t column) {
      s_.terms.push_back({s_.basis[column], s_.values[code]});
    });
  }

  // The leaf codes of the rows after an accepted move, before the tree changes.
  void rewrite_codes(std::size_t m) {
    const Tree& tree = ensemble_.trees[m];
    const Proposal& proposal = work_.proposals[m];
    const std::size_t n_codes =
        std::max<std::size_t>(static_cast<std::size_t>(tree.n_leaves()), s_.now.column.size());
    maps_.fill(tree, proposal, n_codes > kNarrowCodes ? kTableSize - 1 : kNarrowCodes + 1);
    PassTask task{};
    task.combine = Combine::add;
    task.residual = ensemble_.residual.data();
    task.n_groups = ensemble_.data.n_groups();
    task.apply.code = ensemble_.codes(m);
    task.apply.right = proposal.has_rule() ? ensemble_.rights(m) : nullptr;
    task.apply.left_delta = task.apply.right_delta = no_change_;
    task.apply.n_codes = static_cast<int>(n_codes);
    task.apply.left_map = maps_.left;
    task.apply.right_map = maps_.right;
    task.apply.masks = ensemble_.masks.of_tree(m);
    task.apply.routed = code_bit(proposal.left_code) | code_bit(proposal.right_code);
    ensemble_.backend->by_pass()->apply_and_sum(task);
  }

  Ensemble& ensemble_;
  NormalLeaf& leaf_;
  const double sigma_;
  Workspace& work_;
  Rng& rng_;
  SoftScratch& s_;
  CodeMaps maps_;
  const float no_change_[kTableSize] = {};
};

}  // namespace

void update_soft(Ensemble& ensemble, NormalLeaf& leaf, double sigma, Workspace& work, Rng& rng,
                 StopFlag stop) {
  SoftUpdater(ensemble, leaf, sigma, work, rng).run(*ensemble.backend->soft_rows(), stop);
}

}  // namespace obart
