// What the kernels of a card are asked to do: plain arrays in the card's memory.
#pragma once

#include <cstdint>

#include "backend/trees_task.h"

namespace obart::card {

// ---- routing -----------------------------------------------------------------------------------

struct Term {
  std::uint32_t column;
  float value;
};

struct Rule {
  float cut;
  std::uint32_t n_terms;  // continuous
  std::uint32_t first;    // of its terms, or of its words of levels
  std::uint32_t column;   // categorical
  std::uint32_t tree;
  std::uint8_t is_categorical, missing_right, left_code, right_code;
};

struct RouteArgs {
  const float* cont;  // by column and slot
  const std::uint32_t* cat;
  const std::uint8_t* code;  // by tree and slot
  std::uint64_t* right;      // out: a bit for each slot, by tree
  std::uint32_t* counts;     // out, starts at zero: by rule, of left_code and of right_code
  const Rule* rules;
  const Term* terms;
  const std::uint32_t* words;
  std::int64_t n_slots;
  std::int32_t n_rules;
  std::int32_t rules_together;  // by a block of threads
};

// ---- the trees of a sweep ----------------------------------------------------------------------

// The tables of the normal distribution's ziggurat.
struct ZigguratLayer {
  std::uint64_t inside;
  double unit;
};

struct UpdateArgs {
  std::uint8_t* code;
  const std::uint64_t* right;
  float* residual;
  const float* weight;  // or null
  std::int64_t n_slots;
  std::int32_t n_parts;          // blocks of threads, each with its own rows
  std::int32_t blocks_per_part;  // a power of two
  std::int32_t n_warps;          // of a part, a power of two
  std::int32_t in_shared;        // whether a part's residual fits the shared memory
  std::int32_t most_values;      // sums of a tree, the most
  std::int32_t n_trees;
  std::uint32_t first_tag;
  const TreeTask* trees;
  const double* n_rows;  // of leaves, by tree
  const float* outputs;
  NormalOutputs leaves;
  const std::uint64_t* rng;  // four words
  std::uint64_t* rng_out;    // out
  const ZigguratLayer* ziggurat;
  const double* heights;
  std::uint64_t* exchange;  // two words for each parity, part and value
  std::uint8_t* accepted;   // out, by tree
  float* new_outputs;       // out
};

// ---- other work on rows ------------------------------------------------------------------------

struct TreeTerms {
  std::int32_t n_leaves, first;
};

struct RefreshArgs {
  float* residual;
  const double* target;
  const std::uint8_t* code;
  const TreeTerms* trees;
  const float* terms;
  std::int64_t n_slots, n_rows;
  std::int32_t n_trees;
};

struct ScaleArgs {
  float* residual;
  const double* target;
  std::int64_t n_slots, n_rows;
  double factor;
};

struct SumArgs {
  const float* residual;
  const float* weight;   // or null
  const double* target;  // or null: squares of the residual only
  double* sums;          // out, by block of rows: of w r^2, or of w t f and w f^2
};

// Values of rows into slots, or back.
struct OrderArgs {
  void* to;
  const void* from;
  std::int64_t n_slots, n_rows;
  std::int64_t stride_rows, stride_slots;  // between columns
  std::int32_t size;                       // bytes of a value
  std::int32_t to_rows;
  std::uint64_t fill;  // what padding slots get
};

}  // namespace obart::card
