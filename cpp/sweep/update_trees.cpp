// Phase 3 of a sweep: one tree after the other is accepted or not, and gets new outputs.
#include <cmath>

#include "base/fixed_vector.h"
#include "base/planted_bugs.h"
#include "sweep/accept.h"
#include "sweep/code_maps.h"
#include "sweep/phases.h"
#include "sweep/update_elsewhere.h"
#include "sweep/update_soft.h"

namespace obart {
namespace {

constexpr std::size_t kMostCells = kMaxLeaves + 2;

// Codes of all trees up to this many bytes are still near when a sweep comes back to them.
constexpr std::size_t kNearBytes = std::size_t{1} << 18;

// The values of leaves by code, after a prune.
template <class T, std::size_t N>
void merge(PruneCodes codes, const T& merged, FixedVector<T, N>& values) {
  values[code_after_prune(codes, codes.last)] = values[codes.last];
  values[code_after_prune(codes, codes.left)] = merged;
  values.pop_back();
}

template <class Leaf>
class TreeUpdater {
 public:
  TreeUpdater(Ensemble& ensemble, Leaf& leaf, double sigma, Workspace& work, Rng& rng)
      : ensemble_(ensemble), leaf_(leaf), sigma_(sigma), work_(work), rng_(rng) {
    if constexpr (Leaf::kKeepsDeviations) keeps_deviations_ = leaf.keeps_deviations();
  }

  void run(PassBackend& backend, StopFlag stop) {
    PassTask task{};
    task.combine = Leaf::kCombine;
    task.residual = ensemble_.residual.data();
    task.weight = ensemble_.weights();
    task.n_groups = ensemble_.data.n_groups();
    task.apply.left_delta = left_delta_;
    task.apply.right_delta = right_delta_;
    for (std::size_t m = 0; m < ensemble_.trees.size(); ++m) {
      plan_sums(m, task.sum);
      ensemble_.trees[m].prefetch();
      const PassSums sums = backend.apply_and_sum(task);
      if (stop.is_set()) return;
      if (!ensemble_.tree_scales.empty() && !OBART_BUG(tree_scale_unused))
        leaf_.set(sigma_, ensemble_.leaf_sd_of(m));
      update(m, sums, task);
    }
    task.sum.code = nullptr;
    backend.apply_and_sum(task);
  }

 private:
  using Stats = typename Leaf::Stats;

  // The finer partition of tree m. Cell c < n_leaves holds code c (or the half that keeps it); the
  // halves that go to the other side follow.
  void plan_sums(std::size_t m, CellSums& sum) {
    const Proposal& proposal = work_.proposals[m];
    cells_.clear();
    for (int code = 0; code < ensemble_.trees[m].n_leaves(); ++code)
      cells_.push_back({static_cast<std::uint8_t>(code), Side::both});
    if (proposal.has_rule()) {
      cells_[proposal.left_code].side = Side::left;
      cells_.push_back({proposal.left_code, Side::right});
      if (proposal.effect != Effect::split_leaf) {
        cells_[proposal.right_code].side = Side::right;
        cells_.push_back({proposal.right_code, Side::left});
      }
    }
    sum.code = ensemble_.codes(m);
    const bool is_near = ensemble_.code.size() <= kNearBytes;
    sum.next = is_near || m + 1 == ensemble_.trees.size() ? nullptr : ensemble_.codes(m + 1);
    sum.right = proposal.has_rule() ? ensemble_.rights(m) : nullptr;
    sum.masks = ensemble_.masks.of_tree(m);
    sum.routed = code_bit(proposal.left_code) | code_bit(proposal.right_code);
    sum.cells = cells_.data();
    sum.n_cells = static_cast<std::int64_t>(cells_.size());
  }

  // Accepts or not, draws the outputs, and leaves in `task` the change that the next pass applies.
  void update(std::size_t m, const PassSums& sums, PassTask& task) {
    Tree& tree = ensemble_.trees[m];
    Proposal& proposal = work_.proposals[m];
    const auto n_old = static_cast<std::size_t>(tree.n_leaves());
    compute_stats(m, sums);
    const bool accepted = accepts(proposal);
    if (!accepted && proposal.has_rule()) ensemble_.pools.release(proposal.rule);
    merge_cells(proposal, n_old);
    if (keeps_deviations_) compute_deviations();
    if (accepted) move_leaves(tree, proposal);

    const bool wide = std::max(n_old, leaf_stats_.size()) > kNarrowCodes;
    if (accepted) {
      maps_.fill(tree, proposal, wide ? kTableSize - 1 : kNarrowCodes + 1);
      accept_move(ensemble_, work_, m);
    }
    draw_outputs(tree);

    Change& change = task.apply;
    change.code = ensemble_.codes(m);
    change.n_codes = static_cast<int>(std::max(n_old, leaf_stats_.size()));
    change.right = accepted && proposal.has_rule() ? ensemble_.rights(m) : nullptr;
    change.left_map = accepted ? maps_.left : nullptr;
    change.right_map = maps_.right;
    change.masks = OBART_BUG(stale_code_masks) ? nullptr : ensemble_.masks.of_tree(m);
    change.routed = task.sum.routed;
    for (std::size_t c = 0; c < n_old; ++c) {
      const std::uint8_t left = accepted ? maps_.left[c] : static_cast<std::uint8_t>(c);
      left_delta_[c] = Leaf::delta(old_output_[c], tree.leaf_node(left).output);
      if (change.right == nullptr) continue;
      right_delta_[c] = Leaf::delta(old_output_[c], tree.leaf_node(maps_.right[c]).output);
    }
    if (!wide) left_delta_[kNarrowCodes] = right_delta_[kNarrowCodes] = 0.0F;
  }

  // Of the rows in each cell; also remembers the outputs as they are.
  void compute_stats(std::size_t m, const PassSums& sums) {
    const Tree& tree = ensemble_.trees[m];
    const Proposal& proposal = work_.proposals[m];
    const RightCounts& counts = work_.right_counts[m];
    const bool is_weighted = ensemble_.weights() != nullptr;
    const auto n_leaves = static_cast<std::size_t>(tree.n_leaves());
    stats_.resize(cells_.size());
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const Node& leaf = tree.leaf_node(cells_[c].code);
      double n_rows = static_cast<double>(leaf.n_rows);
      if (cells_[c].side != Side::both) {
        const std::int64_t n_right =
            cells_[c].code == proposal.left_code ? counts.of_left : counts.of_right;
        n_rows =
            static_cast<double>(cells_[c].side == Side::right ? n_right : leaf.n_rows - n_right);
      }
      const bool has_weight = is_weighted && !OBART_BUG(weights_ignored_in_precision);
      const CellPass cell{n_rows, has_weight ? sums.weight[c] : n_rows, sums.residual[c]};
      stats_[c] = ensemble_.uses_data ? Leaf::stats(cell, leaf.output) : Stats{};
      if (c < n_leaves) old_output_[c] = leaf.output;
    }
  }

  bool accepts(const Proposal& proposal) {
    if (!proposal.valid) return false;
    const std::size_t l = proposal.left_code;
    const std::size_t r = proposal.right_code;
    const std::size_t extra = cells_.size() - (proposal.effect == Effect::split_leaf ? 1 : 2);
    double log_like_ratio = 0.0;
    if (proposal.effect == Effect::split_leaf) {
      log_like_ratio = leaf_.log_split_gain(stats_[l], stats_[extra]);
    } else if (proposal.effect == Effect::merge_leaves) {
      log_like_ratio = -leaf_.log_split_gain(stats_[l], stats_[r]);
    } else {
      log_like_ratio =
          leaf_.log_change_gain(stats_[l] + stats_[extra], stats_[r] + stats_[extra + 1],
                                stats_[l] + stats_[extra + 1], stats_[r] + stats_[extra]);
    }
    const double log_accept =
        log_like_ratio + proposal.log_prior_ratio + proposal.log_transition_ratio;
    return log_accept >= 0.0 || det_log(rng_.uniform()) < log_accept;
  }

  // The finer cells together again: statistics of the leaves as they are.
  void merge_cells(const Proposal& proposal, std::size_t n_leaves) {
    leaf_stats_.resize(n_leaves);
    for (std::size_t c = 0; c < n_leaves; ++c) leaf_stats_[c] = stats_[c];
    if (!proposal.has_rule()) return;
    leaf_stats_[proposal.left_code] = stats_[proposal.left_code] + stats_[n_leaves];
    if (proposal.effect == Effect::split_leaf) return;
    leaf_stats_[proposal.right_code] = stats_[proposal.right_code] + stats_[n_leaves + 1];
  }

  void compute_deviations() {
    if constexpr (Leaf::kKeepsDeviations) {
      deviations_.resize(leaf_stats_.size());
      for (std::size_t c = 0; c < leaf_stats_.size(); ++c)
        deviations_[c] = leaf_.deviation(leaf_stats_[c], old_output_[c]);
    }
  }

  // Statistics and deviations of the leaves after an accepted move. A grow turns a deviation d and
  // a new one z into (d + z, d - z) / sqrt 2, a prune turns two into their sum over sqrt 2.
  void move_leaves(const Tree& tree, const Proposal& proposal) {
    const std::size_t n_old = leaf_stats_.size();
    const std::size_t l = proposal.left_code;
    const std::size_t r = proposal.right_code;
    const double share = OBART_BUG(deviations_added) ? 1.0 : std::sqrt(0.5);
    if (proposal.effect == Effect::split_leaf) {
      leaf_stats_[l] = stats_[l];
      leaf_stats_.push_back(stats_[n_old]);
      if (!keeps_deviations_) return;
      const double d = deviations_[l];
      const double z = rng_.normal();
      deviations_[l] = share * (d + z);
      deviations_.push_back(share * (d - z));
    } else if (proposal.effect == Effect::merge_leaves) {
      const PruneCodes codes = tree.prune_codes(proposal.node);
      merge(codes, stats_[codes.left] + stats_[codes.right], leaf_stats_);
      if (!keeps_deviations_) return;
      merge(codes, share * (deviations_[codes.left] + deviations_[codes.right]), deviations_);
    } else {
      leaf_stats_[l] = stats_[l] + stats_[n_old + 1];
      leaf_stats_[r] = stats_[r] + stats_[n_old];
    }
  }

  void draw_outputs(Tree& tree) {
    for (std::size_t c = 0; c < leaf_stats_.size(); ++c) {
      float& output = tree.leaf_node(static_cast<int>(c)).output;
      if constexpr (Leaf::kKeepsDeviations) {
        if (keeps_deviations_) {
          output = leaf_.output(leaf_stats_[c], leaf_.next_deviation(deviations_[c], rng_));
          continue;
        }
      }
      output = leaf_.draw(leaf_stats_[c], rng_);
    }
  }

  Ensemble& ensemble_;
  Leaf& leaf_;
  const double sigma_;
  Workspace& work_;
  Rng& rng_;
  bool keeps_deviations_ = false;
  FixedVector<SumCell, kMostCells> cells_;
  FixedVector<Stats, kMostCells> stats_;       // by cell
  FixedVector<Stats, kMostCells> leaf_stats_;  // by leaf
  FixedVector<double, kMostCells> deviations_;
  float old_output_[kMostCells];
  float left_delta_[kTableSize] = {}, right_delta_[kTableSize] = {};
  CodeMaps maps_;
};

}  // namespace

void update_trees(Ensemble& ensemble, Workspace& work, double sigma, Rng& rng, StopFlag stop) {
  if (stop.is_set()) return;
  std::visit(
      [&]<class Leaf>(Leaf& leaf) {
        leaf.set(sigma, ensemble.leaf_sd);
        if constexpr (std::is_same_v<Leaf, NormalLeaf>)
          if (ensemble.settings.rules.soft)
            return update_soft(ensemble, leaf, sigma, work, rng, stop);
        if constexpr (Leaf::kCombine == Combine::add)
          if (TreesBackend* backend = ensemble.backend->by_trees())
            return update_elsewhere(ensemble, leaf, sigma, work, *backend, rng);
        TreeUpdater updater(ensemble, leaf, sigma, work, rng);
        updater.run(*ensemble.backend->by_pass(), stop);
      },
      ensemble.leaf_model);
}

}  // namespace obart
