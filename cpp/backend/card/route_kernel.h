// Phase 2 on a card: all proposed rules on all rows.
#pragma once

#include "backend/card/machine.h"
#include "backend/card/slots.h"
#include "backend/card/tasks.h"

namespace obart::card {

inline constexpr int kRouteWarps = 8;  // a lane has four slots: 1,024 in all

// Bit j: the rule sends slot j of these four right.
inline std::uint32_t side_of_four(const RouteArgs& args, const Rule& rule, std::int64_t slot) {
  std::uint32_t side = 0;
  if (rule.is_categorical != 0) {
    const FourWords level =
        *reinterpret_cast<const FourWords*>(args.cat + rule.column * args.n_slots + slot);
    const std::uint32_t* words = args.words + rule.first;
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t of_slot = level.value[j];
      const std::uint32_t word = words[OBART_BUG(card_first_word_only) ? 0 : of_slot / 32];
      side |= ((word >> (of_slot % 32)) & 1U) << j;
    }
    return side;
  }
  const Term* terms = args.terms + rule.first;
  FourFloats score{};
  for (std::uint32_t k = 0; k < rule.n_terms; ++k) {
    const FourFloats x =
        *reinterpret_cast<const FourFloats*>(args.cont + terms[k].column * args.n_slots + slot);
    for (int j = 0; j < 4; ++j) {
      const float product = terms[k].value * x.value[j];
      score.value[j] = k == 0 ? product : score.value[j] + product;
    }
  }
  // A missing value makes the score NaN, which compares false.
  for (int j = 0; j < 4; ++j) {
    const bool is_right = rule.missing_right != 0 && !OBART_BUG(card_missing_left)
                              ? !(score.value[j] < rule.cut)
                              : score.value[j] >= rule.cut;
    side |= static_cast<std::uint32_t>(is_right) << j;
  }
  return side;
}

// Bit j: byte j of the word is this code.
inline std::uint32_t slots_with(std::uint32_t codes, std::uint8_t code) {
  std::uint32_t found = 0;
  for (int j = 0; j < 4; ++j)
    found |= static_cast<std::uint32_t>(((codes >> (8 * j)) & 255U) == code) << j;
  return found;
}

inline void route_rule(const RouteArgs& args, int r, std::int64_t first_slot, const Warp& warp) {
  const Rule rule = args.rules[r];
  PerLane<std::uint32_t> left, right, other;
  warp.registers([&](int lane) {
    const std::int64_t slot = first_slot + 4 * lane;
    const std::uint32_t codes =
        *reinterpret_cast<const std::uint32_t*>(args.code + rule.tree * args.n_slots + slot);
    std::uint32_t in_left = slots_with(codes, rule.left_code);
    std::uint32_t in_right =
        rule.left_code != rule.right_code ? slots_with(codes, rule.right_code) : 0U;
    const bool has_terms = rule.is_categorical != 0 || rule.n_terms > 0;
    const std::uint32_t side =
        (in_left | in_right) != 0 && has_terms ? side_of_four(args, rule, slot) : 0U;
    const int shift = 4 * (lane % 8);
    left[lane] = (in_left & side) << shift;
    right[lane] = (in_right & side) << shift;
  });
  for (int mask = 1; mask < 8; mask *= 2) {
    warp.swap(left, mask, other);
    warp.registers([&](int lane) { left[lane] |= other[lane]; });
    warp.swap(right, mask, other);
    warp.registers([&](int lane) { right[lane] |= other[lane]; });
  }
  // Both counts of a warp's 128 slots in one word.
  PerLane<std::uint32_t> counts;
  warp.registers([&](int lane) {
    const std::int64_t word = (rule.tree * args.n_slots + first_slot) / 32 + lane / 8;
    if (lane % 8 == 0)
      reinterpret_cast<std::uint32_t*>(args.right)[word] = left[lane] | right[lane];
    counts[lane] = static_cast<std::uint32_t>(count_bits(left[lane])) |
                   static_cast<std::uint32_t>(count_bits(right[lane])) << 16;
  });
  for (int mask = 8; mask < kWarpLanes; mask *= 2) {
    warp.swap(counts, mask, other);
    warp.registers([&](int lane) { counts[lane] += other[lane]; });
  }
  warp.registers([&](int lane) {
    if (lane != 0 || counts[lane] == 0) return;
    add_count(args.counts + 2 * r, counts[lane] & 0xffffU);
    if (OBART_BUG(card_second_count_lost)) return;
    if (counts[lane] >> 16 != 0) add_count(args.counts + 2 * r + 1, counts[lane] >> 16);
  });
}

// Block `index` of the rows, group `row` of the rules.
inline void route_block(const RouteArgs& args, const ThreadBlock& threads) {
  threads.warps([&](const Warp& warp) {
    const std::int64_t slot = static_cast<std::int64_t>(threads.index) * kBlockSlots +
                              warp.index * (kBlockSlots / kRouteWarps);
    const int first = threads.row * args.rules_together;
    const int last =
        first + args.rules_together < args.n_rules ? first + args.rules_together : args.n_rules;
    for (int r = first; r < last; ++r) route_rule(args, r, slot, warp);
  });
}

}  // namespace obart::card
