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
inline constexpr int kCodeStride = kLaneRows + 16;
inline constexpr int kPairLevels = 8;  // up to 128 sums

// One cell, or two together.
struct CellPair {
  std::uint8_t first, second;
  static constexpr std::uint8_t kNone = 255;
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
  // Of the leaves if the proposal is rejected, then if it is accepted.
  double root[2 * kMostUpdateCells], mean[2 * kMostUpdateCells];
  double below[2 * kMostUpdateCells + 4];  // four fits before the means
  double old_sums[kMostUpdateCells];       // by cell
  double deviations[kMostUpdateCells];
  double gain[8];
  float new_outputs[kMostCodes];
  float left_delta[kMostCodes], right_delta[kMostCodes];
  std::uint8_t left_map[kMostCodes], right_map[kMostCodes];
  std::uint8_t is_simple[kMostWords];
  CellPair quotient_cells[2 * kMostUpdateCells + 4];
  std::int32_t accepted, n_new;
};

// How the warps share the pairs of blocks of a part: several pairs to a warp, or several warps to a
// pair, each with some of the cells. All are powers of two.
struct Shares {
  int n_pairs, pairs_per_warp;
  int warp_shift;  // log2 of the warps of a pair
  bool has_many() const { return pairs_per_warp > 1; }
  int n_sums() const { return has_many() ? n_pairs / pairs_per_warp : n_pairs; }  // of each value
};

inline int log2_of(int power) {
  int level = 0;
  while ((1 << level) < power) ++level;
  return level;
}

inline Shares shares_of(const UpdateArgs& args) {
  const int n_pairs = (args.blocks_per_part + 1) / 2;
  if (n_pairs >= args.n_warps) return {n_pairs, n_pairs / args.n_warps, 0};
  return {n_pairs, 1, log2_of(args.n_warps / n_pairs)};
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

// A part, and where its memory lies: what is fixed, the sums of its warps, its residual, and codes
// and bits of this tree and the next. What does not fit the shared memory stays in the card's.
struct UpdateMemory {
  UpdateShared* fixed;
  double* warp_sums;  // by value and warp
  float* residual;    // kLaneStride for each lane, or kLaneRows
  int lane_stride;
  std::uint8_t* code;    // two trees, kCodeStride for each lane; or null
  std::uint64_t* right;  // two trees, a word for each lane
  int part;
  PartRows rows;
  Shares shares;
};

inline std::int64_t update_bytes(std::int32_t most_values, std::int32_t blocks_in_shared) {
  constexpr std::int64_t lane_bytes = kLaneStride * 4 + 2 * (kCodeStride + 8);
  return static_cast<std::int64_t>(sizeof(UpdateShared)) + most_values * kMostWarps * 8 +
         blocks_in_shared * kBlockLanes * lane_bytes;
}

inline UpdateMemory lay_out(const UpdateArgs& args, int part, char* shared) {
  UpdateMemory memory{};
  memory.part = part;
  memory.rows = rows_of_part(args, part);
  memory.shares = shares_of(args);
  memory.fixed = reinterpret_cast<UpdateShared*>(shared);
  memory.warp_sums = reinterpret_cast<double*>(shared + sizeof(UpdateShared));
  if (args.in_shared == 0) {
    memory.residual = args.residual + memory.rows.first_slot;
    memory.lane_stride = kLaneRows;
    return memory;
  }
  const int n_lanes = args.blocks_per_part * kBlockLanes;
  memory.residual = reinterpret_cast<float*>(memory.warp_sums + args.most_values * kMostWarps);
  memory.lane_stride = kLaneStride;
  memory.code = reinterpret_cast<std::uint8_t*>(memory.residual + n_lanes * kLaneStride);
  memory.right = reinterpret_cast<std::uint64_t*>(memory.code + 2 * n_lanes * kCodeStride);
  return memory;
}

// The codes and the bits of a lane of the part in tree m.
struct LaneRows {
  const std::uint8_t* code;
  const std::uint64_t* right;
};

inline LaneRows rows_of_lane(const UpdateArgs& args, const UpdateMemory& memory, int m, int lane) {
  if (memory.code != nullptr) {
    const int at = m % 2 * args.blocks_per_part * kBlockLanes + lane;
    return {memory.code + at * kCodeStride, memory.right + at};
  }
  const std::int64_t slot =
      m * args.n_slots + memory.rows.first_slot + static_cast<std::int64_t>(lane) * kLaneRows;
  return {args.code + slot, args.right + slot / kLaneRows};
}

// Into the shared memory; lanes share it out.
inline void stage_rows(const UpdateArgs& args, const UpdateMemory& memory, int m, int first_lane,
                       int n_lanes) {
  const std::int64_t slot = m * args.n_slots + memory.rows.first_slot;
  const int side = m % 2 * args.blocks_per_part * kBlockLanes;
  const int n = memory.rows.n_blocks * kBlockLanes;
  for (int k = first_lane; k < 4 * n; k += n_lanes)  // sixteen codes each
    *reinterpret_cast<FourWords*>(memory.code + (side + k / 4) * kCodeStride + k % 4 * 16) =
        *reinterpret_cast<const FourWords*>(args.code + slot + 16 * k);
  for (int k = first_lane; k < n; k += n_lanes)
    memory.right[side + k] = args.right[slot / kLaneRows + k];
}

// ---- sums --------------------------------------------------------------------------------------

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

inline int n_values(const UpdateArgs& args, const TreeTask& tree) {
  return tree.n_cells() * (args.weight != nullptr ? 2 : 1);
}

// What parts send each other: two words for a value, each with a tag that says of which tree it is.
// First the sums of parts, then the totals, in copies so that not all parts read the same.
inline constexpr int kCopies = 8;

inline std::int64_t exchange_words(std::int32_t n_parts, std::int32_t most_values) {
  return static_cast<std::int64_t>(4) * (n_parts + kCopies) * most_values;
}
inline std::uint64_t* exchange_at(const UpdateArgs& args, int m, int part, int value) {
  return args.exchange +
         2 * ((static_cast<std::int64_t>(m % 2) * args.most_values + value) * args.n_parts + part);
}
inline std::uint64_t* total_at(const UpdateArgs& args, int m, int copy, int value) {
  return args.exchange + static_cast<std::int64_t>(4) * args.n_parts * args.most_values +
         2 * (static_cast<std::int64_t>(m % 2 * kCopies + copy) * args.most_values + value);
}
inline void put(std::uint64_t* to, std::uint32_t tag, double value) {
  const std::uint64_t high = static_cast<std::uint64_t>(tag) << 32;
  const std::uint64_t bits = bits_of(value);
  send(to, high | bits >> 32, high | (bits & 0xffffffffU));
}
inline double wait_for(const std::uint64_t* from, std::uint32_t tag) {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  do receive(from, high, low);
  while (high >> 32 != tag || low >> 32 != tag);
  return of_bits(high << 32 | (low & 0xffffffffU));
}

// A part's sum to the part that adds it up.
inline void send_value(const UpdateArgs& args, UpdateShared& shared, int m, int part, int value,
                       double sum) {
  if (args.n_parts == 1)
    shared.totals[value] = sum;
  else
    put(exchange_at(args, m, part, value), args.first_tag + static_cast<unsigned>(m), sum);
}

// What a warp sums: cells from the first on, of these pairs of blocks.
struct SumShare {
  int m, first_cell, first_pair;
  int column;  // of warp_sums
};

// `Many`: a warp has several pairs of blocks.
template <bool Weighted, bool Many, bool ByKey, int N>
inline void sum_cells(const UpdateArgs& args, const UpdateMemory& memory, SumShare share,
                      const Warp& warp) {
  UpdateShared& shared = *memory.fixed;
  const TreeTask& tree = shared.trees[share.m % 2].task;
  PerLane<double> total, total_weight;
  PerLane<PairStack> stack, weight_stack;
  const int n_pairs = Many ? memory.shares.pairs_per_warp : 1;
  OBART_ROLLED
  for (int k = 0; k < n_pairs; ++k) {
    PerLane<float[N]> sums, weights;
    warp.registers([&](int lane) {
      const int block = 2 * (share.first_pair + k) + lane / kBlockLanes;
      if (block >= memory.rows.n_blocks) {
        OBART_UNROLLED
        for (int c = 0; c < N; ++c) sums[lane][c] = weights[lane][c] = 0.0F;
        return;
      }
      const int at = block * kBlockLanes + lane % kBlockLanes;  // lane of the part
      const std::int64_t slot = memory.rows.first_slot + static_cast<std::int64_t>(at) * kLaneRows;
      const LaneRows of_lane = rows_of_lane(args, memory, share.m, at);
      const std::uint64_t bits = tree.has_rule() ? *of_lane.right : 0;
      sum_lane<Weighted, ByKey, N>(
          tree, of_lane.code, bits, memory.residual + at * memory.lane_stride,
          Weighted ? args.weight + slot : nullptr, share.first_cell, sums[lane], weights[lane]);
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
    const int cell = share.first_cell + lane;
    if (lane >= N || cell >= n_cells) return;
    const auto put = [&](int value, double sum) {
      if (memory.shares.n_pairs == 1)
        send_value(args, shared, share.m, memory.part, value, sum);
      else
        memory.warp_sums[value * kMostWarps + share.column] = sum;
    };
    const int level = Many ? log2_of(n_pairs) : 0;
    put(cell, Many ? stack[lane].total(level) : total[lane]);
    if constexpr (Weighted)
      put(n_cells + cell, Many ? weight_stack[lane].total(level) : total_weight[lane]);
  });
}

template <bool Weighted, bool Many>
inline void sum_tree(const UpdateArgs& args, const UpdateMemory& memory, int m, const Warp& warp) {
  const TreeTask& tree = memory.fixed->trees[m % 2].task;
  const Shares& shares = memory.shares;
  const int n_cells = tree.n_cells();
  const int n_sharing = 1 << shares.warp_shift;
  const int column = warp.index >> shares.warp_shift;
  const int each = (n_cells + n_sharing - 1) >> shares.warp_shift;
  const int first = (warp.index & (n_sharing - 1)) * each;
  const int last = first + each < n_cells ? first + each : n_cells;
  SumShare share{m, first, column * shares.pairs_per_warp, column};
  while (share.first_cell < last) {
    const int left = last - share.first_cell;
    if (!has_keys(tree)) {
      sum_cells<Weighted, Many, false, 1>(args, memory, share, warp);
      share.first_cell += 1;
    } else if (left == 1) {
      sum_cells<Weighted, Many, true, 1>(args, memory, share, warp);
      share.first_cell += 1;
    } else {
      sum_cells<Weighted, Many, true, 4>(args, memory, share, warp);
      share.first_cell += 4;
    }
  }
}

// The first step of a tree: sums of this part.
template <bool Weighted, bool Many>
inline void sum_and_send(const UpdateArgs& args, const UpdateMemory& memory, int m,
                         const ThreadBlock& threads) {
  threads.freely([&](const Warp& warp) { sum_tree<Weighted, Many>(args, memory, m, warp); });
  if (memory.shares.n_pairs == 1) return;
  threads.warps([&](const Warp&) {});
  threads.freely([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      const int n = n_values(args, memory.fixed->trees[m % 2].task);
      const int n_sums = memory.shares.n_sums();
      for (int v = warp.index * kWarpLanes + lane; v < n; v += threads.n_warps * kWarpLanes) {
        double* sums = memory.warp_sums + v * kMostWarps;
        for (int step = 1; step < n_sums; step *= 2)
          for (int w = 0; w + step < n_sums; w += 2 * step) sums[w] += sums[w + step];
        send_value(args, *memory.fixed, m, memory.part, v, sums[0]);
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

// The next tree's codes and bits of this part, nearer.
inline void look_ahead(const UpdateArgs& args, const UpdateMemory& memory, int m,
                       const Warp& warp) {
  warp.lanes([&](int lane) {
    if (memory.code != nullptr) return stage_rows(args, memory, m, lane, kWarpLanes);
    for (int at = 2 * lane; at < memory.rows.n_blocks * kBlockLanes; at += 2 * kWarpLanes)
      expect(rows_of_lane(args, memory, m, at).code);
  });
}

// The total of a value, found by one part for all: few read what many write, and then many read
// what few write. Lane l has parts l, l + 32 and so on: pairs are added across lanes first.
inline void total_value(const UpdateArgs& args, int m, int value, const Warp& warp) {
  constexpr int most = 4;  // of a lane
  const std::uint32_t tag = args.first_tag + static_cast<unsigned>(m);
  PerLane<double> sum[most], other[most];
  OBART_UNROLLED
  for (int k = 0; k < most; ++k)
    warp.registers([&](int lane) {
      const int part = k * kWarpLanes + lane;
      sum[k][lane] = part < args.n_parts ? wait_for(exchange_at(args, m, part, value), tag) : 0.0;
    });
  OBART_UNROLLED
  for (int mask = 1; mask < kWarpLanes; mask *= 2) {
    OBART_UNROLLED
    for (int k = 0; k < most; ++k) warp.swap(sum[k], mask, other[k]);
    OBART_UNROLLED
    for (int k = 0; k < most; ++k)
      warp.registers([&](int lane) { sum[k][lane] += other[k][lane]; });
  }
  warp.lanes([&](int lane) {
    if (lane < kCopies)
      put(total_at(args, m, lane, value), tag,
          (sum[0][lane] + sum[1][lane]) + (sum[2][lane] + sum[3][lane]));
  });
}

// The second step of a tree: the values that this part adds up.
inline void total_values(const UpdateArgs& args, const UpdateMemory& memory, int m,
                         const ThreadBlock& threads) {
  if (args.n_parts == 1) return;
  threads.freely([&](const Warp& warp) {
    const int n = n_values(args, memory.fixed->trees[m % 2].task);
    for (int v = memory.part + warp.index * args.n_parts; v < n;
         v += threads.n_warps * args.n_parts)
      total_value(args, m, v, warp);
  });
}

// And those of all parts.
inline void receive_totals(const UpdateArgs& args, const UpdateMemory& memory, int m,
                           const Warp& warp) {
  UpdateShared& shared = *memory.fixed;
  const std::uint32_t tag = args.first_tag + static_cast<unsigned>(m);
  warp.lanes([&](int lane) {
    for (int v = lane; v < n_values(args, shared.trees[m % 2].task); v += kWarpLanes)
      shared.totals[v] = wait_for(total_at(args, m, memory.part % kCopies, v), tag);
  });
}

// ---- the decision ------------------------------------------------------------------------------

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
  if (args.weight != nullptr) return shared.totals[task.n_cells() + cell];
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
  return weight * args.leaves.inv_sigma2 + args.leaves.inv_tau2;
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
                                                                 : args.leaves.inv_tau2 * of_fit(2);
    const double ratio = above / (of_fit(0) * of_fit(1));
    const double found = det_log(lane == 0 ? ratio : uniform_of(shared.words[0]));
    if (lane == 0) shared.gain[0] = 0.5 * found;
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
  PerLane<bool> simple;
  warp.registers([&](int lane) {
    simple[lane] = true;
    for (int k = lane; k < n; k += kWarpLanes)
      simple[lane] = simple[lane] && shared.is_simple[first + k] != 0;
  });
  const bool all_simple = warp.all(simple);
  warp.lanes([&](int lane) {
    if (lane != 0) return;
    if (all_simple) {
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

// ---- the change --------------------------------------------------------------------------------

// Of four slots, whose bits are the lowest ones. Returns their codes after it.
inline std::uint32_t change_four(const UpdateShared& shared, bool moves, std::uint64_t bits,
                                 std::uint32_t codes, float* residual) {
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
  return moved;
}

inline void change_rows(const UpdateArgs& args, const UpdateMemory& memory, int m, const Warp& warp,
                        int n_warps) {
  const UpdateShared& shared = *memory.fixed;
  const TreeTask& task = shared.trees[m % 2].task;
  const bool moves = shared.accepted != 0;
  const bool has_bits = moves && task.has_rule();
  warp.lanes([&](int lane) {
    std::uint8_t* to = args.code + m * args.n_slots + memory.rows.first_slot;
    for (int slot = 4 * (warp.index * kWarpLanes + lane); slot < memory.rows.n_blocks * kBlockSlots;
         slot += 4 * n_warps * kWarpLanes) {
      const int row = slot % kLaneRows;
      const LaneRows of_lane = rows_of_lane(args, memory, m, slot / kLaneRows);
      const auto codes = *reinterpret_cast<const std::uint32_t*>(of_lane.code + row);
      const std::uint32_t moved =
          change_four(shared, moves, has_bits ? *of_lane.right >> row : 0, codes,
                      memory.residual + slot / kLaneRows * memory.lane_stride + row);
      if (moved != codes) *reinterpret_cast<std::uint32_t*>(to + slot) = moved;
    }
    if (memory.part != 0) return;
    if (warp.index == 0 && lane == 0) args.accepted[m] = moves ? 1 : 0;
    for (int c = warp.index * kWarpLanes + lane; c < shared.n_new; c += n_warps * kWarpLanes)
      args.new_outputs[task.first + c] = shared.new_outputs[c];
  });
}

// The third step of a tree: the totals, the decision, and what it does to this part.
inline void decide_and_change(const UpdateArgs& args, const UpdateMemory& memory, int m,
                              const ThreadBlock& threads) {
  UpdateShared& shared = *memory.fixed;
  const SharedTree& tree = shared.trees[m % 2];
  const int last = threads.n_warps - 1;
  // Weights come with the sums; without them much can be done before these are there.
  const auto plan = [&](const Warp& warp) {
    if (warp.index == last) find_logs(args, shared, tree, warp);
    if (warp.index == last - 2) plan_quotients(args, shared, tree, warp);
  };
  threads.warps([&](const Warp& warp) {
    if (warp.index == last) make_words(shared, tree.task, warp);
    if (args.weight == nullptr) plan(warp);
    if (warp.index == last - 1 && m + 1 < args.n_trees) {
      look_ahead(args, memory, m + 1, warp);
      load_tree(args, shared.trees[(m + 1) % 2], m + 1, warp);
    }
    if (warp.index == 0 && args.n_parts > 1) receive_totals(args, memory, m, warp);
  });
  if (args.weight != nullptr) threads.warps(plan);
  threads.warps([&](const Warp& warp) {
    if (warp.index != 0) return;
    find_quotients(args, shared, tree, warp);
    decide(args, shared, tree, warp);
  });
  threads.warps([&](const Warp& warp) { change_rows(args, memory, m, warp, threads.n_warps); });
}

// ---- before and after the trees ----------------------------------------------------------------

// Between the card's memory and the shared one.
inline void copy_residual(const UpdateArgs& args, const UpdateMemory& memory,
                          const ThreadBlock& threads, bool back) {
  if (args.in_shared == 0) return;
  const PartRows& rows = memory.rows;
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

inline void begin_update(const UpdateArgs& args, const UpdateMemory& memory,
                         const ThreadBlock& threads) {
  UpdateShared& shared = *memory.fixed;
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      if (warp.index == 0 && lane < 4) shared.rng.s[lane] = args.rng[lane];
      for (int k = warp.index * kWarpLanes + lane; k < 256; k += threads.n_warps * kWarpLanes)
        shared.ziggurat[k] = args.ziggurat[k];
    });
    if (warp.index == 0) load_tree(args, shared.trees[0], 0, warp);
    if (warp.index == 1) look_ahead(args, memory, 0, warp);
  });
  copy_residual(args, memory, threads, false);
}

inline void end_update(const UpdateArgs& args, const UpdateMemory& memory,
                       const ThreadBlock& threads) {
  copy_residual(args, memory, threads, true);
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      if (memory.part == 0 && warp.index == 0 && lane < 4)
        args.rng_out[lane] = memory.fixed->rng.s[lane];
    });
  });
}

}  // namespace obart::card
