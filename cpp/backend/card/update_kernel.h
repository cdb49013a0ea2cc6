// Phase 3 on a card: one tree after the other, the rows in parts. In each step a part sums its
// residuals by cell, sends the sums to all others, and receives theirs; then every part takes the
// same decision, with the same bits, and changes its own rows. The arithmetic is that of
// sweep/update_trees.cpp and ensemble/normal_leaf.h, operation by operation. What counts is not the
// work but how long a tree takes from one end to the other, so warps share out whatever does not
// depend on each other, and look ahead to the next tree while sums travel.
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
inline constexpr int kMostWarps = 16;
// Slots of a lane lie a little apart, or all lanes would read the same banks of the memory.
inline constexpr int kLaneStride = kLaneRows + 4;
inline constexpr int kPairLevels = 8;  // up to 128 sums

struct Stats {
  double weight, sum;
  Stats operator+(const Stats& other) const { return {weight + other.weight, sum + other.sum}; }
};

struct SharedTree {
  TreeTask task;
  double n_rows[kMostUpdateCells];  // of leaves
  float outputs[kMostUpdateCells];
};

// What a block of threads shares.
struct alignas(16) UpdateShared {
  SharedTree trees[2];  // this one and the next
  ZigguratLayer ziggurat[256];
  RngState rng;
  RngState rng_after[kMostWords];  // so many words
  std::uint64_t words[kMostWords];
  double normals[kMostWords];           // what each word is, if it is simple
  double totals[2 * kMostUpdateCells];  // of residuals, then of weights
  // Of the leaves if the proposal is rejected, and if it is accepted.
  double precision[2][kMostUpdateCells], root[2][kMostUpdateCells], mean[2][kMostUpdateCells];
  double deviations[kMostUpdateCells];
  double gain[8];
  float new_outputs[kMostCodes];
  float left_delta[kMostCodes], right_delta[kMostCodes];
  std::uint8_t left_map[kMostCodes], right_map[kMostCodes];
  std::uint8_t is_simple[kMostWords];
  std::int32_t accepted, n_new;
};

// Where a part's memory lies: what is fixed, the sums of its warps, its residual.
struct UpdateMemory {
  UpdateShared* fixed;
  double* warp_sums;  // by value and warp
  float* residual;    // kLaneStride for each lane, or kLaneRows if it stays in the card's memory
  int lane_stride;
};

inline std::int64_t update_bytes(std::int32_t most_values, std::int32_t blocks_in_shared) {
  return static_cast<std::int64_t>(sizeof(UpdateShared)) + most_values * kMostWarps * 8 +
         static_cast<std::int64_t>(blocks_in_shared) * kBlockLanes * kLaneStride * 4;
}

inline UpdateMemory lay_out(const UpdateArgs& args, int part, char* shared) {
  UpdateMemory memory{};
  memory.fixed = reinterpret_cast<UpdateShared*>(shared);
  memory.warp_sums = reinterpret_cast<double*>(shared + sizeof(UpdateShared));
  memory.residual =
      args.in_shared != 0
          ? reinterpret_cast<float*>(memory.warp_sums + args.most_values * kMostWarps)
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

// How the warps share the pairs of blocks of a part: several pairs to a warp, or several warps to a
// pair, each with some of the cells.
struct Shares {
  int n_pairs, pairs_per_warp, warps_per_pair;
  bool has_many() const { return pairs_per_warp > 1; }
  int n_sums() const { return n_pairs / pairs_per_warp; }  // of each value
};

inline Shares shares_of(const UpdateArgs& args) {
  const int n_pairs = (args.blocks_per_part + 1) / 2;
  if (n_pairs >= args.n_warps) return {n_pairs, n_pairs / args.n_warps, 1};
  return {n_pairs, 1, args.n_warps / n_pairs};
}

// A byte says to which cell a row belongs: its code, and the highest bit where the proposed rule
// sends it right. Trees of more leaves than that has room for look at code and bit apart.
inline constexpr std::uint32_t kRightKey = 128;

inline bool has_keys(const TreeTask& tree) { return tree.n_leaves < 127; }

// The codes of four rows with their bits.
inline std::uint32_t keys_of_four(std::uint32_t codes, std::uint32_t bits) {
  return codes | ((bits * 0x00204081U) & 0x01010101U) << 7;
}

// Rows of a cell: they have this code, and the proposed rule sends them to this side.
struct CellRows {
  std::uint32_t code;
  bool if_left, if_right;
  std::uint32_t key() const { return if_left ? code : code | kRightKey; }
};

inline CellRows rows_of_cell(const TreeTask& tree, int cell) {
  if (cell >= tree.n_cells()) return {kPadding - kRightKey, false, true};  // the key of padding
  if (cell == tree.n_leaves) return {tree.left_code, false, true};
  if (cell == tree.n_leaves + 1) return {tree.right_code, true, false};
  const bool is_left = tree.has_rule() && cell == tree.left_code;
  const bool is_right = tree.replaces() && cell == tree.right_code;
  return {static_cast<std::uint32_t>(cell), !is_right, !is_left};
}

// Sums of one lane of a block over N cells from the first on.
template <bool Weighted, bool ByKey, int N>
inline void sum_lane(const TreeTask& tree, const std::uint8_t* code, std::uint64_t bits,
                     const float* residual, const float* weight, int first, float (&sums)[N],
                     float (&weights)[N]) {
  CellRows cells[N];
  std::uint32_t wanted[N];
  OBART_UNROLLED
  for (int c = 0; c < N; ++c) {
    sums[c] = weights[c] = 0.0F;
    cells[c] = rows_of_cell(tree, first + c);
    wanted[c] = ByKey ? cells[c].key() : cells[c].code;
  }
  OBART_UNROLLED
  for (int start = 0; start < kLaneRows; start += 16) {
    const auto right = static_cast<std::uint32_t>(bits >> start);
    const FourWords codes = *reinterpret_cast<const FourWords*>(code + start);
    OBART_UNROLLED
    for (int four = 0; four < 4; ++four) {
      const FourFloats r = *reinterpret_cast<const FourFloats*>(residual + start + 4 * four);
      FourFloats w{};
      if constexpr (Weighted) w = *reinterpret_cast<const FourFloats*>(weight + start + 4 * four);
      const std::uint32_t right_of_four = (right >> (4 * four)) & 15U;
      const std::uint32_t keys =
          ByKey ? keys_of_four(codes.value[four], right_of_four) : codes.value[four];
      OBART_UNROLLED
      for (int j = 0; j < 4; ++j) {
        const std::uint32_t key = (keys >> (8 * j)) & 255U;
        const float value = Weighted ? r.value[j] * w.value[j] : r.value[j];
        OBART_UNROLLED
        for (int c = 0; c < N; ++c) {
          bool is_in = key == wanted[c];
          if constexpr (!ByKey)
            is_in =
                is_in && (((right_of_four >> j) & 1U) != 0 ? cells[c].if_right : cells[c].if_left);
          if (is_in) sums[c] += value;
          if constexpr (Weighted)
            if (is_in) weights[c] += w.value[j];
        }
      }
    }
  }
}

// The lanes of a block to one double, in the order of base/lanes.h, and the two blocks of a warp;
// lane c keeps the sum of cell c.
template <int N>
inline void reduce_warp(const Warp& warp, PerLane<float[N]>& sums, PerLane<double>& kept) {
  PerLane<double> value[N], other[N];
  OBART_UNROLLED
  for (int c = 0; c < N; ++c)
    warp.registers([&](int lane) { value[c][lane] = static_cast<double>(sums[lane][c]); });
  OBART_UNROLLED
  for (int step = 0; step < 5; ++step) {
    const int mask = step < 4 ? kBlockLanes / 2 >> step : kBlockLanes;
    OBART_UNROLLED
    for (int c = 0; c < N; ++c) warp.swap(value[c], mask, other[c]);
    OBART_UNROLLED
    for (int c = 0; c < N; ++c) warp.registers([&](int lane) { value[c][lane] += other[c][lane]; });
  }
  warp.registers([&](int lane) {
    kept[lane] = value[0][lane];
    OBART_UNROLLED
    for (int c = 1; c < N; ++c)
      if (lane == c) kept[lane] = value[c][lane];
  });
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

inline int n_values(const UpdateArgs& args, const TreeTask& tree) {
  return tree.n_cells() * (args.weight != nullptr ? 2 : 1);
}

// Two words for a value, each with a tag that says of which tree it is.
inline std::uint64_t* exchange_at(const UpdateArgs& args, int m, int part, int value) {
  return args.exchange +
         2 * ((static_cast<std::int64_t>(m % 2) * args.most_values + value) * args.n_parts + part);
}

// A part's sum to all parts.
inline void send_value(const UpdateArgs& args, UpdateShared& shared, int m, int part, int value,
                       double sum) {
  if (args.n_parts == 1) {
    shared.totals[value] = sum;
    return;
  }
  const std::uint64_t tag = static_cast<std::uint64_t>(args.first_tag + static_cast<unsigned>(m))
                            << 32;
  const std::uint64_t bits = bits_of(sum);
  send(exchange_at(args, m, part, value), tag | bits >> 32, tag | (bits & 0xffffffffU));
}

// Where the sums of a warp go.
struct SumPlace {
  int m, part;
  int first;   // cell
  int column;  // of warp_sums
};

// `Many`: a warp has several pairs of blocks.
template <bool Weighted, bool Many, bool ByKey, int N>
inline void sum_cells(const UpdateArgs& args, const UpdateMemory& memory, const PartRows& rows,
                      const Shares& shares, int first_pair, SumPlace place, const Warp& warp) {
  UpdateShared& shared = *memory.fixed;
  const TreeTask& tree = shared.trees[place.m % 2].task;
  PerLane<double> total, total_weight;
  PerLane<PairStack> stack, weight_stack;
  const int n_pairs = Many ? shares.pairs_per_warp : 1;
  OBART_ROLLED
  for (int k = 0; k < n_pairs; ++k) {
    PerLane<float[N]> sums, weights;
    warp.registers([&](int lane) {
      const int block = 2 * (first_pair + k) + lane / kBlockLanes;
      if (block >= rows.n_blocks) {
        OBART_UNROLLED
        for (int c = 0; c < N; ++c) sums[lane][c] = weights[lane][c] = 0.0F;
        return;
      }
      const int at = block * kBlockLanes + lane % kBlockLanes;  // lane of the part
      const std::int64_t slot = rows.first_slot + static_cast<std::int64_t>(at) * kLaneRows;
      const std::int64_t in_tree = place.m * args.n_slots + slot;
      sum_lane<Weighted, ByKey, N>(
          tree, args.code + in_tree, tree.has_rule() ? args.right[in_tree / kLaneRows] : 0,
          memory.residual + at * memory.lane_stride, Weighted ? args.weight + slot : nullptr,
          place.first, sums[lane], weights[lane]);
    });
    reduce_warp<N>(warp, sums, total);
    if constexpr (Weighted) reduce_warp<N>(warp, weights, total_weight);
    if constexpr (Many) {
      warp.registers([&](int lane) { stack[lane].add(k, total[lane]); });
      if constexpr (Weighted)
        warp.registers([&](int lane) { weight_stack[lane].add(k, total_weight[lane]); });
    }
  }
  const int n_cells = tree.n_cells();
  warp.lanes([&](int lane) {
    const int cell = place.first + lane;
    if (lane >= N || cell >= n_cells) return;
    const auto put = [&](int value, double sum) {
      if (shares.n_pairs == 1)
        send_value(args, shared, place.m, place.part, value, sum);
      else
        memory.warp_sums[value * kMostWarps + place.column] = sum;
    };
    const int level = log2_of(n_pairs);
    put(cell, Many ? stack[lane].total(level) : total[lane]);
    if constexpr (Weighted)
      put(n_cells + cell, Many ? weight_stack[lane].total(level) : total_weight[lane]);
  });
}

template <bool Weighted, bool Many>
inline void sum_tree(const UpdateArgs& args, const UpdateMemory& memory, int m, int part,
                     const Warp& warp) {
  const PartRows rows = rows_of_part(args, part);
  const Shares shares = shares_of(args);
  const int n_cells = memory.fixed->trees[m % 2].task.n_cells();
  const int column = warp.index / shares.warps_per_pair;
  const int each = (n_cells + shares.warps_per_pair - 1) / shares.warps_per_pair;
  const int first_cell = warp.index % shares.warps_per_pair * each;
  const int last_cell = first_cell + each < n_cells ? first_cell + each : n_cells;
  const int first_pair = column * shares.pairs_per_warp;
  for (int first = first_cell; first < last_cell;) {
    const SumPlace place{m, part, first, column};
    if (!has_keys(memory.fixed->trees[m % 2].task)) {
      sum_cells<Weighted, Many, false, 1>(args, memory, rows, shares, first_pair, place, warp);
      first += 1;
    } else if (last_cell - first == 1) {
      sum_cells<Weighted, Many, true, 1>(args, memory, rows, shares, first_pair, place, warp);
      first += 1;
    } else if (last_cell - first == 2) {
      sum_cells<Weighted, Many, true, 2>(args, memory, rows, shares, first_pair, place, warp);
      first += 2;
    } else {
      sum_cells<Weighted, Many, true, 4>(args, memory, rows, shares, first_pair, place, warp);
      first += 4;
    }
  }
}

// The first step of a tree: sums of this part.
template <bool Weighted, bool Many>
inline void sum_and_send(const UpdateArgs& args, const UpdateMemory& memory, int m, int part,
                         const ThreadBlock& threads) {
  UpdateShared& shared = *memory.fixed;
  const Shares shares = shares_of(args);
  threads.freely([&](const Warp& warp) { sum_tree<Weighted, Many>(args, memory, m, part, warp); });
  if (shares.n_pairs == 1) return;
  threads.warps([&](const Warp&) {});
  threads.freely([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      const int n = n_values(args, shared.trees[m % 2].task);
      for (int v = warp.index * kWarpLanes + lane; v < n; v += threads.n_warps * kWarpLanes) {
        double* sums = memory.warp_sums + v * kMostWarps;
        for (int step = 1; step < shares.n_sums(); step *= 2)
          for (int w = 0; w + step < shares.n_sums(); w += 2 * step) sums[w] += sums[w + step];
        send_value(args, shared, m, part, v, sums[0]);
      }
    });
  });
}

// ---- while sums travel -------------------------------------------------------------------------

// Words of the chain's generator, as many as this tree can use, and what they are as normal draws.
inline void make_words(UpdateShared& shared, const TreeTask& tree, const Warp& warp) {
  const int n = tree.n_leaves + 3;
  warp.lanes([&](int lane) {
    if (lane != 0) return;
    RngState rng = shared.rng;
    for (int k = 0; k < n; ++k) {
      shared.rng_after[k] = rng;
      shared.words[k] = rng.next();
    }
    shared.rng_after[n] = rng;
  });
  warp.lanes([&](int lane) {
    for (int k = lane; k < n; k += kWarpLanes)
      shared.is_simple[k] =
          simple_normal(shared.words[k], shared.ziggurat, shared.normals[k]) ? 1 : 0;
  });
}

inline void load_tree(const UpdateArgs& args, SharedTree& tree, int m, const Warp& warp) {
  static_assert(sizeof(TreeTask) % 4 == 0);
  warp.lanes([&](int lane) {
    const auto* from = reinterpret_cast<const std::uint32_t*>(args.trees + m);
    auto* to = reinterpret_cast<std::uint32_t*>(&tree.task);
    for (int k = lane; k < static_cast<int>(sizeof(TreeTask) / 4); k += kWarpLanes) to[k] = from[k];
  });
  warp.lanes([&](int lane) {
    const int first = tree.task.first;
    for (int c = lane; c < tree.task.n_leaves; c += kWarpLanes) {
      tree.n_rows[c] = args.n_rows[first + c];
      tree.outputs[c] = args.outputs[first + c];
    }
  });
}

// The next tree's codes and bits of this part into the cache.
inline void expect_rows(const UpdateArgs& args, int m, int part, const Warp& warp) {
  const PartRows rows = rows_of_part(args, part);
  warp.lanes([&](int lane) {
    for (int at = lane; at < rows.n_blocks * kBlockLanes; at += kWarpLanes) {
      const std::int64_t slot =
          m * args.n_slots + rows.first_slot + static_cast<std::int64_t>(at) * kLaneRows;
      if (at % 2 == 0) expect(args.code + slot);
      if (at % 16 == 0) expect(args.right + slot / kLaneRows);
    }
  });
}

inline void receive_value(const UpdateArgs& args, UpdateShared& shared, int m, int value,
                          const Warp& warp) {
  const std::uint32_t tag = args.first_tag + static_cast<unsigned>(m);
  int per_lane = 1;  // a power of two, so that lanes have whole parts of the tree of pairs
  while (per_lane * kWarpLanes < args.n_parts) per_lane *= 2;
  PerLane<double> sum, other;
  warp.registers([&](int lane) {
    double here[4] = {};
    OBART_UNROLLED
    for (int k = 0; k < 4; ++k) {
      const int part = lane * per_lane + k;
      if (k >= per_lane || part >= args.n_parts) continue;
      const std::uint64_t* from = exchange_at(args, m, part, value);
      std::uint64_t high = 0;
      std::uint64_t low = 0;
      do receive(from, high, low);
      while (high >> 32 != tag || low >> 32 != tag);
      here[k] = of_bits(high << 32 | (low & 0xffffffffU));
    }
    sum[lane] = (here[0] + here[1]) + (here[2] + here[3]);
  });
  OBART_UNROLLED
  for (int mask = 1; mask < kWarpLanes; mask *= 2) {
    warp.swap(sum, mask, other);
    warp.registers([&](int lane) { sum[lane] += other[lane]; });
  }
  warp.lanes([&](int lane) {
    if (lane == 0) shared.totals[value] = sum[lane];
  });
}

// ---- the decision ------------------------------------------------------------------------------

inline double precision(const NormalOutputs& leaves, const Stats& s) {
  return s.weight * leaves.inv_sigma2 + leaves.inv_tau2;
}
inline double score(const NormalOutputs& leaves, const Stats& s) {
  return s.sum * leaves.inv_sigma2;
}
inline Stats stats_of_cell(const UpdateArgs& args, const UpdateShared& shared,
                           const SharedTree& tree, int cell) {
  const TreeTask& task = tree.task;
  const int code =
      cell < task.n_leaves ? cell : (cell == task.n_leaves ? task.left_code : task.right_code);
  if (!args.leaves.uses_data) return {0.0, 0.0};
  double n_rows = tree.n_rows[code];
  if (task.has_rule() && code == task.left_code)
    n_rows = cell == task.n_leaves ? task.right_of_left : n_rows - task.right_of_left;
  else if (task.replaces() && code == task.right_code)
    n_rows = cell == task.n_leaves + 1 ? n_rows - task.right_of_right : task.right_of_right;
  const double weight = args.weight != nullptr ? shared.totals[task.n_cells() + cell] : n_rows;
  return {weight, shared.totals[cell] + weight * static_cast<double>(tree.outputs[code])};
}

inline int n_leaves_if(const TreeTask& task, bool accepted) {
  if (!accepted || task.effect == TreeEffect::replace) return task.n_leaves;
  return task.effect == TreeEffect::split ? task.n_leaves + 1 : task.n_leaves - 1;
}

// The rows of a leaf if the proposal is rejected or accepted.
inline Stats stats_of_leaf(const UpdateArgs& args, const UpdateShared& shared,
                           const SharedTree& tree, bool accepted, int c) {
  const TreeTask& task = tree.task;
  const auto stats = [&](int cell) { return stats_of_cell(args, shared, tree, cell); };
  const int n_old = task.n_leaves;
  const int l = task.left_code;
  const int r = task.right_code;
  if (accepted && task.effect == TreeEffect::merge) {
    const PruneCodes codes = task.prune;
    if (c == code_after_prune(codes, codes.left)) return stats(codes.left) + stats(codes.right);
    return stats(c == code_after_prune(codes, codes.last) ? codes.last : c);
  }
  if (task.has_rule() && c == l && !(accepted && task.effect == TreeEffect::split))
    return stats(l) + stats(accepted ? n_old + 1 : n_old);
  if (task.replaces() && c == r) return stats(r) + stats(accepted ? n_old : n_old + 1);
  return stats(c);
}

// The four sets of rows whose fits make the gain: the first two are added, the others subtracted.
struct GainStats {
  Stats a, b, c, d;
};

inline GainStats gain_stats(const UpdateArgs& args, const UpdateShared& shared,
                            const SharedTree& tree) {
  const TreeTask& task = tree.task;
  const auto stats = [&](int cell) { return stats_of_cell(args, shared, tree, cell); };
  const Stats l = stats(task.left_code);
  if (task.effect != TreeEffect::replace) {
    const Stats r = stats(task.effect == TreeEffect::split ? task.n_leaves : task.right_code);
    return {l, r, l + r, {0.0, 0.0}};
  }
  const Stats r = stats(task.right_code);
  const Stats to_right = stats(task.n_leaves);
  const Stats to_left = stats(task.n_leaves + 1);
  return {l + to_left, r + to_right, l + to_right, r + to_left};
}

// What does not depend on the residual: logarithms, precisions and their roots. Lanes do the same
// with other numbers.
inline void find_logs(const UpdateArgs& args, UpdateShared& shared, const SharedTree& tree,
                      const Warp& warp) {
  if (!tree.task.is_valid) return;
  const NormalOutputs& leaves = args.leaves;
  warp.lanes([&](int lane) {
    const GainStats s = gain_stats(args, shared, tree);
    const double above = tree.task.effect == TreeEffect::replace
                             ? precision(leaves, s.c) * precision(leaves, s.d)
                             : leaves.inv_tau2 * precision(leaves, s.c);
    const double ratio = above / (precision(leaves, s.a) * precision(leaves, s.b));
    const double found = det_log(lane == 0 ? ratio : uniform_of(shared.words[0]));
    if (lane == 0) shared.gain[0] = 0.5 * found;
    if (lane == 5) shared.gain[5] = found;
  });
}

inline void find_precisions(const UpdateArgs& args, UpdateShared& shared, const SharedTree& tree,
                            bool accepted, const Warp& warp) {
  if (accepted && !tree.task.is_valid) return;
  const int h = accepted ? 1 : 0;
  warp.lanes([&](int lane) {
    for (int c = lane; c < n_leaves_if(tree.task, accepted); c += kWarpLanes) {
      const double p = precision(args.leaves, stats_of_leaf(args, shared, tree, accepted, c));
      shared.precision[h][c] = p;
      shared.root[h][c] = root(p);
    }
  });
}

// What does: fits, and the means of the leaves. All are quotients, one to a lane: four fits, then
// leaves if the proposal is rejected, then if it is accepted.
inline void find_fits_and_means(const UpdateArgs& args, UpdateShared& shared,
                                const SharedTree& tree, const Warp& warp) {
  const TreeTask& task = tree.task;
  const NormalOutputs& leaves = args.leaves;
  const int n_rejected = task.n_leaves;
  const int n_accepted = task.is_valid ? n_leaves_if(task, true) : 0;
  warp.lanes([&](int lane) {
    for (int k = lane; k < 4 + n_rejected + n_accepted; k += kWarpLanes) {
      const bool is_fit = k < 4;
      const int h = k - 4 < n_rejected ? 0 : 1;
      const int c = is_fit ? 0 : k - 4 - h * n_rejected;
      double above = 0.0;
      double below = 1.0;
      if (!is_fit) {
        above = score(leaves, stats_of_leaf(args, shared, tree, h == 1, c));
        below = shared.precision[h][c];
      } else if (task.is_valid) {
        const GainStats all = gain_stats(args, shared, tree);
        const Stats s = k == 0 ? all.a : k == 1 ? all.b : k == 2 ? all.c : all.d;
        above = score(leaves, s);
        above = above * above;
        below = 2.0 * precision(leaves, s);
      }
      const double quotient = above / below;
      if (is_fit) {
        shared.gain[k + 1] = quotient;
        continue;
      }
      shared.mean[h][c] = quotient;
      if (h == 1) continue;
      shared.left_map[c] = shared.right_map[c] = static_cast<std::uint8_t>(c);
      shared.deviations[c] = (static_cast<double>(tree.outputs[c]) - quotient) * shared.root[h][c];
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
  const double log_accept = log_ratio + task.log_prior_ratio + task.log_transition_ratio;
  if (log_accept >= 0.0) return {true, 0};
  return {gain[5] < log_accept, 1};
}

// The deviation that a leaf starts from: a split shares one out, a merge puts two together.
inline double first_deviation(const UpdateShared& shared, const TreeTask& task, bool accepted,
                              double split_normal, int c) {
  const double* d = shared.deviations;
  if (!accepted || task.effect == TreeEffect::replace) return d[c];
  const double share = root(0.5);
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
  PerLane<int> simple, other;
  warp.registers([&](int lane) {
    simple[lane] = 1;
    for (int k = lane; k < n; k += kWarpLanes) simple[lane] &= shared.is_simple[first + k];
  });
  OBART_UNROLLED
  for (int mask = 1; mask < kWarpLanes; mask *= 2) {
    warp.swap(simple, mask, other);
    warp.registers([&](int lane) { simple[lane] &= other[lane]; });
  }
  warp.lanes([&](int lane) {
    if (lane != 0) return;
    if (simple[lane] != 0) {
      shared.rng = shared.rng_after[first + n];
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
    const int h = decision.accepted ? 1 : 0;
    for (int c = lane; c < n_new; c += kWarpLanes) {
      double deviation = shared.normals[first + c];
      if (leaves.keeps_deviations)
        deviation =
            leaves.correlation * first_deviation(shared, task, decision.accepted, split_normal, c) +
            leaves.fresh * deviation;
      shared.new_outputs[c] = static_cast<float>(shared.mean[h][c] + deviation / shared.root[h][c]);
    }
  });
  warp.lanes([&](int lane) {
    for (int c = lane; c < task.n_leaves; c += kWarpLanes) {
      shared.left_delta[c] = tree.outputs[c] - shared.new_outputs[shared.left_map[c]];
      shared.right_delta[c] = tree.outputs[c] - shared.new_outputs[shared.right_map[c]];
    }
  });
}

// ---- the change --------------------------------------------------------------------------------

// Of four slots, whose bits are the lowest ones.
inline void change_four(const UpdateShared& shared, bool moves, std::uint64_t bits,
                        std::uint8_t* code, float* residual) {
  const std::uint32_t codes = *reinterpret_cast<const std::uint32_t*>(code);
  FourFloats r = *reinterpret_cast<const FourFloats*>(residual);
  std::uint32_t moved = 0;
  OBART_UNROLLED
  for (int j = 0; j < 4; ++j) {
    const std::uint32_t c = (codes >> (8 * j)) & 255U;
    std::uint32_t now = c;
    if (c != kPadding) {
      const bool is_right = ((bits >> j) & 1U) != 0;
      r.value[j] += is_right ? shared.right_delta[c] : shared.left_delta[c];
      if (moves) now = is_right ? shared.right_map[c] : shared.left_map[c];
    }
    moved |= now << (8 * j);
  }
  *reinterpret_cast<FourFloats*>(residual) = r;
  if (moved != codes) *reinterpret_cast<std::uint32_t*>(code) = moved;
}

inline void change_rows(const UpdateArgs& args, const UpdateMemory& memory, int m, int part,
                        const Warp& warp, int n_warps) {
  const UpdateShared& shared = *memory.fixed;
  const TreeTask& task = shared.trees[m % 2].task;
  const PartRows rows = rows_of_part(args, part);
  const bool moves = shared.accepted != 0;
  const bool has_bits = moves && task.has_rule();
  warp.lanes([&](int lane) {
    for (int slot = 4 * (warp.index * kWarpLanes + lane); slot < rows.n_blocks * kBlockSlots;
         slot += 4 * n_warps * kWarpLanes) {
      const std::int64_t in_tree = m * args.n_slots + rows.first_slot + slot;
      const std::uint64_t bits =
          has_bits ? args.right[in_tree / kLaneRows] >> (slot % kLaneRows) : 0;
      change_four(shared, moves, bits, args.code + in_tree,
                  memory.residual + slot / kLaneRows * memory.lane_stride + slot % kLaneRows);
    }
    if (part != 0) return;
    if (warp.index == 0 && lane == 0) args.accepted[m] = moves ? 1 : 0;
    for (int c = warp.index * kWarpLanes + lane; c < shared.n_new; c += n_warps * kWarpLanes)
      args.new_outputs[task.first + c] = shared.new_outputs[c];
  });
}

// The second step of a tree: the sums of all parts, the decision, and what it does to this part.
inline void decide_and_change(const UpdateArgs& args, const UpdateMemory& memory, int m, int part,
                              const ThreadBlock& threads) {
  UpdateShared& shared = *memory.fixed;
  const SharedTree& tree = shared.trees[m % 2];
  const int last = threads.n_warps - 1;
  // Weights come with the sums; without them much can be done before these are there.
  const auto find_ahead = [&](const Warp& warp) {
    if (warp.index == last) find_logs(args, shared, tree, warp);
    if (warp.index == last - 2) find_precisions(args, shared, tree, false, warp);
    if (warp.index == last - 3) find_precisions(args, shared, tree, true, warp);
  };
  threads.warps([&](const Warp& warp) {
    if (warp.index == last) make_words(shared, tree.task, warp);
    if (args.weight == nullptr) find_ahead(warp);
    if (warp.index == last - 1 && m + 1 < args.n_trees) {
      expect_rows(args, m + 1, part, warp);
      load_tree(args, shared.trees[(m + 1) % 2], m + 1, warp);
    }
    if (args.n_parts == 1) return;
    for (int v = warp.index; v < n_values(args, tree.task); v += threads.n_warps)
      receive_value(args, shared, m, v, warp);
  });
  if (args.weight != nullptr) threads.warps(find_ahead);
  threads.warps([&](const Warp& warp) {
    if (warp.index != 0) return;
    find_fits_and_means(args, shared, tree, warp);
    decide(args, shared, tree, warp);
  });
  threads.warps(
      [&](const Warp& warp) { change_rows(args, memory, m, part, warp, threads.n_warps); });
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
  UpdateShared& shared = *memory.fixed;
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      if (warp.index == 0 && lane < 4) shared.rng.s[lane] = args.rng[lane];
      for (int k = warp.index * kWarpLanes + lane; k < 256; k += threads.n_warps * kWarpLanes)
        shared.ziggurat[k] = args.ziggurat[k];
    });
    if (warp.index == 0) load_tree(args, shared.trees[0], 0, warp);
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
