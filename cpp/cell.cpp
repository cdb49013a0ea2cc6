#include "cell.h"

#include <algorithm>
#include <cmath>

#include "data.h"
#include "planted.h"

namespace obart {

CellGeometry::CellGeometry(std::int64_t p_cont, std::vector<std::uint32_t> n_levels)
    : n_levels_(std::move(n_levels)),
      lower_(static_cast<std::size_t>(p_cont), -1.0),
      upper_(static_cast<std::size_t>(p_cont), 1.0),
      local_(static_cast<std::size_t>(p_cont), -1),
      touched_mark_(static_cast<std::size_t>(p_cont), 0) {
  touched_.reserve(static_cast<std::size_t>(p_cont));
  lp_lower_.reserve(static_cast<std::size_t>(p_cont));
  lp_upper_.reserve(static_cast<std::size_t>(p_cont));
  // What usual cells need; for larger ones the buffers grow to twice what is asked for.
  rows_.reserve(kMaxLeaves);
  reserve(16, std::min(static_cast<std::size_t>(p_cont), std::size_t{32}));
}

void CellGeometry::reserve(std::size_t n_rows, std::size_t n_cols) {
  a_.reserve(n_rows * n_cols);
  b_.reserve(n_rows);
  objective_.reserve(n_cols);
  workspace_.reserve(n_rows, n_cols);
}

void CellGeometry::touch(std::uint32_t column) {
  if (touched_mark_[column]) return;
  touched_mark_[column] = 1;
  touched_.push_back(column);
}

void CellGeometry::reset() {
  for (const std::uint32_t j : touched_) {
    lower_[j] = -1.0;
    upper_[j] = 1.0;
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
    if ((value > 0.0) == is_left)
      upper_[j] = std::min(upper_[j], bound);
    else
      lower_[j] = std::max(lower_[j], bound);
  }
  return true;
}

void CellGeometry::connect(std::span<const PhiEntry> phi) {
  for (const PhiEntry& entry : phi) {
    if (local_[entry.column] >= 0) continue;
    touch(entry.column);
    local_[entry.column] = static_cast<int>(lp_lower_.size());
    lp_lower_.push_back(lower_[entry.column]);
    lp_upper_.push_back(upper_[entry.column]);
  }
}

Range CellGeometry::box_range(std::span<const PhiEntry> phi) const {
  Range range;
  for (const PhiEntry& entry : phi) {
    const double value = static_cast<double>(entry.value);
    const bool swap = value < 0.0 && !OBART_BUG(range_mirrored);
    const double at_lower = value * lower_[entry.column];
    const double at_upper = value * upper_[entry.column];
    range.lo += swap ? at_upper : at_lower;
    range.hi += swap ? at_lower : at_upper;
  }
  return range;
}

Range CellGeometry::lp_range(std::span<const PhiEntry> phi) {
  const std::size_t n_cols = lp_lower_.size();
  const auto connected = [](const Row& row) { return row.connected; };
  const auto n_rows =
      static_cast<std::size_t>(std::count_if(rows_.begin(), rows_.end(), connected));
  if (n_rows > b_.capacity() || n_cols > objective_.capacity())
    reserve(std::max(b_.capacity(), std::min(2 * n_rows, std::size_t{kMaxLeaves})),
            std::max(objective_.capacity(), std::min(2 * n_cols, local_.size())));
  a_.assign(n_rows * n_cols, 0.0);
  b_.clear();
  for (const Row& row : rows_) {
    if (!row.connected) continue;
    double* a = a_.data() + b_.size() * n_cols;
    for (const PhiEntry& entry : row.phi)
      a[local_[entry.column]] = row.sign * static_cast<double>(entry.value);
    b_.push_back(row.bound);
  }
  objective_.assign(n_cols, 0.0);
  for (const PhiEntry& entry : phi)
    objective_[static_cast<std::size_t>(local_[entry.column])] = static_cast<double>(entry.value);

  const LpProblem problem{
      static_cast<int>(n_rows), static_cast<int>(n_cols), a_.data(),        b_.data(),
      lp_lower_.data(),         lp_upper_.data(),         objective_.data()};
  const LpResult highest = lp_maximise(problem, workspace_);
  for (double& value : objective_) value = -value;
  const LpResult lowest = lp_maximise(problem, workspace_);
  if (highest.status == LpStatus::failed || lowest.status == LpStatus::failed) ++n_failed_;
  if (highest.status != LpStatus::optimal || lowest.status != LpStatus::optimal) return {};
  return {-lowest.value, highest.value, true};
}

Range CellGeometry::range(const RulePools& pools, const Tree& tree, int node,
                          std::span<const PhiEntry> phi) {
  Range range;
  if (collect(pools, tree, node)) {
    lp_lower_.clear();
    lp_upper_.clear();
    bool has_rows = false;
    if (!rows_.empty()) {
      // Only rows whose columns are linked to phi's, directly or through other rows, can matter.
      connect(phi);
      for (bool grew = true; grew;) {
        grew = false;
        for (Row& row : rows_) {
          if (row.connected) continue;
          const bool linked = std::any_of(row.phi.begin(), row.phi.end(),
                                          [&](const PhiEntry& e) { return local_[e.column] >= 0; });
          if (!linked) continue;
          row.connected = grew = has_rows = true;
          connect(row.phi);
        }
      }
    }
    range = has_rows ? lp_range(phi) : box_range(phi);
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
