// The cell of a node: the box [-1, 1]^p cut by the half-spaces of its ancestors, and the levels
// left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/lp.h"
#include "model/tree.h"

namespace obart {

struct Range {
  double lo = 0.0;
  double hi = 0.0;
  bool valid = false;
};

inline constexpr double kMinRangeWidth = 1e-9;

class CellGeometry {
 public:
  CellGeometry(std::int64_t p_cont, std::vector<std::uint32_t> n_levels);

  // (min, max) of phi'x over the cell of `node`; phi is not the zero vector. Not valid where the
  // cell is empty or thinner than kMinRangeWidth in this direction, or the LP could not be
  // certified.
  Range range(const RulePools& pools, const Tree& tree, int node, std::span<const PhiEntry> phi);

  // Bits of the levels of categorical column j that can reach `node`; returns how many they are.
  std::uint32_t available_levels(const RulePools& pools, const Tree& tree, int node,
                                 std::uint32_t column, std::uint32_t* words) const;

  std::int64_t n_failed() const { return n_failed_; }  // LPs without a certificate, so far

 private:
  struct Row {
    std::span<const PhiEntry> phi;
    double sign, bound;  // sign phi'x <= bound
    bool connected;
  };
  // Signs of phi are as good as random: the side is an index, where a branch would be guessed
  // wrong.
  struct Bounds {
    double largest[2] = {1.0, 1.0};  // of -x and of x
    double lower() const { return -largest[0]; }
    double upper() const { return largest[1]; }
  };
  void reserve(std::size_t n_rows, std::size_t n_cols);
  bool collect(const RulePools& pools, const Tree& tree, int node);
  void touch(std::uint32_t column);
  void make_room(std::size_t n_rows, std::size_t n_cols);
  void connect(std::span<const PhiEntry> phi);
  bool may_be_linked(std::span<const PhiEntry> phi) const;
  bool gather(std::span<const PhiEntry> phi);
  bool gather_one(std::span<const PhiEntry> phi, const Row& row);
  Range box_range(std::span<const PhiEntry> phi) const;
  Range lp_range();
  void reset();

  std::vector<std::uint32_t> n_levels_;
  std::vector<Bounds> bounds_;  // of the columns, [-1, 1] between calls
  std::vector<int> local_;      // column -> LP column, -1 between calls
  std::vector<std::uint8_t> touched_mark_;
  std::vector<std::uint32_t>
      touched_;  // columns whose bounds or marks differ from the resting state
  std::vector<Row> rows_;
  // The linear programme; buffers are larger than what is used of them.
  std::vector<double> a_, b_, lp_lower_, lp_upper_, objective_;
  std::vector<std::uint32_t> columns_;  // of its variables
  std::size_t n_rows_ = 0, n_cols_ = 0;
  LpWorkspace workspace_;
  std::int64_t n_failed_ = 0;
};

}  // namespace obart
