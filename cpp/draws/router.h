// A block of rows on its way through the structures of kept draws.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/kernels.h"
#include "base/aligned_buffer.h"
#include "base/blocks.h"
#include "draws/draws.h"
#include "draws/program.h"
#include "model/data.h"

namespace obart {

inline constexpr std::int64_t kRouteRows = 256;

inline constexpr std::int64_t count_route_blocks(std::int64_t n_rows) {
  return (n_rows + kRouteRows - 1) / kRouteRows;
}

// Throws std::invalid_argument unless the data have the columns of the draws.
void require_same_columns(const Draws& draws, const Data& data);

// A column of a block that takes the place of the table's own.
struct OtherColumn {
  RuleKind kind;
  std::uint32_t column;        // among those of its kind
  const float* values;         // of a continuous column, aligned as the table's
  const std::uint32_t* codes;  // of a categorical one
};

class Router {
 public:
  Router(const Draws& draws, const Data& data);

  void start(std::int64_t block);
  std::int64_t row() const { return row_; }
  std::int64_t n_rows() const { return n_rows_; }
  std::int64_t n_groups() const { return n_groups_; }
  const Program& program() const { return *program_; }

  // Writes the leaf, in preorder, of each row of the block; with one of its columns replaced if
  // `other` is not null.
  void route(std::uint32_t structure, std::uint8_t* code, const OtherColumn* other = nullptr);
  // Writes the shares that the leaves have of each row, a column of kRouteRows for each leaf.
  void share(std::uint32_t structure, float* shares, const OtherColumn* other = nullptr);
  // f += table[code] for all rows of the block.
  void accumulate(float* f, const std::uint8_t* code, const float* table,
                  std::size_t n_leaves) const {
    kernels_.accumulate(f, code, table, n_leaves > kNarrowCodes + 1, n_groups_);
  }
  // f += the sum of share times table[leaf].
  void accumulate_shares(float* f, const float* shares, std::span<const float> table) const;

 private:
  // What says which way a row of the block goes.
  RouteTask describe(const Step& step, const OtherColumn* other);

  const Draws& draws_;
  const std::shared_ptr<const Program> program_;
  const Data& data_;
  const CpuKernels& kernels_;
  std::vector<RouteTask::Term> terms_;
  std::int64_t row_ = 0, n_groups_ = 0, n_rows_ = 0;
};

// Where the rows of a block are in one tree: in a leaf each, or shared out between leaves.
class TreeRows {
 public:
  explicit TreeRows(bool is_soft)
      : is_soft_(is_soft), code_(is_soft ? 0 : static_cast<std::size_t>(kRouteRows)) {}

  void find(Router& router, std::uint32_t structure, std::size_t n_leaves,
            const OtherColumn* other = nullptr);
  // f += the values of the leaves.
  void accumulate(const Router& router, const float* table, std::size_t n_leaves, float* f) const;

 private:
  bool is_soft_;
  AlignedBuffer<std::uint8_t> code_;
  AlignedBuffer<float> shares_;  // a column for each leaf
};

}  // namespace obart
