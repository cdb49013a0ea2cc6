// What predictions become when a column of the table is replaced, draw by draw: the base of
// importances (by the column of other rows) and of effects (by constants).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "draws/draws.h"
#include "draws/link.h"
#include "draws/router.h"
#include "model/data.h"

namespace obart {

// The columns that take the place of a table's own, one at a time.
class Replacements {
 public:
  // Each column of another table with as many rows: the continuous ones, then the categorical
  // ones. The table must outlive this.
  static Replacements columns_of(const Data& other);
  // One column, counted in that order, by each of its values in a grid.
  static Replacements constants(const Data& grid, std::int64_t column);

  std::int64_t size() const { return static_cast<std::int64_t>(columns_.size()); }
  // Replacement number `index` at the rows of a block that starts here.
  OtherColumn at(std::int64_t index, std::int64_t row) const;
  // The numbers of those that replace a column.
  std::span<const std::int64_t> of(RuleKind kind, std::uint32_t column) const;
  void require_fit(const Data& data) const;

 private:
  Replacements(const Data& data) : p_cont_(data.p_cont()), by_column_(count_columns(data)) {}
  static std::size_t count_columns(const Data& data) {
    return static_cast<std::size_t>(data.p_cont() + data.p_cat());
  }
  void add(std::int64_t column, const float* values, const std::uint32_t* codes);

  std::int64_t p_cont_;
  std::int64_t n_rows_ = 0;  // of the other table; 0 for constants
  std::vector<OtherColumn> columns_;
  std::vector<std::vector<std::int64_t>> by_column_;
  AlignedBuffer<float> values_;  // of constants, a block each
  AlignedBuffer<std::uint32_t> codes_;
};

// The ensembles of a model. A prediction is the link of f, in the engine's units; that of several
// ensembles, one for each class, is divided by their sum.
struct KeptEnsembles {
  std::vector<const Draws*> draws;
  std::vector<double> offset;  // of the link
  const Link& link;

  std::int64_t size() const { return static_cast<std::int64_t>(draws.size()); }
};

// Over the rows of the table; the ensembles are the last dimension of each.
struct ReplacementEffects {
  double* mean;      // by draw: of the predictions
  double* variance;  // by draw
  double* change;    // by draw and replacement: the mean change of the predictions
  double* square;    // by draw and replacement: the mean of its square
};

// For the draws with these numbers. The result does not depend on the number of threads.
void replace_columns(const KeptEnsembles& ensembles, std::span<const std::int64_t> draws,
                     const Data& data, const Replacements& replacements, std::int64_t n_threads,
                     const ReplacementEffects& out);

}  // namespace obart
