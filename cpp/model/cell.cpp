#include "model/cell.h"

#include <algorithm>
#include <cmath>

#include "base/planted_bugs.h"
#include "model/data.h"

namespace obart {

CellGeometry::CellGeometry(std::int64_t p_cont, std::vector<std::uint32_t> n_levels)
    : n_levels_(std::move(n_levels)),
      bounds_(static_cast<std::size_t>(p_cont)),
      local_(static_cast<std::size_t>(p_cont), -1),
      touched_mark_(static_cast<std::size_t>(p_cont), 0) {
  touched_.reserve(static_cast<std::size_t>(p_cont));
  columns_.reserve(static_cast<std::size_t>(p_cont));
  // What usual cells need; for larger ones the buffers grow to twice what is asked for.
  rows_.reserve(kMaxLeaves);
  reserve(16, std::min(static_cast<std::size_t>(p_cont), std::size_t{32}));
}

void CellGeometry::reserve(std::size_t n_rows, std::size_t n_cols) {
  a_.resize(n_rows * n_cols);
  b_.resize(n_rows);
  lp_lower_.resize(n_cols);
  lp_upper_.resize(n_cols);
  objective_.resize(n_cols);
  workspace_.reserve(n_rows, n_cols);
}

void CellGeometry::make_room(std::size_t n_rows, std::size_t n_cols) {
  if (n_rows <= b_.size() && n_cols <= objective_.size()) return;
  reserve(std::max(b_.size(), std::min(2 * n_rows, std::size_t{kMaxLeaves})),
          std::max(objective_.size(), std::min(2 * n_cols, local_.size())));
}

void CellGeometry::touch(std::uint32_t column) {
  if (touched_mark_[column]) return;
  touched_mark_[column] = 1;
  touched_.push_back(column);
}

void CellGeometry::reset() {
  for (const std::uint32_t j : touched_) {
    bounds_[j] = Bounds{};
    local_[j] = -1;
    touched_mark_[j] = 0;
  }
  touched_.clear();
  rows_.clear();
}

// One-column ancestors tighten the box; the others become rows. False where the cell is empty
// because the node lies right of a zero rule.
bool CellGeometry::collect(const RulePools& pools, const Tree& tree, int node) {
  for (int child = node, i = tree.node(node).parent; i != kNone;
       child = i, i = tree.node(i).parent) {
    const Node& ancestor = tree.node(i);
    const Rule& rule = ancestor.rule;
    if (rule.kind != RuleKind::continuous) continue;
    bool is_left = ancestor.left == child;
    if (OBART_BUG(cell_side_flipped)) is_left = !is_left;
    if (OBART_BUG(cut_from_box)) continue;
    if (rule.n_items == 0) {
      if (!is_left) return false;
      continue;
    }
    const std::span<const PhiEntry> phi(pools.phi.at(rule.offset), rule.n_items);
    const double cut = static_cast<double>(rule.cut);
    if (phi.size() > 1) {
      rows_.push_back({phi, is_left ? 1.0 : -1.0, is_left ? cut : -cut, false});
      continue;
    }
    const std::uint32_t j = phi[0].column;
    const double value = static_cast<double>(phi[0].value);
    const double bound = cut / value;
    touch(j);
    const bool is_upper = (value > 0.0) == is_left;
    double& largest = bounds_[j].largest[is_upper];
    largest = std::min(largest, is_upper ? bound : -bound);
  }
  return true;
}

void CellGeometry::connect(std::span<const PhiEntry> phi) {
  for (const PhiEntry& entry : phi) {
    if (local_[entry.column] >= 0) continue;
    touch(entry.column);
    local_[entry.column] = static_cast<int>(n_cols_++);
    columns_.push_back(entry.column);
  }
}

Range CellGeometry::box_range(std::span<const PhiEntry> phi) const {
  Range range;
  for (const PhiEntry& entry : phi) {
    // value x is at most |value| times the largest of x, or of -x where value < 0.
    const bool mirrored = OBART_BUG(range_mirrored);
    const auto value = static_cast<double>(entry.value);
    const double size = mirrored ? value : std::abs(value);
    const bool up = value > 0.0 || mirrored;
    range.lo -= size * bounds_[entry.column].largest[!up];
    range.hi += size * bounds_[entry.column].largest[up];
  }
  return range;
}

// Only rows whose columns are linked to phi's, directly or through other rows, can matter. False
// where there is none; else the linear programme is in the buffers.
bool CellGeometry::gather(std::span<const PhiEntry> phi) {
  n_rows_ = n_cols_ = 0;
  columns_.clear();
  connect(phi);
  for (bool grew = true; grew;) {
    grew = false;
    for (Row& row : rows_) {
      if (row.connected) continue;
      const bool linked = std::any_of(row.phi.begin(), row.phi.end(),
                                      [&](const PhiEntry& e) { return local_[e.column] >= 0; });
      if (!linked) continue;
      row.connected = grew = true;
      ++n_rows_;
      connect(row.phi);
    }
  }
  if (n_rows_ == 0) return false;
  make_room(n_rows_, n_cols_);
  for (std::size_t k = 0; k < n_cols_; ++k) {
    lp_lower_[k] = bounds_[columns_[k]].lower();
    lp_upper_[k] = bounds_[columns_[k]].upper();
    objective_[k] = k < phi.size() ? static_cast<double>(phi[k].value) : 0.0;
  }
  std::fill_n(a_.begin(), n_rows_ * n_cols_, 0.0);
  std::size_t i = 0;
  for (const Row& row : rows_) {
    if (!row.connected) continue;
    double* a = a_.data() + i * n_cols_;
    for (const PhiEntry& entry : row.phi)
      a[local_[entry.column]] = row.sign * static_cast<double>(entry.value);
    b_[i++] = row.bound;
  }
  return true;
}

// The same, with the same order of columns, for a single row: by far the most frequent. Both lists
// of columns increase.
bool CellGeometry::gather_one(std::span<const PhiEntry> phi, const Row& row) {
  const auto find = [](auto at, auto end, std::uint32_t column) {
    while (at != end && at->column < column) ++at;
    return at;
  };
  make_room(1, std::min(phi.size() + row.phi.size(), local_.size()));
  n_rows_ = 1;
  n_cols_ = 0;
  b_[0] = row.bound;
  const auto add = [&](std::uint32_t column, double objective, double a) {
    lp_lower_[n_cols_] = bounds_[column].lower();
    lp_upper_[n_cols_] = bounds_[column].upper();
    objective_[n_cols_] = objective;
    a_[n_cols_++] = row.sign * a;
  };
  bool linked = false;
  auto in_row = row.phi.begin();
  for (const PhiEntry& entry : phi) {
    in_row = find(in_row, row.phi.end(), entry.column);
    const bool shared = in_row != row.phi.end() && in_row->column == entry.column;
    linked |= shared;
    add(entry.column, static_cast<double>(entry.value),
        shared ? static_cast<double>(in_row->value) : 0.0);
  }
  if (!linked) return false;
  auto in_phi = phi.begin();
  for (const PhiEntry& entry : row.phi) {
    in_phi = find(in_phi, phi.end(), entry.column);
    if (in_phi == phi.end() || in_phi->column != entry.column)
      add(entry.column, 0.0, static_cast<double>(entry.value));
  }
  return true;
}

Range CellGeometry::lp_range() {
  const LpProblem problem{
      static_cast<int>(n_rows_), static_cast<int>(n_cols_), a_.data(),        b_.data(),
      lp_lower_.data(),          lp_upper_.data(),          objective_.data()};
  const auto [lowest, highest] = lp_extremes(problem, workspace_);
  if (highest.status == LpStatus::failed || lowest.status == LpStatus::failed) ++n_failed_;
  if (highest.status != LpStatus::optimal || lowest.status != LpStatus::optimal) return {};
  return {-lowest.value, highest.value, true};
}

// Whether a row may share a column with phi: one bit a column, modulo 64. Most do not, and this is
// quicker to see than to gather them.
bool CellGeometry::may_be_linked(std::span<const PhiEntry> phi) const {
  std::uint64_t in_phi = 0;
  for (const PhiEntry& entry : phi) in_phi |= std::uint64_t{1} << (entry.column % 64);
  std::uint64_t in_rows = 0;
  for (const Row& row : rows_)
    for (const PhiEntry& entry : row.phi) in_rows |= std::uint64_t{1} << (entry.column % 64);
  return (in_phi & in_rows) != 0;
}

Range CellGeometry::range(const RulePools& pools, const Tree& tree, int node,
                          std::span<const PhiEntry> phi) {
  Range range;
  if (collect(pools, tree, node)) {
    const bool has_rows = !rows_.empty() && may_be_linked(phi) &&
                          (rows_.size() == 1 ? gather_one(phi, rows_[0]) : gather(phi));
    range = has_rows ? lp_range() : box_range(phi);
    range.valid = range.hi - range.lo > kMinRangeWidth;
  }
  reset();
  return range;
}

std::uint32_t CellGeometry::available_levels(const RulePools& pools, const Tree& tree, int node,
                                             std::uint32_t column, std::uint32_t* words) const {
  const std::uint32_t n_levels = n_levels_[column];
  const std::uint32_t n_words = level_words(n_levels);
  for (std::uint32_t w = 0; w < n_words; ++w) words[w] = ~0U;
  words[n_words - 1] = (1U << (n_levels % 32)) - 1U;
  for (int child = node, i = tree.node(node).parent; i != kNone;
       child = i, i = tree.node(i).parent) {
    const Node& ancestor = tree.node(i);
    const Rule& rule = ancestor.rule;
    if (rule.kind != RuleKind::categorical || rule.column != column) continue;
    if (OBART_BUG(levels_not_restricted)) continue;
    const std::uint32_t* right = pools.levels.at(rule.offset);
    const bool is_left = ancestor.left == child;
    for (std::uint32_t w = 0; w < n_words; ++w) words[w] &= is_left ? ~right[w] : right[w];
  }
  std::uint32_t count = 0;
  for (std::uint32_t w = 0; w < n_words; ++w)
    count += static_cast<std::uint32_t>(std::popcount(words[w]));
  return count;
}

}  // namespace obart
