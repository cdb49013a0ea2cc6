// What a backend is asked to do with the rows of a tree: plain arrays, no model.
#pragma once

#include <cstdint>
#include <span>

#include "backend/code_mask.h"
#include "base/blocks.h"

namespace obart {

inline constexpr int kNarrowCodes = 15;  // up to this many codes a table fits a register
inline constexpr int kTableSize = 256;   // entry 255 belongs to padding rows
inline constexpr std::uint8_t kPaddingCode = 255;

// A rule to be evaluated on all rows of one tree.
struct RouteTask {
  struct Term {
    const float* column;
    float value;
  };
  std::uint32_t tree;
  bool is_categorical;
  bool missing_right;
  float cut;
  std::uint32_t n_terms;  // continuous
  const Term* terms;
  const std::uint32_t* column;  // categorical: codes of the rows
  const std::uint32_t* words;   //              bit 1: the level goes right
  std::uint32_t n_words;
  const std::uint8_t* code;  // leaf codes of the rows
  std::uint8_t left_code;    // only rows with one of these two codes are routed
  std::uint8_t right_code;
  const CodeMask* masks;  // codes of each block, or null: unknown
  std::uint64_t* right;   // out: a bit per row

  bool concerns(std::int64_t block) const {
    return may_have(masks, block, code_bit(left_code) | code_bit(right_code));
  }
};

// How many rows go right, among those with left_code and with right_code.
struct RightCounts {
  std::int64_t of_left = 0;
  std::int64_t of_right = 0;
};

// Leaf codes of a tree from scratch. All rows start with one code; each rule in turn sends those on
// its right to another one.
struct RebuildTask {
  std::uint8_t* code;
  CodeMask* masks;  // codes of each block, or null: not kept
  std::uint8_t start_code;
  std::span<const RouteTask> rules;  // from the root down
  const std::uint8_t* right_code;    // by rule
};

enum class Side : std::uint8_t { both, left, right };

// A part of the finer partition: rows with this code, on this side of the proposed rule.
struct SumCell {
  std::uint8_t code;
  Side side;
};

// What a tree's update does to the rows: the residual changes by a table of the codes, and the
// codes change.
struct Change {
  std::uint8_t* code;          // or null: nothing to apply
  const std::uint64_t* right;  // or null: no proposed rule, left tables only
  const float* left_delta;     // kTableSize entries
  const float* right_delta;
  int n_codes;                   // codes are below this, or the padding's
  const std::uint8_t* left_map;  // or null: codes stay; kTableSize entries
  const std::uint8_t* right_map;
  CodeMask* masks;  // codes of each block, or null: unknown; kept right when codes change
  CodeMask routed;  // codes with a proposed rule; blocks without them have no bits to read
};

// The cells of a tree over which the residual is summed.
struct CellSums {
  const std::uint8_t* code;    // or null: nothing to sum
  const std::uint8_t* next;    // codes that the next pass reads, or null where they are near
  const std::uint64_t* right;  // or null; set only in rows whose code has a cell on the right
  const CodeMask* masks;       // as for the change
  CodeMask routed;
  const SumCell* cells;
  std::int64_t n_cells;
};

// What a pass and the counts of the rows say about a cell. Without weights its weight is its number
// of rows.
struct CellPass {
  double n_rows;
  double weight;
  double sum;  // of weight times residual
};

// How a change acts on the residual: r + delta, or r times delta.
enum class Combine : std::uint8_t { add, multiply };

// One pass over the residual: apply the change of one tree, then sum over the cells of the next.
struct PassTask {
  Combine combine;
  float* residual;
  const float* weight;  // or null
  std::int64_t n_groups;
  Change apply;
  CellSums sum;
};

// What the trees are to explain and what they leave of it. Padding rows have a residual of 0.
struct FitRows {
  const float* residual;
  const float* weight;  // or null
  const double* target;

  // The rows after the first ones.
  FitRows from(std::int64_t row) const {
    return {residual + row, weight != nullptr ? weight + row : nullptr, target + row};
  }
};

// Sums over the rows of targets t, residuals r and f = t - r.
struct FitSums {
  double target_fit = 0.0, fit_fit = 0.0;  // of w t f and w f^2
};

// The terms that a tree gives to its rows.
struct TreeTerms {
  const std::uint8_t* code;
  const float* terms;  // by code: kTableSize entries if wide, else kNarrowCodes + 1
  bool wide;           // more than kNarrowCodes codes
};

// The residual from scratch: what is left of the target when the terms of all trees are taken from
// it, or the target times the exponential of their sum.
struct RefreshTask {
  Combine combine;
  float* residual;
  const double* target;
  std::span<const TreeTerms> trees;
};

}  // namespace obart
