// Phase 3 on a card: one tree after the other, the rows in parts. In each step a part sums its
// residuals by cell, sends the sums to all others, and receives theirs; then every part takes the
// same decision, with the same bits, and changes its own rows. The arithmetic is that of
// sweep/update_trees.cpp and ensemble/normal_leaf.h, operation by operation.
#pragma once

#include "backend/card/card_rng.h"
#include "backend/card/machine.h"
#include "backend/card/slots.h"
#include "backend/card/tasks.h"
#include "base/math.h"

namespace obart::card {

inline constexpr int kMostCodes = 256;
inline constexpr int kMostUpdateCells = 252;
inline constexpr int kMostWords = kMostUpdateCells + 4;
inline constexpr int kUpdateWarps = 8;
// Slots of a lane lie a little apart, or all lanes would read the same banks of the memory.
inline constexpr int kLaneStride = kLaneRows + 4;
inline constexpr int kCellsTogether = 8;
inline constexpr int kPairLevels = 8;  // up to 128 sums

struct Stats {
  double weight, sum;
  Stats operator+(const Stats& other) const { return {weight + other.weight, sum + other.sum}; }
};

// What a block of threads shares.
struct UpdateShared {
  TreeTask tree;
  RngState rng;
  RngState rng_after[kMostWords];  // so many words
  std::uint64_t words[kMostWords];
  double totals[2 * kMostUpdateCells];  // of residuals, then of weights
  Stats stats[kMostUpdateCells];        // by cell
  Stats leaf_stats[kMostUpdateCells];   // by leaf; after the move, if it is accepted
  double deviations[kMostUpdateCells];
  double normals[kMostUpdateCells + 1];
  double gain[8];
  float old_outputs[kMostCodes], new_outputs[kMostCodes];
  float left_delta[kMostCodes], right_delta[kMostCodes];
  std::uint8_t left_map[kMostCodes], right_map[kMostCodes];
  double split_normal;
  std::int32_t accepted, n_new, n_used, all_simple;
};

// Where a part's memory lies: what is fixed, the sums of its warps, its residual.
struct UpdateMemory {
  UpdateShared* fixed;
  double* warp_sums;  // by value and warp
  float* residual;    // kLaneStride for each lane, or kLaneRows if it stays in the card's memory
  int lane_stride;
};

inline std::int64_t update_bytes(std::int32_t most_values, std::int32_t blocks_in_shared) {
  return static_cast<std::int64_t>(sizeof(UpdateShared)) + most_values * kUpdateWarps * 8 +
         static_cast<std::int64_t>(blocks_in_shared) * kBlockLanes * kLaneStride * 4;
}

inline UpdateMemory lay_out(const UpdateArgs& args, int part, char* shared) {
  UpdateMemory memory{};
  memory.fixed = reinterpret_cast<UpdateShared*>(shared);
  memory.warp_sums = reinterpret_cast<double*>(shared + sizeof(UpdateShared));
  memory.residual =
      args.in_shared != 0
          ? reinterpret_cast<float*>(memory.warp_sums + args.most_values * kUpdateWarps)
          : args.residual + static_cast<std::int64_t>(part) * args.blocks_per_part * kBlockSlots;
  memory.lane_stride = args.in_shared != 0 ? kLaneStride : kLaneRows;
  return memory;
}

// The rows of a part that there are.
struct PartRows {
  std::int64_t first_slot;
  int n_blocks;
};

inline PartRows rows_of_part(const UpdateArgs& args, int part) {
  const std::int64_t first = static_cast<std::int64_t>(part) * args.blocks_per_part;
  const std::int64_t n_blocks = args.n_slots / kBlockSlots - first;
  return {first * kBlockSlots,
          static_cast<int>(n_blocks < args.blocks_per_part ? n_blocks : args.blocks_per_part)};
}

// ---- sums --------------------------------------------------------------------------------------

// The cell of a row with this code, whose bit says where the proposed rule sends it.
inline int cell_of(const TreeTask& tree, int code, bool is_right) {
  if (is_right) return code == tree.left_code ? tree.n_leaves : code;
  return tree.replaces() && code == tree.right_code ? tree.n_leaves + 1 : code;
}

struct SixteenCodes {
  alignas(16) std::uint32_t word[4];
};

// Sums of one lane of a block over cells first to first + kCellsTogether - 1.
template <bool Weighted, int N>
inline void sum_lane(const TreeTask& tree, const std::uint8_t* code, std::uint64_t bits,
                     const float* residual, const float* weight, int first, float (&sums)[N],
                     float (&weights)[N]) {
  for (int c = 0; c < N; ++c) sums[c] = weights[c] = 0.0F;
  const bool has_bits = bits != 0 || tree.replaces();
  OBART_ROLLED
  for (int sixteen = 0; sixteen < kLaneRows; sixteen += 16) {
    const SixteenCodes codes = *reinterpret_cast<const SixteenCodes*>(code + sixteen);
  OBART_UNROLLED
    for (int i = 0; i < 16; ++i) {
      int cell = static_cast<int>((codes.word[i / 4] >> (8 * (i % 4))) & 255U);
      if (has_bits) cell = cell_of(tree, cell, ((bits >> (sixteen + i)) & 1U) != 0);
      cell -= first;
      float r = residual[sixteen + i];
      float w = 0.0F;
      if constexpr (Weighted) {
        w = weight[sixteen + i];
        r = r * w;
      }
  OBART_UNROLLED
      for (int c = 0; c < N; ++c) {
        if (cell == c) sums[c] += r;
        if constexpr (Weighted)
          if (cell == c) weights[c] += w;
      }
    }
  }
}

// The lanes of a block to one double, in the order of base/lanes.h, and the two blocks of a warp;
// lane c keeps the sum of cell c.
template <int N>
inline void reduce_warp(const Warp& warp, PerLane<float[N]>& sums, PerLane<double>& kept) {
  PerLane<double> value, other;
  warp.lanes([&](int lane) { kept[lane] = 0.0; });
  OBART_UNROLLED
  for (int c = 0; c < N; ++c) {
    warp.lanes([&](int lane) { value[lane] = static_cast<double>(sums[lane][c]); });
    for (int mask = kBlockLanes / 2; mask >= 1; mask /= 2) {
      warp.swap(value, mask, other);
      warp.lanes([&](int lane) { value[lane] += other[lane]; });
    }
    warp.swap(value, kBlockLanes, other);
    warp.lanes([&](int lane) {
      if (lane % kWarpLanes == c) kept[lane] = value[lane] + other[lane];
    });
  }
}

// Sums that come one after the other, added in pairs (base/blocks.h). All loops have constant ends,
// so that a card keeps it in registers.
struct PairStack {
  double waiting[kPairLevels];

  void add(int index, double sum) {
    bool carries = true;
  OBART_UNROLLED
    for (int level = 0; level < kPairLevels; ++level) {
      const bool is_odd = ((index >> level) & 1) != 0;
      if (carries && is_odd) sum = waiting[level] + sum;
      if (carries && !is_odd) waiting[level] = sum;
      carries = carries && is_odd;
    }
  }
  // After 2^level sums.
  double total(int level) const {
    double sum = waiting[0];
  OBART_UNROLLED
    for (int k = 1; k < kPairLevels; ++k)
      if (k == level) sum = waiting[k];
    return sum;
  }
};

inline int log2_of(int power) {
  int level = 0;
  while ((1 << level) < power) ++level;
  return level;
}

template <bool Weighted, int N>
inline void sum_cells(const UpdateArgs& args, const UpdateMemory& memory, const PartRows& rows,
                      int m, int first, const Warp& warp, int n_warps) {
  const TreeTask& tree = memory.fixed->tree;
  const int n_pairs = (args.blocks_per_part + 1) / 2;
  const int pairs_per_warp = (n_pairs + n_warps - 1) / n_warps;  // a power of two, as the others
  const int level = log2_of(pairs_per_warp);
  PerLane<PairStack> stack, weight_stack;
  for (int k = 0; k < pairs_per_warp; ++k) {
    PerLane<float[N]> sums, weights;
    const int pair = warp.index * pairs_per_warp + k;
    warp.lanes([&](int lane) {
      const int block = 2 * pair + lane / kBlockLanes;
      if (block >= rows.n_blocks) {
        for (int c = 0; c < N; ++c) sums[lane][c] = weights[lane][c] = 0.0F;
        return;
      }
      const int at = block * kBlockLanes + lane % kBlockLanes;  // lane of the part
      const std::int64_t slot = rows.first_slot + static_cast<std::int64_t>(at) * kLaneRows;
      const std::int64_t in_tree = m * args.n_slots + slot;
      sum_lane<Weighted, N>(
          tree, args.code + in_tree, tree.has_rule() ? args.right[in_tree / kLaneRows] : 0,
          memory.residual + at * memory.lane_stride, Weighted ? args.weight + slot : nullptr, first,
          sums[lane], weights[lane]);
    });
    PerLane<double> kept;
    reduce_warp<N>(warp, sums, kept);
    warp.lanes([&](int lane) { stack[lane].add(k, kept[lane]); });
    if constexpr (Weighted) {
      reduce_warp<N>(warp, weights, kept);
      warp.lanes([&](int lane) { weight_stack[lane].add(k, kept[lane]); });
    }
  }
  const int n_cells = tree.n_cells();
  warp.lanes([&](int lane) {
    const int cell = first + lane;
    if (lane >= N || cell >= n_cells) return;
    memory.warp_sums[cell * kUpdateWarps + warp.index] = stack[lane].total(level);
    if constexpr (Weighted)
      memory.warp_sums[(n_cells + cell) * kUpdateWarps + warp.index] =
          weight_stack[lane].total(level);
  });
}

template <bool Weighted>
inline void sum_tree(const UpdateArgs& args, const UpdateMemory& memory, const PartRows& rows,
                     int m, const Warp& warp, int n_warps) {
  const int n_cells = memory.fixed->tree.n_cells();
  if (n_cells <= 4) return sum_cells<Weighted, 4>(args, memory, rows, m, 0, warp, n_warps);
  for (int first = 0; first < n_cells; first += kCellsTogether)
    sum_cells<Weighted, kCellsTogether>(args, memory, rows, m, first, warp, n_warps);
}

inline int n_values(const UpdateArgs& args, const TreeTask& tree) {
  return tree.n_cells() * (args.weight != nullptr ? 2 : 1);
}

// How many warps have rows; all of the part's block pairs are theirs.
inline int warps_with_rows(const UpdateArgs& args) {
  const int n_pairs = (args.blocks_per_part + 1) / 2;
  return n_pairs < kUpdateWarps ? n_pairs : kUpdateWarps;
}

// Two words for a value, each with a tag that says of which tree it is.
inline std::uint64_t* exchange_at(const UpdateArgs& args, int m, int part, int value) {
  return args.exchange +
         2 * ((static_cast<std::int64_t>(m % 2) * args.n_parts + part) * args.most_values + value);
}

inline void publish(const UpdateArgs& args, const UpdateMemory& memory, int m, int part,
                    const ThreadBlock& threads) {
  const std::uint64_t tag = static_cast<std::uint64_t>(args.first_tag + static_cast<unsigned>(m))
                            << 32;
  const int n_warps = warps_with_rows(args);
  const int n = n_values(args, memory.fixed->tree);
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      for (int v = warp.index * kWarpLanes + lane; v < n; v += threads.n_warps * kWarpLanes) {
        double* sums = memory.warp_sums + v * kUpdateWarps;
        for (int step = 1; step < n_warps; step *= 2)
          for (int w = 0; w + step < n_warps; w += 2 * step) sums[w] += sums[w + step];
        const std::uint64_t bits = bits_of(sums[0]);
        send(exchange_at(args, m, part, v), tag | bits >> 32, tag | (bits & 0xffffffffU));
      }
    });
  });
}

// The first step of a tree: sums of this part.
inline void sum_and_send(const UpdateArgs& args, const UpdateMemory& memory, int m, int part,
                         const ThreadBlock& threads) {
  UpdateShared& shared = *memory.fixed;
  const PartRows rows = rows_of_part(args, part);
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      if (warp.index == 0 && lane == 0) shared.tree = args.trees[m];
    });
  });
  threads.warps([&](const Warp& warp) {
    const int n_warps = warps_with_rows(args);
    if (warp.index < n_warps) {
      if (args.weight != nullptr)
        sum_tree<true>(args, memory, rows, m, warp, n_warps);
      else
        sum_tree<false>(args, memory, rows, m, warp, n_warps);
    }
    warp.lanes([&](int lane) {
      const int first = shared.tree.first;
      for (int c = warp.index * kWarpLanes + lane; c < shared.tree.n_leaves;
           c += threads.n_warps * kWarpLanes)
        shared.old_outputs[c] = args.outputs[first + c];
    });
  });
  publish(args, memory, m, part, threads);
}

// ---- the decision ------------------------------------------------------------------------------

// Words of the chain's generator, as many as this tree can use.
inline void make_words(const UpdateArgs&, UpdateShared& shared) {
  RngState rng = shared.rng;
  const int n = shared.tree.n_leaves + 3;
  for (int k = 0; k < n; ++k) {
    shared.rng_after[k] = rng;
    shared.words[k] = rng.next();
  }
  shared.rng_after[n] = rng;
}

inline void receive_value(const UpdateArgs& args, UpdateShared& shared, int m, int value,
                          const Warp& warp) {
  const std::uint32_t tag = args.first_tag + static_cast<unsigned>(m);
  int per_lane = 1;  // a power of two, so that lanes have whole parts of the tree of pairs
  while (per_lane * kWarpLanes < args.n_parts) per_lane *= 2;
  PerLane<double> sum, other;
  warp.lanes([&](int lane) {
    PairStack stack{};
    for (int k = 0; k < per_lane; ++k) {
      const int part = lane * per_lane + k;
      double here = 0.0;
      if (part < args.n_parts) {
        const std::uint64_t* from = exchange_at(args, m, part, value);
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        do receive(from, high, low);
        while (high >> 32 != tag || low >> 32 != tag);
        here = of_bits(high << 32 | (low & 0xffffffffU));
      }
      stack.add(k, here);
    }
    sum[lane] = stack.total(log2_of(per_lane));
  });
  for (int mask = 1; mask < kWarpLanes; mask *= 2) {
    warp.swap(sum, mask, other);
    warp.lanes([&](int lane) { sum[lane] += other[lane]; });
  }
  warp.lanes([&](int lane) {
    if (lane == 0) shared.totals[value] = sum[lane];
  });
}

inline double precision(const NormalOutputs& leaves, const Stats& s) {
  return s.weight * leaves.inv_sigma2 + leaves.inv_tau2;
}
inline double score(const NormalOutputs& leaves, const Stats& s) {
  return s.sum * leaves.inv_sigma2;
}
inline double fit(const NormalOutputs& leaves, const Stats& s) {
  const double theta = score(leaves, s);
  return theta * theta / (2.0 * precision(leaves, s));
}
inline float output_of(const NormalOutputs& leaves, const Stats& s, double deviation) {
  const double p = precision(leaves, s);
  return static_cast<float>(score(leaves, s) / p + deviation / root(p));
}

inline Stats stats_of_cell(const UpdateArgs& args, const UpdateShared& shared, int cell) {
  const TreeTask& tree = shared.tree;
  const int code =
      cell < tree.n_leaves ? cell : (cell == tree.n_leaves ? tree.left_code : tree.right_code);
  if (!args.leaves.uses_data) return {0.0, 0.0};
  double n_rows = args.n_rows[tree.first + code];
  if (tree.has_rule() && code == tree.left_code)
    n_rows = cell == tree.n_leaves ? tree.right_of_left : n_rows - tree.right_of_left;
  else if (tree.replaces() && code == tree.right_code)
    n_rows = cell == tree.n_leaves + 1 ? n_rows - tree.right_of_right : tree.right_of_right;
  const double weight = args.weight != nullptr ? shared.totals[tree.n_cells() + cell] : n_rows;
  return {weight, shared.totals[cell] + weight * static_cast<double>(shared.old_outputs[code])};
}

// One of the terms of log_accept, each by a lane of its own: 0 is the logarithm, the others follow
// with their signs, 5 is the log of the uniform number.
inline double gain_term(const UpdateArgs& args, const UpdateShared& shared, int term) {
  const TreeTask& tree = shared.tree;
  const NormalOutputs& leaves = args.leaves;
  if (term == 5) return det_log(uniform_of(shared.words[0]));
  const int extra = tree.n_cells() - (tree.effect == TreeEffect::split ? 1 : 2);
  const Stats l = shared.stats[tree.left_code];
  if (tree.effect != TreeEffect::replace) {
    const Stats r = shared.stats[tree.effect == TreeEffect::split ? extra : tree.right_code];
    if (term == 0)
      return 0.5 * det_log(leaves.inv_tau2 * precision(leaves, l + r) /
                           (precision(leaves, l) * precision(leaves, r)));
    if (term == 1) return fit(leaves, l);
    if (term == 2) return fit(leaves, r);
    return term == 3 ? fit(leaves, l + r) : 0.0;
  }
  const Stats r = shared.stats[tree.right_code];
  const Stats to_right = shared.stats[extra];
  const Stats to_left = shared.stats[extra + 1];
  if (term == 0)
    return 0.5 * det_log(precision(leaves, l + to_right) * precision(leaves, r + to_left) /
                         (precision(leaves, l + to_left) * precision(leaves, r + to_right)));
  if (term == 1) return fit(leaves, l + to_left);
  if (term == 2) return fit(leaves, r + to_right);
  return term == 3 ? fit(leaves, l + to_right) : fit(leaves, r + to_left);
}

inline void accept_or_not(UpdateShared& shared) {
  const TreeTask& tree = shared.tree;
  shared.accepted = 0;
  shared.n_used = 0;
  if (!tree.is_valid) return;
  const double* gain = shared.gain;
  double log_ratio = gain[0] + gain[1] + gain[2] - gain[3];
  if (tree.effect == TreeEffect::replace) log_ratio = log_ratio - gain[4];
  if (tree.effect == TreeEffect::merge) log_ratio = -log_ratio;
  const double log_accept = log_ratio + tree.log_prior_ratio + tree.log_transition_ratio;
  if (log_accept >= 0.0) {
    shared.accepted = 1;
    return;
  }
  shared.n_used = 1;
  shared.accepted = gain[5] < log_accept ? 1 : 0;
}

// Leaves as they were before the move, and their deviations.
inline void merge_cell(const UpdateArgs& args, UpdateShared& shared, int c) {
  const TreeTask& tree = shared.tree;
  Stats s = shared.stats[c];
  if (tree.has_rule() && c == tree.left_code) s = s + shared.stats[tree.n_leaves];
  if (tree.replaces() && c == tree.right_code) s = s + shared.stats[tree.n_leaves + 1];
  shared.leaf_stats[c] = s;
  if (!args.leaves.keeps_deviations) return;
  const double p = precision(args.leaves, s);
  shared.deviations[c] =
      (static_cast<double>(shared.old_outputs[c]) - score(args.leaves, s) / p) * root(p);
}

inline bool needs_split_normal(const UpdateArgs& args, const UpdateShared& shared) {
  return shared.accepted != 0 && shared.tree.effect == TreeEffect::split &&
         args.leaves.keeps_deviations;
}

// The normal draws that follow, all from simple words or one after the other.
inline void draw_normals(const UpdateArgs& args, UpdateShared& shared, const Warp& warp) {
  const bool splits = needs_split_normal(args, shared);
  const int n = shared.n_new + (splits ? 1 : 0);
  const int first = shared.n_used;
  PerLane<int> simple, other;
  warp.lanes([&](int lane) {
    simple[lane] = 1;
    for (int k = lane; k < n; k += kWarpLanes) {
      double z = 0.0;
      if (!simple_normal(shared.words[first + k], args.ziggurat, z)) simple[lane] = 0;
      shared.normals[k] = z;
    }
  });
  for (int mask = 1; mask < kWarpLanes; mask *= 2) {
    warp.swap(simple, mask, other);
    warp.lanes([&](int lane) { simple[lane] &= other[lane]; });
  }
  warp.lanes([&](int lane) {
    if (lane != 0) return;
    if (simple[lane] != 0) {
      shared.rng = shared.rng_after[first + n];
    } else {
      SerialRng rng(shared.rng_after[first], args.ziggurat, args.heights);
      for (int k = 0; k < n; ++k) shared.normals[k] = rng.normal();
      shared.rng = rng.state();
    }
  });
}

// Leaves after an accepted move, and where codes go.
inline void move_leaves(const UpdateArgs& args, UpdateShared& shared) {
  const TreeTask& tree = shared.tree;
  const int n_old = tree.n_leaves;
  const int l = tree.left_code;
  const int r = tree.right_code;
  const bool keeps = args.leaves.keeps_deviations;
  const double share = root(0.5);
  if (tree.effect == TreeEffect::split) {
    shared.leaf_stats[l] = shared.stats[l];
    shared.leaf_stats[n_old] = shared.stats[n_old];
    shared.right_map[l] = static_cast<std::uint8_t>(n_old);
    if (!keeps) return;
    const double d = shared.deviations[l];
    const double z = shared.normals[0];
    shared.deviations[l] = share * (d + z);
    shared.deviations[n_old] = share * (d - z);
  } else if (tree.effect == TreeEffect::merge) {
    const PruneCodes codes = tree.prune;
    const int at_last = code_after_prune(codes, codes.last);
    const int at_left = code_after_prune(codes, codes.left);
    const Stats merged = shared.stats[codes.left] + shared.stats[codes.right];
    const double together =
        share * (shared.deviations[codes.left] + shared.deviations[codes.right]);
    shared.leaf_stats[at_last] = shared.leaf_stats[codes.last];
    shared.leaf_stats[at_left] = merged;
    for (int c = 0; c < n_old; ++c)
      shared.left_map[c] = code_after_prune(codes, static_cast<std::uint8_t>(c));
    if (!keeps) return;
    shared.deviations[at_last] = shared.deviations[codes.last];
    shared.deviations[at_left] = together;
  } else {
    shared.leaf_stats[l] = shared.stats[l] + shared.stats[n_old + 1];
    shared.leaf_stats[r] = shared.stats[r] + shared.stats[n_old];
    shared.left_map[r] = static_cast<std::uint8_t>(l);
    shared.right_map[l] = static_cast<std::uint8_t>(r);
  }
}

inline void decide(const UpdateArgs& args, UpdateShared& shared, const Warp& warp) {
  const TreeTask& tree = shared.tree;
  const NormalOutputs& leaves = args.leaves;
  const int n_old = tree.n_leaves;
  warp.lanes([&](int lane) {
    for (int c = lane; c < tree.n_cells(); c += kWarpLanes)
      shared.stats[c] = stats_of_cell(args, shared, c);
  });
  warp.lanes([&](int lane) {
    if (lane < 6 && tree.is_valid) shared.gain[lane] = gain_term(args, shared, lane);
    for (int c = lane; c < n_old; c += kWarpLanes) {
      merge_cell(args, shared, c);
      shared.left_map[c] = shared.right_map[c] = static_cast<std::uint8_t>(c);
    }
  });
  warp.lanes([&](int lane) {
    if (lane != 0) return;
    accept_or_not(shared);
    const int more =
        tree.effect == TreeEffect::split ? 1 : (tree.effect == TreeEffect::merge ? -1 : 0);
    shared.n_new = n_old + (shared.accepted != 0 ? more : 0);
  });
  draw_normals(args, shared, warp);
  warp.lanes([&](int lane) {
    if (lane == 0 && shared.accepted != 0) move_leaves(args, shared);
  });
  warp.lanes([&](int lane) {
    const int skip = needs_split_normal(args, shared) ? 1 : 0;
    for (int c = lane; c < shared.n_new; c += kWarpLanes) {
      double deviation = shared.normals[skip + c];
      if (leaves.keeps_deviations)
        deviation = leaves.correlation * shared.deviations[c] + leaves.fresh * deviation;
      shared.new_outputs[c] = output_of(leaves, shared.leaf_stats[c], deviation);
    }
  });
  warp.lanes([&](int lane) {
    for (int c = lane; c < n_old; c += kWarpLanes) {
      shared.left_delta[c] = shared.old_outputs[c] - shared.new_outputs[shared.left_map[c]];
      shared.right_delta[c] = shared.old_outputs[c] - shared.new_outputs[shared.right_map[c]];
    }
  });
}

// ---- the change --------------------------------------------------------------------------------

// Of one lane of a block.
inline void change_lane(const UpdateShared& shared, bool moves, std::uint64_t bits,
                        std::uint8_t* code, float* residual) {
  OBART_ROLLED
  for (int sixteen = 0; sixteen < kLaneRows; sixteen += 16) {
    SixteenCodes codes = *reinterpret_cast<const SixteenCodes*>(code + sixteen);
    SixteenCodes moved{};
  OBART_UNROLLED
    for (int i = 0; i < 16; ++i) {
      const int c = static_cast<int>((codes.word[i / 4] >> (8 * (i % 4))) & 255U);
      std::uint32_t now = kPadding;
      if (c != kPadding) {
        const bool is_right = ((bits >> (sixteen + i)) & 1U) != 0;
        residual[sixteen + i] += is_right ? shared.right_delta[c] : shared.left_delta[c];
        now = is_right ? shared.right_map[c] : shared.left_map[c];
      }
      moved.word[i / 4] |= now << (8 * (i % 4));
    }
    if (moves) *reinterpret_cast<SixteenCodes*>(code + sixteen) = moved;
  }
}

// The second step of a tree: the sums of all parts, the decision, and what it does to this part.
inline void decide_and_change(const UpdateArgs& args, const UpdateMemory& memory, int m, int part,
                              const ThreadBlock& threads) {
  UpdateShared& shared = *memory.fixed;
  const PartRows rows = rows_of_part(args, part);
  threads.warps([&](const Warp& warp) {
    if (warp.index == threads.n_warps - 1)
      warp.lanes([&](int lane) {
        if (lane == 0) make_words(args, shared);
      });
    for (int v = warp.index; v < n_values(args, shared.tree); v += threads.n_warps)
      receive_value(args, shared, m, v, warp);
  });
  threads.warps([&](const Warp& warp) {
    if (warp.index == 0) decide(args, shared, warp);
  });
  threads.warps([&](const Warp& warp) {
    const bool moves = shared.accepted != 0;
    const bool has_bits = moves && shared.tree.has_rule();
    warp.lanes([&](int lane) {
      for (int at = warp.index * kWarpLanes + lane; at < rows.n_blocks * kBlockLanes;
           at += threads.n_warps * kWarpLanes) {
        const std::int64_t slot =
            m * args.n_slots + rows.first_slot + static_cast<std::int64_t>(at) * kLaneRows;
        change_lane(shared, moves, has_bits ? args.right[slot / kLaneRows] : 0, args.code + slot,
                    memory.residual + at * memory.lane_stride);
      }
      if (part != 0) return;
      if (warp.index == 0 && lane == 0) args.accepted[m] = moves ? 1 : 0;
      for (int c = warp.index * kWarpLanes + lane; c < shared.n_new;
           c += threads.n_warps * kWarpLanes)
        args.new_outputs[shared.tree.first + c] = shared.new_outputs[c];
    });
  });
}

// ---- before and after the trees ----------------------------------------------------------------

// Between the card's memory and the shared one.
inline void copy_residual(const UpdateArgs& args, const UpdateMemory& memory, int part,
                          const ThreadBlock& threads, bool back) {
  if (args.in_shared == 0) return;
  const PartRows rows = rows_of_part(args, part);
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      const int n = rows.n_blocks * kBlockSlots;
      for (int i = warp.index * kWarpLanes + lane; i < n; i += threads.n_warps * kWarpLanes) {
        float& outside = args.residual[rows.first_slot + i];
        float& inside = memory.residual[i / kLaneRows * kLaneStride + i % kLaneRows];
        if (back)
          outside = inside;
        else
          inside = outside;
      }
    });
  });
}

inline void begin_update(const UpdateArgs& args, const UpdateMemory& memory, int part,
                         const ThreadBlock& threads) {
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      if (warp.index == 0 && lane < 4) memory.fixed->rng.s[lane] = args.rng[lane];
    });
  });
  copy_residual(args, memory, part, threads, false);
}

inline void end_update(const UpdateArgs& args, const UpdateMemory& memory, int part,
                       const ThreadBlock& threads) {
  copy_residual(args, memory, part, threads, true);
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      if (part == 0 && warp.index == 0 && lane < 4) args.rng_out[lane] = memory.fixed->rng.s[lane];
    });
  });
}

}  // namespace obart::card
