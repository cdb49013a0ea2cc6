// The update of trees on a card: whether a move is accepted, and the outputs that follow.
#pragma once

#include "backend/card/update_meanwhile.h"
#include "base/math.h"

namespace obart::card {

inline CellPair one_cell(int cell) { return {static_cast<std::uint8_t>(cell), CellPair::kNone}; }
inline CellPair two_cells(int first, int second) {
  return {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second)};
}

inline int n_leaves_if(const TreeTask& task, bool accepted) {
  if (!accepted || task.effect == TreeEffect::replace) return task.n_leaves;
  return task.effect == TreeEffect::split ? task.n_leaves + 1 : task.n_leaves - 1;
}

// The cells of a leaf if the proposal is rejected or accepted.
inline CellPair cells_of_leaf(const TreeTask& task, bool accepted, int c) {
  const int n_old = task.n_leaves;
  const int l = task.left_code;
  const int r = task.right_code;
  if (accepted && task.effect == TreeEffect::merge) {
    const PruneCodes codes = task.prune;
    if (c == code_after_prune(codes, codes.left)) return two_cells(codes.left, codes.right);
    return one_cell(c == code_after_prune(codes, codes.last) ? codes.last : c);
  }
  if (task.has_rule() && c == l && !(accepted && task.effect == TreeEffect::split))
    return two_cells(l, accepted ? n_old + 1 : n_old);
  if (task.replaces() && c == r) return two_cells(r, accepted ? n_old : n_old + 1);
  return one_cell(c);
}

// The cells of the four fits that make the gain: the first two are added, the others subtracted.
inline CellPair cells_of_fit(const TreeTask& task, int k) {
  const int n_old = task.n_leaves;
  const int l = task.left_code;
  const int r = task.effect == TreeEffect::split ? n_old : task.right_code;
  if (task.effect != TreeEffect::replace)
    return k == 0 ? one_cell(l) : k == 1 ? one_cell(r) : two_cells(l, r);
  if (k == 0) return two_cells(l, n_old + 1);
  if (k == 1) return two_cells(r, n_old);
  return k == 2 ? two_cells(l, n_old) : two_cells(r, n_old + 1);
}

// The sum of weights in a cell, and what the old output adds to the sum of residuals.
inline double weight_of_cell(const UpdateArgs& args, const UpdateShared& shared,
                             const SharedTree& tree, int cell) {
  const TreeTask& task = tree.task;
  if (!args.leaves.uses_data) return 0.0;
  if (args.weight != nullptr && !OBART_BUG(card_weights_ignored))
    return shared.totals[task.n_cells() + cell];
  if (cell == task.n_leaves) return task.right_of_left;
  if (cell == task.n_leaves + 1) return tree.n_rows[task.right_code] - task.right_of_right;
  if (task.has_rule() && cell == task.left_code) return tree.n_rows[cell] - task.right_of_left;
  if (task.replaces() && cell == task.right_code) return task.right_of_right;
  return tree.n_rows[cell];
}

inline double precision_of(const UpdateArgs& args, const UpdateShared& shared,
                           const SharedTree& tree, CellPair cells) {
  double weight = weight_of_cell(args, shared, tree, cells.first);
  if (cells.second != CellPair::kNone)
    weight = weight + weight_of_cell(args, shared, tree, cells.second);
  return weight * args.leaves.inv_sigma2 + tree.task.inv_tau2;
}

// What does not depend on the residual. First logarithms: of precisions, and of the uniform number.
inline void find_logs(const UpdateArgs& args, UpdateShared& shared, const SharedTree& tree,
                      const Warp& warp) {
  if (!tree.task.is_valid) return;
  warp.lanes([&](int lane) {
    const auto of_fit = [&](int k) {
      return precision_of(args, shared, tree, cells_of_fit(tree.task, k));
    };
    const double above = tree.task.effect == TreeEffect::replace ? of_fit(2) * of_fit(3)
                                                                 : tree.task.inv_tau2 * of_fit(2);
    const double ratio = above / (of_fit(0) * of_fit(1));
    const double found = det_log(lane == 0 ? ratio : uniform_of(shared.words[0]));
    if (lane == 0) shared.gain[0] = OBART_BUG(card_gain_not_halved) ? found : 0.5 * found;
    if (lane == 5) shared.gain[5] = found;
  });
}

inline constexpr int kFits = 4;

inline int n_quotients(const TreeTask& task) {
  return kFits + task.n_leaves + (task.is_valid ? n_leaves_if(task, true) : 0);
}

// Then quotients, of which sums are still missing: four fits, the means of leaves if the proposal
// is rejected, and if it is accepted.
inline void plan_quotients(const UpdateArgs& args, UpdateShared& shared, const SharedTree& tree,
                           const Warp& warp) {
  const TreeTask& task = tree.task;
  warp.lanes([&](int lane) {
    for (int k = lane; k < n_quotients(task); k += kWarpLanes) {
      if (k < kFits && !task.is_valid) continue;
      const bool accepted = k - kFits >= task.n_leaves;
      const int c = k - kFits - (accepted ? task.n_leaves : 0);
      const CellPair cells = k < kFits ? cells_of_fit(task, k) : cells_of_leaf(task, accepted, c);
      const double p = precision_of(args, shared, tree, cells);
      shared.quotient_cells[k] = cells;
      shared.below[k] = k < kFits ? 2.0 * p : p;
      if (k >= kFits) shared.root[k - kFits] = root(p);
    }
    for (int c = lane; c < task.n_cells(); c += kWarpLanes) {
      const int code =
          c < task.n_leaves ? c : (c == task.n_leaves ? task.left_code : task.right_code);
      shared.old_sums[c] =
          weight_of_cell(args, shared, tree, c) * static_cast<double>(tree.outputs[code]);
    }
    for (int c = lane; c < task.n_leaves; c += kWarpLanes)
      shared.left_map[c] = shared.right_map[c] = static_cast<std::uint8_t>(c);
  });
}

// And with the sums.
inline void find_quotients(const UpdateArgs& args, UpdateShared& shared, const SharedTree& tree,
                           const Warp& warp) {
  const TreeTask& task = tree.task;
  warp.lanes([&](int lane) {
    for (int k = lane; k < n_quotients(task); k += kWarpLanes) {
      if (k < kFits && !task.is_valid) continue;
      const CellPair cells = shared.quotient_cells[k];
      double sum = shared.totals[cells.first] + shared.old_sums[cells.first];
      if (cells.second != CellPair::kNone)
        sum = sum + (shared.totals[cells.second] + shared.old_sums[cells.second]);
      if (!args.leaves.uses_data) sum = 0.0;
      const double score = sum * args.leaves.inv_sigma2;
      const double quotient = (k < kFits ? score * score : score) / shared.below[k];
      if (k < kFits)
        shared.gain[k + 1] = quotient;
      else
        shared.mean[k - kFits] = quotient;
      const int c = k - kFits;
      if (c >= 0 && c < task.n_leaves)
        shared.deviations[c] = (static_cast<double>(tree.outputs[c]) - quotient) * shared.root[c];
    }
  });
}

struct Decision {
  bool accepted;
  int n_used;  // words
};

inline Decision accept_or_not(const UpdateShared& shared, const TreeTask& task) {
  if (!task.is_valid) return {false, 0};
  const double* gain = shared.gain;
  double log_ratio = gain[0] + gain[1] + gain[2] - gain[3];
  if (task.effect == TreeEffect::replace) log_ratio = log_ratio - gain[4];
  if (task.effect == TreeEffect::merge) log_ratio = -log_ratio;
  const double log_accept = OBART_BUG(card_prior_ratio_dropped)
                                ? log_ratio + task.log_transition_ratio
                                : log_ratio + task.log_prior_ratio + task.log_transition_ratio;
  if (log_accept >= 0.0) return {true, 0};
  return {gain[5] < log_accept, 1};
}

// The deviation that a leaf starts from: a split shares one out, a merge puts two together.
inline double first_deviation(const UpdateShared& shared, const TreeTask& task, bool accepted,
                              double split_normal, int c) {
  const double* d = shared.deviations;
  if (!accepted || task.effect == TreeEffect::replace) return d[c];
  const double share = OBART_BUG(card_deviations_added) ? 1.0 : root(0.5);
  if (task.effect == TreeEffect::split) {
    const double of_split = d[task.left_code];
    if (c == task.left_code) return share * (of_split + split_normal);
    return c == task.n_leaves ? share * (of_split - split_normal) : d[c];
  }
  const PruneCodes codes = task.prune;
  if (c == code_after_prune(codes, codes.left)) return share * (d[codes.left] + d[codes.right]);
  return d[c == code_after_prune(codes, codes.last) ? codes.last : c];
}

// Where codes go after an accepted move.
inline void fill_maps(UpdateShared& shared, const TreeTask& task, const Warp& warp) {
  warp.lanes([&](int lane) {
    if (task.effect == TreeEffect::merge) {
      if (OBART_BUG(card_merge_not_mapped)) return;
      for (int c = lane; c < task.n_leaves; c += kWarpLanes)
        shared.left_map[c] = code_after_prune(task.prune, static_cast<std::uint8_t>(c));
    } else if (lane == 0 && task.effect == TreeEffect::split) {
      shared.right_map[task.left_code] = static_cast<std::uint8_t>(task.n_leaves);
    } else if (lane == 0) {
      shared.left_map[task.right_code] = task.left_code;
      shared.right_map[task.left_code] = task.right_code;
    }
  });
}

// The normal draws that follow: those of the words, or, if a word is not simple, one by one.
inline void settle_normals(const UpdateArgs& args, UpdateShared& shared, int first, int n,
                           const Warp& warp) {
  PerLane<bool> simple;
  warp.registers([&](int lane) {
    simple[lane] = true;
    for (int k = lane; k < n; k += kWarpLanes)
      simple[lane] = simple[lane] && shared.is_simple[first + k] != 0;
  });
  const bool all_simple = warp.all(simple) || OBART_BUG(card_wedges_ignored);
  warp.lanes([&](int lane) {
    if (lane != 0) return;
    if (all_simple) {
      shared.rng = shared.rng_after[OBART_BUG(card_numbers_used_again) ? first : first + n];
    } else {
      SerialRng rng(shared.rng_after[first], shared.ziggurat, args.heights);
      for (int k = 0; k < n; ++k) shared.normals[first + k] = rng.normal();
      shared.rng = rng.state();
    }
  });
}

inline void decide(const UpdateArgs& args, UpdateShared& shared, const SharedTree& tree,
                   const Warp& warp) {
  const TreeTask& task = tree.task;
  const NormalOutputs& leaves = args.leaves;
  const Decision decision = accept_or_not(shared, task);
  const int n_new = n_leaves_if(task, decision.accepted);
  const bool splits =
      decision.accepted && task.effect == TreeEffect::split && leaves.keeps_deviations;
  const int first = decision.n_used + (splits ? 1 : 0);
  settle_normals(args, shared, decision.n_used, n_new + (splits ? 1 : 0), warp);
  if (decision.accepted) fill_maps(shared, task, warp);
  warp.lanes([&](int lane) {
    if (lane == 0) {
      shared.accepted = decision.accepted ? 1 : 0;
      shared.n_new = n_new;
    }
    const double split_normal = shared.normals[decision.n_used];
    const int of_leaves = decision.accepted ? task.n_leaves : 0;
    for (int c = lane; c < n_new; c += kWarpLanes) {
      double deviation = shared.normals[first + c];
      if (leaves.keeps_deviations)
        deviation =
            leaves.correlation * first_deviation(shared, task, decision.accepted, split_normal, c) +
            leaves.fresh * deviation;
      shared.new_outputs[c] =
          static_cast<float>(shared.mean[of_leaves + c] + deviation / shared.root[of_leaves + c]);
    }
  });
  warp.lanes([&](int lane) {
    for (int c = lane; c < task.n_leaves; c += kWarpLanes) {
      shared.left_delta[c] = tree.outputs[c] - shared.new_outputs[shared.left_map[c]];
      shared.right_delta[c] = tree.outputs[c] - shared.new_outputs[shared.right_map[c]];
    }
  });
}

}  // namespace obart::card
