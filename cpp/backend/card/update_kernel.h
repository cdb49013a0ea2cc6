// Phase 3 on a card: one tree after the other, the rows in parts. In each step a part sums its
// residuals by cell, sends the sums to all others, and receives theirs; then every part takes the
// same decision, with the same bits, and changes its own rows. The arithmetic is that of
// sweep/update_trees.cpp and ensemble/normal_leaf.h, operation by operation. What counts is not the
// work but how long a tree takes from one end to the other, so warps share out whatever does not
// depend on each other, and look ahead to the next tree while sums travel.
#pragma once

#include "backend/card/update_decision.h"

namespace obart::card {

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
      const bool as_right = is_right && !OBART_BUG(card_change_one_sided);
      r.value[j] += as_right ? shared.right_delta[c] : shared.left_delta[c];
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
      const std::uint32_t moved = change_four(
          shared, moves && !OBART_BUG(card_codes_kept), has_bits ? *of_lane.right >> row : 0, codes,
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
