// What a backend is asked to do with the rows of a tree of soft rules, which share them out between
// the leaves: plain arrays, no model.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "backend/tasks.h"

namespace obart {

// A rule that divides a column of shares.
struct SoftGate {
  RouteTask rule;       // only what says which way a row goes
  float inverse_width;  // 0: a hard rule
  std::int32_t from, left, right;
};

// So many outputs times the shares of a column.
struct SoftTerm {
  std::int32_t column;
  float output;
};

// The shares of a tree. Column 0 is the root's, all of each row; each gate writes two others.
struct SoftTree {
  std::span<const SoftGate> gates;  // from the root down
  std::span<const SoftTerm> terms;  // of its leaves
};

// Columns of two trees that differ in the rule of one node, its two children last. Nobody needs
// products of the children of one tree and those of the other.
struct SoftColumns {
  const float* const* at;
  std::int64_t n;
  std::int64_t n_first;      // columns of the first tree
  std::int64_t left, right;  // its children of that node
};

struct SoftSumsTask {
  SoftTree tree;
  std::int32_t n_columns;
  std::span<const std::int32_t> basis;  // columns whose products are summed
  std::int32_t n_first, left, right;    // as SoftColumns has them; n_first may be all
  const float* residual;
  const float* weight;  // or null
};

// The residual from scratch.
struct SoftRefreshTask {
  float* residual;
  const double* target;
  std::span<const SoftTree> trees;
  std::int32_t n_columns;  // at most, of any tree
};

// Of n columns: products of two, then of each with the residual.
inline constexpr std::int64_t count_products(std::int64_t n) { return n * (n + 1) / 2 + n; }
inline constexpr std::size_t product_index(std::size_t i, std::size_t j) {
  return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

// A backend that can do it: all rows are in one place, in this machine's memory.
class SoftRows {
 public:
  virtual ~SoftRows() = default;
  // Takes the terms of a tree from the residual's sum, so that it is what the other trees leave,
  // and sums products: sum of w a b for any two columns of the basis, and of w a r.
  virtual const double* soft_sums(const SoftSumsTask& task) = 0;
  // The residual, after the last sums: what the other trees left, less these terms.
  virtual void soft_apply(std::span<const SoftTerm> terms, float* residual, bool is_last) = 0;
  virtual void soft_refresh(const SoftRefreshTask& task, const std::atomic<bool>* stop) = 0;
};

}  // namespace obart
