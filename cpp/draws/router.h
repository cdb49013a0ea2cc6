// A block of rows on its way through the structures of kept draws.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/kernels.h"
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
  // f += table[code] for all rows of the block.
  void accumulate(float* f, const std::uint8_t* code, const float* table,
                  std::size_t n_leaves) const {
    kernels_.accumulate(f, code, table, n_leaves > kNarrowCodes + 1, n_groups_);
  }

 private:
  const Draws& draws_;
  const std::shared_ptr<const Program> program_;
  const Data& data_;
  const CpuKernels& kernels_;
  std::vector<RouteTask::Term> terms_;
  std::int64_t row_ = 0, n_groups_ = 0, n_rows_ = 0;
};

}  // namespace obart
