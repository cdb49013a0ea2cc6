// Phase 3 of a sweep: one tree after the other is accepted or not, and gets new outputs.
#include <cmath>

#include "planted.h"
#include "sampler.h"

namespace obart {
namespace {

// The values of leaves by code, after a prune.
template <class T>
void merge(Tree::PruneCodes codes, T merged, std::vector<T>& values) {
  values[Tree::code_after_prune(codes, codes.last)] = values[codes.last];
  values[Tree::code_after_prune(codes, codes.left)] = merged;
  values.pop_back();
}

}  // namespace

void Sampler::update_trees() {
  if (is_stopping()) return;
  FusedTask task = base_task();
  plan_sums(0);
  for (std::size_t m = 0; m < trees_.size(); ++m) {
    const Proposal& planned = proposals_[m];
    task.sum_code = codes(m);
    task.sum_right = planned.has_rule() ? rights(m) : nullptr;
    task.sum_present = presence_.of_tree(m);
    task.sum_routed = code_bit(planned.left_code) | code_bit(planned.right_code);
    task.cells = cells_.data();
    task.n_cells = static_cast<std::int64_t>(cells_.size());
    run_fused(task);
    if (is_stopping()) return;
    update_tree(m, task);
    if (m + 1 < trees_.size()) plan_sums(m + 1);
  }
  task.sum_code = nullptr;
  run_fused(task);
}

FusedTask Sampler::base_task() {
  FusedTask task{};
  task.residual = residual_.data();
  task.weight = likelihood_.weight();
  task.n_groups = data_->n_groups();
  task.left_delta = left_delta_.data();
  task.right_delta = right_delta_.data();
  return task;
}

// The finer partition of tree m. Cell c < n_leaves holds code c (or the half that keeps it); the
// halves that go to the other side follow.
void Sampler::plan_sums(std::size_t m) {
  const Proposal& proposal = proposals_[m];
  cells_.clear();
  for (int code = 0; code < trees_[m].n_leaves(); ++code)
    cells_.push_back({static_cast<std::uint8_t>(code), Side::both});
  if (!proposal.has_rule()) return;
  cells_[proposal.left_code].side = Side::left;
  cells_.push_back({proposal.left_code, Side::right});
  if (proposal.move == Move::grow) return;
  cells_[proposal.right_code].side = Side::right;
  cells_.push_back({proposal.right_code, Side::left});
}

void Sampler::run_fused(FusedTask task) {
  const std::int64_t n_blocks = data_->n_blocks();
  const auto n_cells = static_cast<std::size_t>(task.sum_code != nullptr ? task.n_cells : 0);
  const std::size_t n_sums = static_cast<std::size_t>(n_blocks) * n_cells;
  if (sums_.size() < n_sums) sums_.resize(n_sums);
  if (task.weight != nullptr && weights_.size() < n_sums) weights_.resize(n_sums);
  task.sums = sums_.data();
  task.weights = task.weight != nullptr ? weights_.data() : nullptr;
  team_.run([&](std::int64_t thread) {
    const auto [first, last] = share(n_blocks, thread, team_.size());
    kernels_.fused(task, first, last);
  });
  for (std::int64_t block = 1; block < n_blocks; ++block) {
    const std::size_t row = static_cast<std::size_t>(block) * n_cells;
    for (std::size_t c = 0; c < n_cells; ++c) sums_[c] += sums_[row + c];
    if (task.weight != nullptr)
      for (std::size_t c = 0; c < n_cells; ++c) weights_[c] += weights_[row + c];
  }
}

// Accepts or not, draws the outputs, and leaves in `task` the change that the next pass applies.
void Sampler::update_tree(std::size_t m, FusedTask& task) {
  Tree& tree = trees_[m];
  Proposal& proposal = proposals_[m];
  const int old_leaves = tree.n_leaves();
  const auto n_old = static_cast<std::size_t>(old_leaves);

  // Statistics of the partial residual, r + old output, in each cell.
  stats_.resize(cells_.size());
  old_output_.resize(n_old);
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const Node& leaf = tree.leaf_node(cells_[c].code);
    double weight = static_cast<double>(leaf.n_rows);
    if (cells_[c].side != Side::both) {
      const RightCounts& counts = right_counts_[m];
      const std::int64_t n_right =
          cells_[c].code == proposal.left_code ? counts.of_left : counts.of_right;
      weight = static_cast<double>(cells_[c].side == Side::right ? n_right : leaf.n_rows - n_right);
    }
    if (task.weight != nullptr && !OBART_BUG(weights_ignored_in_precision)) weight = weights_[c];
    const double old = static_cast<double>(leaf.output);
    stats_[c] = {weight, sums_[c] + (OBART_BUG(partial_residual_without_old_output)
                                         ? 0.0
                                         : (task.weight != nullptr ? weights_[c] : weight) * old)};
    if (likelihood_.is_off()) stats_[c] = {};
    if (c < n_old) old_output_[c] = leaf.output;
  }

  const bool accepted = accepts(proposal);
  if (!accepted && proposal.has_rule()) pools_.release(proposal.rule);
  take_leaf_stats(m);
  if (!leaf_model_.is_plain()) take_deviations();
  if (accepted) move_leaves(m);

  const bool wide = std::max(n_old, leaf_stats_.size()) > kNarrowCodes;
  if (accepted) {
    const std::size_t n_map = wide ? kTableSize - 1 : kNarrowCodes + 1;
    for (std::size_t c = 0; c < n_map; ++c)
      left_map_[c] = right_map_[c] = static_cast<std::uint8_t>(c);
    left_map_[kPaddingCode] = right_map_[kPaddingCode] = kPaddingCode;
    accept(m, proposal);
  }
  task.apply_right = accepted && proposal.has_rule() ? rights(m) : nullptr;
  task.left_map = accepted ? left_map_.data() : nullptr;
  task.right_map = right_map_.data();
  task.apply_present = OBART_BUG(stale_presence) ? nullptr : presence_.of_tree(m);
  task.apply_routed = task.sum_routed;

  for (std::size_t c = 0; c < leaf_stats_.size(); ++c) {
    const double deviation =
        leaf_model_.is_plain() ? rng_.normal() : leaf_model_.next_deviation(deviations_[c], rng_);
    tree.leaf_node(static_cast<int>(c)).output =
        static_cast<float>(leaf_model_.output(leaf_stats_[c], deviation));
  }
  for (std::size_t c = 0; c < n_old; ++c) {
    const std::uint8_t left = accepted ? left_map_[c] : static_cast<std::uint8_t>(c);
    left_delta_[c] = old_output_[c] - tree.leaf_node(left).output;
    if (task.apply_right == nullptr) continue;
    right_delta_[c] = old_output_[c] - tree.leaf_node(right_map_[c]).output;
  }
  if (!wide) left_delta_[kNarrowCodes] = right_delta_[kNarrowCodes] = 0.0F;
  task.apply_code = codes(m);
  task.apply_codes = static_cast<int>(std::max(n_old, leaf_stats_.size()));
}

// Of the partial residual in the leaves as they are; the finer cells are put together again.
void Sampler::take_leaf_stats(std::size_t m) {
  const Proposal& proposal = proposals_[m];
  const auto n_leaves = static_cast<std::size_t>(trees_[m].n_leaves());
  leaf_stats_.assign(stats_.begin(), stats_.begin() + trees_[m].n_leaves());
  if (!proposal.has_rule()) return;
  leaf_stats_[proposal.left_code] = stats_[proposal.left_code] + stats_[n_leaves];
  if (proposal.move == Move::grow) return;
  leaf_stats_[proposal.right_code] = stats_[proposal.right_code] + stats_[n_leaves + 1];
}

// An output is its conditional mean plus a standard normal deviation over the root of its
// precision. Given the partial residual, deviations are independent of each other and of the tree,
// and the acceptance does not depend on them. So they may be kept while the tree moves, and then
// take any step that keeps the normal distribution.
void Sampler::take_deviations() {
  deviations_.resize(leaf_stats_.size());
  for (std::size_t c = 0; c < leaf_stats_.size(); ++c)
    deviations_[c] = leaf_model_.deviation(leaf_stats_[c], old_output_[c]);
}

// Statistics and deviations of the leaves after an accepted move. A grow turns a deviation d and a
// new one z into (d + z, d - z) / sqrt 2, a prune turns two into their sum over sqrt 2.
void Sampler::move_leaves(std::size_t m) {
  const Proposal& proposal = proposals_[m];
  const std::size_t n_old = leaf_stats_.size();
  const std::size_t l = proposal.left_code;
  const std::size_t r = proposal.right_code;
  const bool has_deviations = !leaf_model_.is_plain();
  const double share = OBART_BUG(deviations_added) ? 1.0 : std::sqrt(0.5);
  if (proposal.move == Move::grow) {
    leaf_stats_[l] = stats_[l];
    leaf_stats_.push_back(stats_[n_old]);
    if (!has_deviations) return;
    const double d = deviations_[l];
    const double z = rng_.normal();
    deviations_[l] = share * (d + z);
    deviations_.push_back(share * (d - z));
  } else if (proposal.move == Move::prune) {
    const Tree::PruneCodes codes = trees_[m].prune_codes(proposal.node);
    merge(codes, stats_[codes.left] + stats_[codes.right], leaf_stats_);
    if (!has_deviations) return;
    merge(codes, share * (deviations_[codes.left] + deviations_[codes.right]), deviations_);
  } else {
    leaf_stats_[l] = stats_[l] + stats_[n_old + 1];
    leaf_stats_[r] = stats_[r] + stats_[n_old];
  }
}

bool Sampler::accepts(const Proposal& proposal) {
  if (!proposal.valid) return false;
  const std::size_t l = proposal.left_code;
  const std::size_t r = proposal.right_code;
  const std::size_t extra = cells_.size() - (proposal.move == Move::grow ? 1 : 2);
  double log_like_ratio = 0.0;
  if (proposal.move == Move::grow) {
    log_like_ratio = leaf_model_.log_split_gain(stats_[l], stats_[extra]);
  } else if (proposal.move == Move::prune) {
    log_like_ratio = -leaf_model_.log_split_gain(stats_[l], stats_[r]);
  } else {
    log_like_ratio =
        leaf_model_.log_change_gain(stats_[l] + stats_[extra], stats_[r] + stats_[extra + 1],
                                    stats_[l] + stats_[extra + 1], stats_[r] + stats_[extra]);
  }
  const double log_accept =
      log_like_ratio + proposal.log_prior_ratio + proposal.log_transition_ratio;
  return log_accept >= 0.0 || det_log(rng_.uniform()) < log_accept;
}

// Changes the tree and fills the code maps.
void Sampler::accept(std::size_t m, Proposal& proposal) {
  Tree& tree = trees_[m];
  const RightCounts& counts = right_counts_[m];
  Node& node = tree.node(proposal.node);
  changed_[m] = moved_[m] = 1;
  ++info_.accepted[static_cast<std::size_t>(proposal.move)];
  ++total_accepted_[static_cast<std::size_t>(proposal.move)];
  switch (proposal.move) {
    case Move::grow: {
      right_map_[proposal.left_code] = static_cast<std::uint8_t>(tree.n_leaves());
      const std::int64_t n_left =
          OBART_BUG(stale_counts_after_swap) ? node.n_rows : node.n_rows - counts.of_left;
      count_rule(proposal.rule, 1);
      tree.grow(proposal.node, proposal.rule, n_left, counts.of_left);
      break;
    }
    case Move::prune: {
      const Tree::PruneCodes codes = tree.prune_codes(proposal.node);
      for (int c = 0; c < tree.n_leaves(); ++c)
        left_map_[static_cast<std::size_t>(c)] =
            Tree::code_after_prune(codes, static_cast<std::uint8_t>(c));
      count_rule(node.rule, -1);
      pools_.release(node.rule);
      tree.prune(proposal.node);
      break;
    }
    default: {
      left_map_[proposal.right_code] = proposal.left_code;
      right_map_[proposal.left_code] = proposal.right_code;
      Node& left = tree.node(node.left);
      Node& right = tree.node(node.right);
      const std::int64_t n_all = left.n_rows + right.n_rows;
      right.n_rows = counts.of_left + counts.of_right;
      left.n_rows = n_all - right.n_rows;
      count_rule(node.rule, -1);
      count_rule(proposal.rule, 1);
      pools_.release(node.rule);
      node.rule = proposal.rule;
    }
  }
  // The rule's span is the tree's now; the proposal only remembers that there was a rule.
}

void Sampler::count_rule(const Rule& rule, int sign) {
  if (rule.kind != RuleKind::continuous) return;
  n_continuous_ += sign;
  const PhiEntry* phi = pools_.phi.at(rule.offset);
  for (std::uint32_t k = 0; k < rule.n_items; ++k) n_nonzero_[phi[k].column] += sign;
  if (rule.n_items == 1) n_axis_ += sign;
}

}  // namespace obart
