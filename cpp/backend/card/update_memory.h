// The update of trees on a card: what a block of threads shares, and where the rows of a part lie.
#pragma once

#include "backend/card/card_rng.h"
#include "backend/card/machine.h"
#include "backend/card/slots.h"
#include "backend/card/tasks.h"

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

}  // namespace obart::card
