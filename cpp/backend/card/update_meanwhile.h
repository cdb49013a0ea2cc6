// The update of trees on a card, while sums travel: random numbers, the next tree, and the totals.
#pragma once

#include "backend/card/update_sums.h"

namespace obart::card {

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
  const int n_parts = args.n_parts - (OBART_BUG(card_last_part_dropped) ? 1 : 0);
  OBART_UNROLLED
  for (int k = 0; k < most; ++k)
    warp.registers([&](int lane) {
      const int part = k * kWarpLanes + lane;
      sum[k][lane] = part < n_parts ? wait_for(exchange_at(args, m, part, value), tag) : 0.0;
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

}  // namespace obart::card
