#include "draws/replace.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "draws/parallel.h"

namespace obart {

// ---- replacements ------------------------------------------------------------------------------

void Replacements::add(std::int64_t column, const float* values, const std::uint32_t* codes) {
  const bool is_continuous = column < p_cont_;
  by_column_[static_cast<std::size_t>(column)].push_back(size());
  columns_.push_back({is_continuous ? RuleKind::continuous : RuleKind::categorical,
                      static_cast<std::uint32_t>(is_continuous ? column : column - p_cont_), values,
                      codes});
}

Replacements Replacements::columns_of(const Data& other) {
  Replacements out(other);
  out.n_rows_ = other.n_rows();
  for (std::int64_t j = 0; j < other.p_cont(); ++j) out.add(j, other.cont(j), nullptr);
  for (std::int64_t j = 0; j < other.p_cat(); ++j)
    out.add(other.p_cont() + j, nullptr, other.cat(j));
  return out;
}

Replacements Replacements::constants(const Data& grid, std::int64_t column) {
  if (column < 0 || column >= grid.p_cont() + grid.p_cat())
    throw std::invalid_argument("replace: there is no such column");
  Replacements out(grid);
  const bool is_continuous = column < grid.p_cont();
  const auto size = static_cast<std::size_t>(grid.n_rows() * kRouteRows);
  if (is_continuous)
    out.values_ = AlignedBuffer<float>(size);
  else
    out.codes_ = AlignedBuffer<std::uint32_t>(size);
  for (std::int64_t k = 0; k < grid.n_rows(); ++k) {
    const std::int64_t begin = k * kRouteRows;
    if (is_continuous) {
      std::fill_n(out.values_.data() + begin, kRouteRows, grid.cont(column)[k]);
      out.add(column, out.values_.data() + begin, nullptr);
    } else {
      std::fill_n(out.codes_.data() + begin, kRouteRows, grid.cat(column - grid.p_cont())[k]);
      out.add(column, nullptr, out.codes_.data() + begin);
    }
  }
  return out;
}

OtherColumn Replacements::at(std::int64_t index, std::int64_t row) const {
  OtherColumn column = columns_[static_cast<std::size_t>(index)];
  const std::int64_t offset = n_rows_ == 0 ? 0 : row;
  if (column.values != nullptr) column.values += offset;
  if (column.codes != nullptr) column.codes += offset;
  return column;
}

std::span<const std::int64_t> Replacements::of(RuleKind kind, std::uint32_t column) const {
  return by_column_[static_cast<std::size_t>(kind == RuleKind::continuous ? 0 : p_cont_) + column];
}

void Replacements::require_fit(const Data& data) const {
  if (p_cont_ != data.p_cont() || by_column_.size() != count_columns(data))
    throw std::invalid_argument("replace: the other table has other columns");
  if (n_rows_ != 0 && n_rows_ != data.n_rows())
    throw std::invalid_argument("replace: the other table has another number of rows");
}

namespace {

// ---- sums over rows ----------------------------------------------------------------------------

constexpr std::int64_t kSumLanes = 8;

// The sums of values and of their squares, always in the same order.
struct Moments {
  double sum = 0.0;
  double square = 0.0;

  template <class Value>
  static Moments of(std::int64_t n, const Value& value) {
    double sum[kSumLanes] = {};
    double square[kSumLanes] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = value(i);
      sum[i % kSumLanes] += x;
      square[i % kSumLanes] += x * x;
    }
    Moments out;
    for (std::int64_t lane = 0; lane < kSumLanes; ++lane) {
      out.sum += sum[lane];
      out.square += square[lane];
    }
    return out;
  }
};

// ---- one thread's work -------------------------------------------------------------------------

// How many numbers a thread holds for its draws; one draw may need more.
constexpr std::int64_t kTileNumbers = 1 << 17;
constexpr std::int64_t kMostTileDraws = 64;

struct Task {
  const KeptEnsembles& ensembles;
  std::span<const std::int64_t> draws;
  const Data& data;
  const Replacements& replacements;
  const ReplacementEffects& out;

  std::int64_t n_draws() const { return static_cast<std::int64_t>(draws.size()); }
};

// A tile is some of the draws at a block of rows. It holds f of each ensemble and, for each
// replacement, the change of f: a tree that does not use the column adds nothing to it.
class TileWorker {
 public:
  TileWorker(const Task& task, std::int64_t tile_draws)
      : task_(task),
        tile_draws_(tile_draws),
        n_ensembles_(task.ensembles.size()),
        n_replacements_(task.replacements.size()),
        f_(numbers(tile_draws * n_ensembles_)),
        change_(numbers(tile_draws * n_ensembles_ * n_replacements_)),
        changes_(static_cast<std::size_t>(tile_draws * n_replacements_)),
        prediction_(numbers(n_ensembles_)),
        replaced_(numbers(n_ensembles_)),
        rows_(is_soft(task)),
        is_concerned_(static_cast<std::size_t>(n_replacements_)),
        shift_(static_cast<std::size_t>(tile_draws * n_ensembles_)) {
    for (std::int64_t k = 0; k < n_replacements_; ++k) replaced_rows_.emplace_back(is_soft(task));
    for (const Draws* draws : task.ensembles.draws) routers_.emplace_back(*draws, task.data);
  }

  void operator()(std::int64_t tile) {
    first_ = tile * tile_draws_;
    n_ = std::min(tile_draws_, task_.n_draws() - first_);
    for (std::int64_t block = 0; block < count_route_blocks(task_.data.n_rows()); ++block) {
      std::fill(changes_.begin(), changes_.end(), std::uint8_t{0});
      std::fill_n(f_.data(), n_ * n_ensembles_ * kRouteRows, 0.0F);
      for (std::int64_t e = 0; e < n_ensembles_; ++e) {
        routers_[static_cast<std::size_t>(e)].start(block);
        for (std::int64_t m = 0; m < task_.ensembles.draws[static_cast<std::size_t>(e)]->n_trees();
             ++m)
          add_tree(e, m);
      }
      for (std::int64_t d = 0; d < n_; ++d) add_block(block, d);
    }
    for (std::int64_t d = 0; d < n_; ++d) finish(d);
  }

 private:
  static bool is_soft(const Task& task) {
    return std::ranges::any_of(task.ensembles.draws, [](const Draws* d) { return d->is_soft(); });
  }
  static std::size_t numbers(std::int64_t n_blocks) {
    return static_cast<std::size_t>(n_blocks * kRouteRows);
  }
  float* f(std::int64_t d, std::int64_t e) {
    return f_.data() + (d * n_ensembles_ + e) * kRouteRows;
  }
  float* change(std::int64_t d, std::int64_t k, std::int64_t e) {
    return change_.data() + ((d * n_replacements_ + k) * n_ensembles_ + e) * kRouteRows;
  }
  std::uint8_t& has_change(std::int64_t d, std::int64_t k) {
    return changes_[static_cast<std::size_t>(d * n_replacements_ + k)];
  }

  // Tree m of all draws of the tile; draws with the same structure share its routes.
  void add_tree(std::int64_t e, std::int64_t m) {
    const Draws& draws = *task_.ensembles.draws[static_cast<std::size_t>(e)];
    const Router& router = routers_[static_cast<std::size_t>(e)];
    std::uint32_t current = ~0U;
    float table[kTableSize] = {};
    float minus[kTableSize] = {};
    for (std::int64_t d = 0; d < n_; ++d) {
      const std::int64_t draw = task_.draws[static_cast<std::size_t>(first_ + d)];
      const std::uint32_t structure = draws.structure(draw, m);
      const std::span<const float> outputs = draws.outputs(draw, m);
      if (structure != current) route(e, structure, outputs.size());
      current = structure;
      task_.ensembles.link.copy_terms(outputs, table);
      std::transform(table, table + outputs.size(), minus, std::negate<>());
      rows_.accumulate(router, table, outputs.size(), f(d, e));
      for (const std::int64_t k : concerned_) {
        if (!has_change(d, k)) {
          std::fill_n(change(d, k, 0), n_ensembles_ * kRouteRows, 0.0F);
          has_change(d, k) = 1;
        }
        replaced_rows_[static_cast<std::size_t>(k)].accumulate(router, table, outputs.size(),
                                                               change(d, k, e));
        rows_.accumulate(router, minus, outputs.size(), change(d, k, e));
      }
    }
  }

  // Finds the replacements that concern a structure, and the leaves of the rows with each of them.
  void route(std::int64_t e, std::uint32_t structure, std::size_t n_leaves) {
    Router& router = routers_[static_cast<std::size_t>(e)];
    const DrawArrays& a = task_.ensembles.draws[static_cast<std::size_t>(e)]->arrays();
    rows_.find(router, structure, n_leaves);
    for (const std::int64_t k : concerned_) is_concerned_[static_cast<std::size_t>(k)] = 0;
    concerned_.clear();
    for (const Step& step : router.program().steps(structure)) {
      if (step.kind == RuleKind::categorical) concern(step.kind, step.column);
      for (std::uint64_t i = step.first;
           step.kind == RuleKind::continuous && i < step.first + step.n_items; ++i)
        concern(step.kind, a.phi_column[i]);
    }
    for (const std::int64_t k : concerned_) {
      const OtherColumn other = task_.replacements.at(k, router.row());
      replaced_rows_[static_cast<std::size_t>(k)].find(router, structure, n_leaves, &other);
    }
  }
  void concern(RuleKind kind, std::uint32_t column) {
    for (const std::int64_t k : task_.replacements.of(kind, column)) {
      std::uint8_t& is_concerned = is_concerned_[static_cast<std::size_t>(k)];
      if (is_concerned == 0) concerned_.push_back(k);
      is_concerned = 1;
    }
  }

  // Adds the rows of a block to the sums of a draw, which the results hold meanwhile.
  void add_block(std::int64_t block, std::int64_t d) {
    const std::int64_t n_rows = routers_[0].n_rows();
    for (std::int64_t e = 0; e < n_ensembles_; ++e)
      std::copy_n(f(d, e), kRouteRows, prediction_.data() + e * kRouteRows);
    predict(prediction_.data());
    for (std::int64_t e = 0; e < n_ensembles_; ++e) {
      const float* prediction = prediction_.data() + e * kRouteRows;
      double& shift = shift_[static_cast<std::size_t>(d * n_ensembles_ + e)];
      if (block == 0) shift = static_cast<double>(prediction[0]);
      const Moments moments = Moments::of(
          n_rows, [&](std::int64_t i) { return static_cast<double>(prediction[i]) - shift; });
      const std::int64_t at = (first_ + d) * n_ensembles_ + e;
      task_.out.mean[at] += moments.sum;
      task_.out.variance[at] += moments.square;
    }
    for (std::int64_t k = 0; k < n_replacements_; ++k)
      if (has_change(d, k)) add_changes(d, k, n_rows);
  }
  void add_changes(std::int64_t d, std::int64_t k, std::int64_t n_rows) {
    for (std::int64_t e = 0; e < n_ensembles_; ++e)
      std::transform(f(d, e), f(d, e) + kRouteRows, change(d, k, e),
                     replaced_.data() + e * kRouteRows, std::plus<>());
    // Without a link the change of f is that of the prediction, and has no rounding error of f.
    const bool is_plain = task_.ensembles.link.apply == nullptr && n_ensembles_ == 1;
    if (!is_plain) predict(replaced_.data());
    for (std::int64_t e = 0; e < n_ensembles_; ++e) {
      const float* before = prediction_.data() + e * kRouteRows;
      const float* after = replaced_.data() + e * kRouteRows;
      const float* plain = change(d, k, e);
      const Moments moments = Moments::of(n_rows, [&](std::int64_t i) {
        return is_plain ? static_cast<double>(plain[i])
                        : static_cast<double>(after[i]) - static_cast<double>(before[i]);
      });
      const std::int64_t at = ((first_ + d) * n_replacements_ + k) * n_ensembles_ + e;
      task_.out.change[at] += moments.sum;
      task_.out.square[at] += moments.square;
    }
  }

  // Adds the offsets, and takes from f of every ensemble that of the largest, row by row.
  template <class Offset>
  void subtract_largest(float* values, const Offset& offset) const {
    for (std::int64_t i = 0; i < kRouteRows; ++i) {
      float largest = -std::numeric_limits<float>::infinity();
      for (std::int64_t e = 0; e < n_ensembles_; ++e)
        largest = std::max(largest, values[e * kRouteRows + i] += offset(e));
      for (std::int64_t e = 0; e < n_ensembles_; ++e) values[e * kRouteRows + i] -= largest;
    }
  }

  // From f of each ensemble to predictions, at all rows of a block.
  void predict(float* values) const {
    const KeptEnsembles& ensembles = task_.ensembles;
    const auto offset = [&](std::int64_t e) {
      return static_cast<float>(ensembles.offset[static_cast<std::size_t>(e)]);
    };
    const bool is_relative = ensembles.link.is_relative && n_ensembles_ > 1;
    if (is_relative) subtract_largest(values, offset);
    for (std::int64_t e = 0; ensembles.link.apply != nullptr && e < n_ensembles_; ++e)
      ensembles.link.apply(values + e * kRouteRows, is_relative ? 0.0F : offset(e), kRouteRows);
    if (n_ensembles_ == 1) return;
    for (std::int64_t i = 0; i < kRouteRows; ++i) {
      float sum = 0.0F;
      for (std::int64_t e = 0; e < n_ensembles_; ++e) {
        float& value = values[e * kRouteRows + i];
        value = std::max(value, std::numeric_limits<float>::min());  // all 0 would be 0 / 0
        sum += value;
      }
      for (std::int64_t e = 0; e < n_ensembles_; ++e) values[e * kRouteRows + i] /= sum;
    }
  }

  // From sums to means and the variance.
  void finish(std::int64_t d) {
    const auto n = static_cast<double>(task_.data.n_rows());
    for (std::int64_t e = 0; e < n_ensembles_; ++e) {
      const std::int64_t at = (first_ + d) * n_ensembles_ + e;
      const double mean = task_.out.mean[at] / n;
      const double squares = std::max(0.0, task_.out.variance[at] - n * mean * mean);
      task_.out.variance[at] = squares / std::max(1.0, n - 1.0);
      task_.out.mean[at] = shift_[static_cast<std::size_t>(d * n_ensembles_ + e)] + mean;
    }
    const std::int64_t begin = (first_ + d) * n_replacements_ * n_ensembles_;
    for (std::int64_t i = begin; i < begin + n_replacements_ * n_ensembles_; ++i) {
      task_.out.change[i] /= n;
      task_.out.square[i] /= n;
    }
  }

  const Task& task_;
  const std::int64_t tile_draws_, n_ensembles_, n_replacements_;
  std::vector<Router> routers_;
  AlignedBuffer<float> f_, change_;
  std::vector<std::uint8_t> changes_;  // whether a replacement has a change, by draw
  AlignedBuffer<float> prediction_, replaced_;
  TreeRows rows_;
  std::vector<TreeRows> replaced_rows_;  // by replacement
  std::vector<std::int64_t> concerned_;
  std::vector<std::uint8_t> is_concerned_;
  std::vector<double> shift_;
  std::int64_t first_ = 0, n_ = 0;
};

void require_fit(const Task& task) {
  if (task.ensembles.draws.empty() || task.ensembles.draws.size() != task.ensembles.offset.size())
    throw std::invalid_argument("replace: there must be an offset for each ensemble");
  for (const Draws* draws : task.ensembles.draws) {
    require_same_columns(*draws, task.data);
    for (const std::int64_t draw : task.draws)
      if (draw < 0 || draw >= draws->n_draws())
        throw std::invalid_argument("replace: there is no such draw");
  }
  task.replacements.require_fit(task.data);
}

}  // namespace

void replace_columns(const KeptEnsembles& ensembles, std::span<const std::int64_t> draws,
                     const Data& data, const Replacements& replacements, std::int64_t n_threads,
                     const ReplacementEffects& out) {
  const Task task{ensembles, draws, data, replacements, out};
  require_fit(task);
  if (draws.empty()) return;
  const std::int64_t by_draw = ensembles.size() * (1 + replacements.size()) * kRouteRows;
  n_threads = std::max<std::int64_t>(n_threads, 1);
  const std::int64_t fair = (task.n_draws() + n_threads - 1) / n_threads;
  const std::int64_t tile_draws =
      std::clamp<std::int64_t>(kTileNumbers / by_draw, 1, std::min(kMostTileDraws, fair));
  const std::int64_t n_tiles = (task.n_draws() + tile_draws - 1) / tile_draws;
  for_pieces(n_tiles, n_threads, [&] { return TileWorker(task, tile_draws); });
}

}  // namespace obart
