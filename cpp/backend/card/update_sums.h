// The update of trees on a card: a part sums its residuals by cell, and sends the sums.
#pragma once

#include "backend/card/update_memory.h"

namespace obart::card {

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
      const bool has_bits = tree.has_rule() && !OBART_BUG(card_sides_ignored);
      const std::uint64_t bits = has_bits ? *of_lane.right : 0;
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

}  // namespace obart::card
