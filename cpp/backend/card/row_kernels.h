// Other work on rows: the residual from scratch, scaled, summed, and rows in the order of a card.
#pragma once

#include "backend/card/machine.h"
#include "backend/card/slots.h"
#include "backend/card/tasks.h"

namespace obart::card {

inline constexpr int kRowWarps = 8;

// Calls work(slot) for the slots of block `index` of the rows.
template <class Work>
inline void for_slots(const ThreadBlock& threads, const Work& work) {
  threads.warps([&](const Warp& warp) {
    warp.lanes([&](int lane) {
      for (int i = warp.index * kWarpLanes + lane; i < kBlockSlots;
           i += threads.n_warps * kWarpLanes)
        work(static_cast<std::int64_t>(threads.index) * kBlockSlots + i);
    });
  });
}

inline void refresh_block(const RefreshArgs& args, const ThreadBlock& threads) {
  for_slots(threads, [&](std::int64_t slot) {
    if (row_of_slot(slot) >= args.n_rows) {
      args.residual[slot] = 0.0F;
      return;
    }
    double sum = 0.0;
    for (int m = OBART_BUG(card_refresh_drops_a_tree) ? 1 : 0; m < args.n_trees; ++m)
      sum +=
          static_cast<double>(args.terms[args.trees[m].first + args.code[m * args.n_slots + slot]]);
    args.residual[slot] = static_cast<float>(args.target[slot] - sum);
  });
}

inline void scale_block(const ScaleArgs& args, const ThreadBlock& threads) {
  for_slots(threads, [&](std::int64_t slot) {
    if (row_of_slot(slot) >= args.n_rows) return;
    const double f = args.target[slot] - static_cast<double>(args.residual[slot]);
    args.residual[slot] = static_cast<float>(args.target[slot] -
                                             (OBART_BUG(card_not_scaled) ? 1.0 : args.factor) * f);
  });
}

// A lane of the block by a lane of the warp; sums of lanes in the order of base/row_sums.h.
inline void sum_block(const SumArgs& args, const ThreadBlock& threads) {
  threads.warps([&](const Warp& warp) {
    if (warp.index != 0) return;
    PerLane<double> first, second, other;
    warp.lanes([&](int lane) {
      first[lane] = second[lane] = 0.0;
      if (lane >= kBlockLanes) return;
      const std::int64_t start =
          static_cast<std::int64_t>(threads.index) * kBlockSlots + lane * kLaneRows;
      for (int i = 0; i < kLaneRows; ++i) {
        const std::int64_t slot = start + i;
        const auto r = static_cast<double>(args.residual[slot]);
        if (args.target == nullptr) {
          first[lane] +=
              args.weight != nullptr ? static_cast<double>(args.weight[slot]) * r * r : r * r;
          continue;
        }
        const bool weighs = args.weight != nullptr && !OBART_BUG(card_fit_sums_unweighted);
        const double w = weighs ? static_cast<double>(args.weight[slot]) : 1.0;
        const double f = args.target[slot] - r;
        first[lane] += w * args.target[slot] * f;
        second[lane] += w * f * f;
      }
    });
    for (int mask = kBlockLanes / 2; mask >= 1; mask /= 2) {
      warp.swap(first, mask, other);
      warp.lanes([&](int lane) { first[lane] += other[lane]; });
      warp.swap(second, mask, other);
      warp.lanes([&](int lane) { second[lane] += other[lane]; });
    }
    warp.lanes([&](int lane) {
      if (lane != 0) return;
      const int n = args.target == nullptr ? 1 : 2;
      args.sums[n * threads.index] = first[lane];
      if (n == 2) args.sums[n * threads.index + 1] = second[lane];
    });
  });
}

template <class T>
inline void order_as(const OrderArgs& args, const ThreadBlock& threads) {
  for_slots(threads, [&](std::int64_t slot) {
    const std::int64_t row = row_of_slot(slot);
    const std::int64_t rows = threads.row * args.stride_rows + row;
    const std::int64_t slots = threads.row * args.stride_slots + slot;
    if (args.to_rows != 0) {
      if (row < args.n_rows)
        static_cast<T*>(args.to)[rows] = static_cast<const T*>(args.from)[slots];
    } else {
      static_cast<T*>(args.to)[slots] =
          row < args.n_rows ? static_cast<const T*>(args.from)[rows] : static_cast<T>(args.fill);
    }
  });
}

// Block `index` of the rows, column `row`.
inline void order_block(const OrderArgs& args, const ThreadBlock& threads) {
  if (args.size == 1) return order_as<std::uint8_t>(args, threads);
  if (args.size == 4) return order_as<std::uint32_t>(args, threads);
  order_as<std::uint64_t>(args, threads);
}

}  // namespace obart::card
