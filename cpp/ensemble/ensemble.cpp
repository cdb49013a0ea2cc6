#include "ensemble/ensemble.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "model/gate.h"
#include "model/traverse.h"

namespace obart {
namespace {

// Of a leaf, in units of the standardised outcome; beyond it the record is damaged.
constexpr float kLargestOutput = 1e15F;

// Whether each categorical rule sends some of its node's levels to either side, and no others: the
// moves choose among these levels.
bool splits_levels(const CellGeometry& geometry, const RulePools& pools, const Tree& tree,
                   std::vector<std::uint32_t>& available) {
  bool ok = true;
  tree.for_each_decision([&](int i) {
    const Rule& rule = tree.node(i).rule;
    if (rule.kind != RuleKind::categorical) return;
    geometry.available_levels(pools, tree, i, rule.column, available.data());
    const std::uint32_t* right = pools.levels.at(rule.offset);
    bool any_left = false;
    bool any_right = false;
    for (std::uint32_t w = 0; w < rule.n_items; ++w) {
      any_left |= (available[w] & ~right[w]) != 0;
      any_right |= right[w] != 0;
      ok &= (right[w] & ~available[w]) == 0;
    }
    ok &= any_left && any_right;
  });
  return ok;
}

// Whether all columns of the continuous rules are below this number.
bool sees_columns(const RulePools& pools, const Tree& tree, std::int64_t p_cont) {
  bool ok = true;
  tree.for_each_decision([&](int i) {
    const Rule& rule = tree.node(i).rule;
    if (rule.kind != RuleKind::continuous) return;
    const PhiEntry* phi = pools.phi.at(rule.offset);
    for (std::uint32_t k = 0; k < rule.n_items; ++k) ok &= phi[k].column < p_cont;
  });
  return ok;
}

// Trees of one shape: numbers of rows from one to the other, below these nodes.
void copy_row_counts(const Tree& from, int i, Tree& to, int k) {
  to.node(k).n_rows = from.node(i).n_rows;
  if (from.node(i).is_leaf()) return;
  copy_row_counts(from, from.node(i).left, to, to.node(k).left);
  copy_row_counts(from, from.node(i).right, to, to.node(k).right);
}

void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(what);
}

}  // namespace

MoveCounts& MoveCounts::operator+=(const MoveCounts& other) {
  for (std::size_t k = 0; k < kNumMoves; ++k) {
    proposed[k] += other.proposed[k];
    accepted[k] += other.accepted[k];
    invalid[k] += other.invalid[k];
  }
  return *this;
}

Ensemble::Ensemble(const Data& table, const EnsembleSettings& given, Backend* where)
    : data(table.without_last(given.hidden_columns)),
      settings(given),
      backend(where),
      trees(static_cast<std::size_t>(settings.n_trees), Tree(data.n_rows_in_all())),
      leaf_sd(settings.leaf.leaf_sd),
      tree_scales(settings.leaf.tree_df > 0.0 ? trees.size() : 0, 1.0),
      direction_weights(first_direction_weights(settings.rules.directions)),
      changed(trees.size(), 1),
      target(n_padded()),
      residual(n_padded()),
      rule_counts(data.p_cont(), settings.rules),
      leaf_model(make_leaf_model(settings.leaf)),
      proposer(data, settings) {
  set_theta({first_theta(data.p_cont(), settings.rules)});
  std::visit(
      [&]<class Leaf>(const Leaf&) {
        for (Tree& tree : trees) tree.leaf_node(0).output = Leaf::kFirstOutput;
      },
      leaf_model);
  if (backend == nullptr) return;
  require(!settings.rules.soft || backend->soft_rows() != nullptr,
          "soft rules need all rows in this machine's memory, and run on the CPU only");
  reserve();
  const std::size_t n_words = trees.size() * static_cast<std::size_t>(data.n_groups());
  if (TreesBackend* elsewhere = backend->by_trees()) {
    code = AlignedBuffer<std::uint8_t>::untouched(trees.size() * n_padded());
    right = AlignedBuffer<std::uint64_t>::untouched(n_words);
    elsewhere->attach({residual.data(), target.data(), code.data(), settings.n_trees});
    return;
  }
  // All trees are a root, whose leaf has code 0. Large tables: everything is written once.
  code = AlignedBuffer<std::uint8_t>(trees.size() * n_padded());
  right = AlignedBuffer<std::uint64_t>(n_words);
  masks = CodeMasks(trees.size(), data.n_blocks());
  const std::int64_t n_padding = data.n_padded() - data.n_rows();
  for (std::size_t m = 0; m < trees.size(); ++m) {
    std::fill_n(codes(m) + data.n_rows(), n_padding, kPaddingCode);
    if (!masks.is_kept()) continue;
    std::fill_n(masks.of_tree(m), data.n_blocks(), code_bit(0));
    if (n_padding > 0) masks.of_tree(m)[data.n_blocks() - 1] |= code_bit(kPaddingCode);
  }
}

std::int64_t Ensemble::most_leaves() const {
  if (settings.min_samples_leaf == 0) return kMaxLeaves;
  return std::clamp<std::int64_t>(data.n_rows_in_all() / settings.min_samples_leaf, 1, kMaxLeaves);
}

// Room for whatever a sweep may need, so that it does not allocate. What has no small bound, the
// spans of the rules and the terms of a sweep's proposals, has room for what is usual and doubles
// when there is more than ever before. Memory that is never touched costs nothing.
void Ensemble::reserve() {
  const std::size_t n_trees = trees.size();
  for (Tree& tree : trees) tree.reserve(most_leaves());
  plan.tasks.reserve(n_trees);
  tree_terms.reserve(n_trees);
  terms.resize(n_trees * kTableSize);
  plan.terms.reserve(n_trees * std::min<std::size_t>(rule_counts.n_nonzero.size(), 64));
  if (settings.rules.soft) soft_plan.reserve(n_trees * 8, n_trees * 64);
  const std::uint32_t n_words = std::max(most_level_words(data.n_levels()), 1U);
  pools.phi.reserve(n_trees * 64, n_trees * 8);
  pools.levels.reserve(n_trees * 8 * std::bit_ceil(n_words), n_trees * 8);
}

void Ensemble::set_weights(const double* values) {
  weight = AlignedBuffer<float>(n_padded());
  for (std::int64_t i = 0; i < data.n_rows(); ++i)
    weight[static_cast<std::size_t>(i)] = static_cast<float>(values[i]);
}

void Ensemble::set_theta(const std::vector<double>& values) {
  const std::size_t size = theta_size(data.p_cont(), settings.rules);
  require(values.size() == 1 || values.size() == size,
          "theta must be one number, or one for each continuous column");
  theta = values;
  if (values.size() < size) theta.assign(size, values[0]);
}

void Ensemble::set_direction_weights(const std::vector<double>& values) {
  require(values.size() == direction_weights.size(),
          "direction_weights must be one for each component of a mixture");
  direction_weights = values;
}

void Ensemble::set_tree_scales(const std::vector<double>& values) {
  require(values.size() == tree_scales.size(),
          "tree_scales must be one for each tree, where trees have their own");
  tree_scales = values;
}

void Ensemble::add_route_task(std::size_t m, const Rule& rule, std::uint8_t left,
                              std::uint8_t right_code) {
  RouteTask task = plan.describe(data, pools, rule);
  task.tree = static_cast<std::uint32_t>(m);
  task.code = codes(m);
  task.left_code = left;
  task.right_code = right_code;
  task.right = rights(m);
  plan.tasks.push_back(task);
}

void Ensemble::refresh_residual(const std::atomic<bool>* stop) {
  if (settings.rules.soft) return refresh_soft(stop);
  std::visit(
      [&]<class Leaf>(const Leaf&) {
        tree_terms.clear();
        for (std::size_t m = 0; m < trees.size(); ++m) {
          const Tree& tree = trees[m];
          const bool wide = tree.n_leaves() > kNarrowCodes;
          float* table = terms.data() + m * kTableSize;
          for (int c = 0; c < tree.n_leaves(); ++c) table[c] = Leaf::term(tree.leaf_node(c).output);
          table[wide ? kPaddingCode : kNarrowCodes] = 0.0F;
          tree_terms.push_back({codes(m), table, wide});
        }
        backend->refresh({Leaf::kCombine, residual.data(), target.data(), tree_terms}, stop);
      },
      leaf_model);
}

void Ensemble::refresh_soft(const std::atomic<bool>* stop) {
  soft_plan.set(data, pools, trees);
  backend->soft_rows()->soft_refresh(
      {residual.data(), target.data(), soft_plan.trees(), soft_plan.n_columns()}, stop);
}

FitRows Ensemble::fit_rows() const { return {residual.data(), weights(), target.data()}; }

double Ensemble::weighted_squares() const { return backend->weighted_squares(fit_rows()); }

FitSums Ensemble::fit_sums() const { return backend->fit_sums(fit_rows()); }

void Ensemble::scale_terms(double factor) {
  const bool is_product = std::visit(
      []<class Leaf>(const Leaf&) { return Leaf::kCombine == Combine::multiply; }, leaf_model);
  if (is_product)
    raise_outputs(factor);
  else
    scale_outputs(factor);
}

// Logarithms of factors are what is scaled.
void Ensemble::raise_outputs(double power) {
  for (Tree& tree : trees)
    for (int c = 0; c < tree.n_leaves(); ++c) {
      float& output = tree.leaf_node(c).output;
      output = static_cast<float>(det_exp(power * det_log(static_cast<double>(output))));
    }
  for (std::int64_t i = 0; i < data.n_rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    const double f = det_log(static_cast<double>(residual[row]) / target[row]);
    residual[row] = static_cast<float>(target[row] * det_exp(power * f));
  }
}

void Ensemble::scale_outputs(double factor) {
  for (Tree& tree : trees)
    for (int c = 0; c < tree.n_leaves(); ++c) {
      float& output = tree.leaf_node(c).output;
      output = static_cast<float>(static_cast<double>(output) * factor);
    }
  backend->scale_fit(target.data(), factor, residual.data());
}

void Ensemble::shift_outputs(double shift) {
  const double part = shift / static_cast<double>(trees.size());
  for (Tree& tree : trees)
    for (int c = 0; c < tree.n_leaves(); ++c) {
      float& output = tree.leaf_node(c).output;
      output = static_cast<float>(static_cast<double>(output) + part);
    }
  for (std::int64_t i = 0; i < data.n_rows(); ++i) target[static_cast<std::size_t>(i)] += shift;
}

// ---- trees taken out and put back --------------------------------------------------------------

Draws Ensemble::to_draws() const {
  Draws out(settings.n_trees, data.p_cont_of_table(), data.n_levels());
  out.keep(data, pools, trees, {});
  return out;
}

void Ensemble::save_trees(TreesRecord& record) const {
  record.trees.clear(settings.n_trees, data.p_cont_of_table(), data.n_levels());
  record.trees.keep(data, pools, trees, {});
  record.leaf_code.clear();
  for (const Tree& tree : trees)
    tree.for_each_leaf([&](int leaf) { record.leaf_code.push_back(tree.node(leaf).code); });
}

void Ensemble::check_trees(const TreesRecord& record) const {
  const Draws& from = record.trees;
  require(from.n_draws() == 1, "must hold one ensemble");
  require(from.n_trees() == settings.n_trees, "has another number of trees");
  require(from.p_cont() == data.p_cont_of_table() && from.n_levels() == data.n_levels(),
          "has other columns");
  require(record.leaf_code.size() == from.arrays().outputs.size(),
          "has another number of leaf codes than of leaves");
  for (const float output : from.arrays().outputs)
    require(std::abs(output) <= kLargestOutput, "has an output of a leaf that is too large");
  std::size_t first = 0;
  std::vector<std::uint32_t> words(most_level_words(data.n_levels()));
  RulePools scratch;
  for (std::int64_t m = 0; m < settings.n_trees; ++m) {
    const Tree tree = from.tree(0, m, scratch);
    const auto n_leaves = static_cast<std::size_t>(tree.n_leaves());
    std::array<bool, kTableSize> seen{};
    for (std::size_t k = first; k < first + n_leaves; ++k) {
      require(record.leaf_code[k] < n_leaves && !seen[record.leaf_code[k]],
              "leaf codes must be a permutation");
      seen[record.leaf_code[k]] = true;
    }
    first += n_leaves;
    require(splits_levels(proposer.geometry(), scratch, tree, words),
            "a categorical rule does not split the levels of its node");
    require(sees_columns(scratch, tree, data.p_cont()),
            "a rule has a column that its ensemble does not see");
    tree.for_each_decision([&](int i) {
      const Rule& rule = tree.node(i).rule;
      require(rule.kind != RuleKind::continuous || proposer.rule_prior().is_member(scratch, rule),
              "a continuous rule has a direction that its prior does not have");
    });
  }
}

void Ensemble::restore_trees(const TreesRecord& record) {
  check_trees(record);
  TreesRecord now;
  save_trees(now);
  RulePools new_pools;
  std::vector<Tree> new_trees;
  std::vector<std::uint8_t> is_other(trees.size(), 0);
  std::vector<std::uint32_t> words(most_level_words(data.n_levels()));
  std::size_t first = 0;
  std::size_t first_now = 0;
  for (std::size_t m = 0; m < trees.size(); ++m) {
    const auto number = static_cast<std::int64_t>(m);
    Tree tree = record.trees.tree(0, number, new_pools);
    const std::span codes_wanted(record.leaf_code.data() + first,
                                 static_cast<std::size_t>(tree.n_leaves()));
    const std::span codes_now(now.leaf_code.data() + first_now,
                              static_cast<std::size_t>(trees[m].n_leaves()));
    tree.set_codes(codes_wanted);
    const bool is_same = Draws::same_structure(record.trees, 0, now.trees, 0, number) &&
                         std::ranges::equal(codes_wanted, codes_now);
    is_other[m] = is_same ? 0 : 1;
    if (is_same) copy_row_counts(trees[m], 0, tree, 0);
    first += codes_wanted.size();
    first_now += codes_now.size();
    tree.for_each_decision([&](int i) {
      Rule& rule = tree.node(i).rule;
      if (rule.kind == RuleKind::categorical)
        rule.log_subset_mass = log_proper_mass(
            proposer.geometry().available_levels(new_pools, tree, i, rule.column, words.data()));
    });
    new_trees.push_back(std::move(tree));
  }
  trees = std::move(new_trees);
  pools = std::move(new_pools);
  rule_counts = count_rules(data.p_cont(), settings.rules, pools, trees);
  reserve();
  rebuild_codes(is_other);
}

// Codes and row counts of the trees that are wanted. All rows of a tree start in its leftmost leaf;
// each rule, from the root down, sends those on its right to the leftmost leaf there.
void Ensemble::rebuild_codes(const std::vector<std::uint8_t>& wanted) {
  std::size_t n_terms = 0;
  std::vector<std::size_t> chosen;
  for (std::size_t m = 0; m < trees.size(); ++m) {
    if (wanted[m] == 0) continue;
    chosen.push_back(m);
    trees[m].for_each_decision([&](int i) { n_terms += trees[m].node(i).rule.n_items; });
  }
  plan.clear(n_terms);
  std::vector<std::uint8_t> right_code;
  std::vector<std::size_t> first_task;
  const auto first_code = [](const Tree& tree, int i) {
    while (!tree.node(i).is_leaf()) i = tree.node(i).left;
    return tree.node(i).code;
  };
  for (const std::size_t m : chosen) {
    const Tree& tree = trees[m];
    first_task.push_back(plan.tasks.size());
    tree.for_each_decision([&](int i) {
      const Node& x = tree.node(i);
      right_code.push_back(first_code(tree, x.right));
      add_route_task(m, x.rule, first_code(tree, x.left), first_code(tree, x.left));
    });
  }
  first_task.push_back(plan.tasks.size());
  std::vector<RebuildTask> tasks;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const std::size_t m = chosen[k];
    tasks.push_back({codes(m),
                     masks.of_tree(m),
                     first_code(trees[m], 0),
                     {plan.tasks.data() + first_task[k], first_task[k + 1] - first_task[k]},
                     right_code.data() + first_task[k]});
  }
  std::vector<RightCounts> counts(plan.tasks.size());
  backend->rebuild(tasks, counts.data());

  // A node's rows are those with its code when its rule comes.
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    Tree& tree = trees[chosen[k]];
    std::size_t t = first_task[k];
    tree.node(0).n_rows = data.n_rows_in_all();
    tree.for_each_decision([&](int i) {
      const std::int64_t n_right = counts[t++].of_left;
      tree.node(tree.node(i).right).n_rows = n_right;
      tree.node(tree.node(i).left).n_rows = tree.node(i).n_rows - n_right;
    });
  }
}

// ---- looking at it -----------------------------------------------------------------------------

std::vector<double> Ensemble::fit() const {
  std::vector<double> f(static_cast<std::size_t>(data.n_rows()), 0.0);
  if (settings.rules.soft) {
    for (const Tree& tree : trees)
      for (std::int64_t i = 0; i < data.n_rows(); ++i)
        f[static_cast<std::size_t>(i)] += shared_output(data, pools, tree, i);
    return f;
  }
  std::visit(
      [&]<class Leaf>(const Leaf&) {
        for (const Tree& tree : trees)
          for (std::int64_t i = 0; i < data.n_rows(); ++i)
            f[static_cast<std::size_t>(i)] += static_cast<double>(
                Leaf::term(tree.node(leaf_of_row(data, pools, tree, i)).output));
      },
      leaf_model);
  return f;
}

void Ensemble::check(std::vector<std::string>& problems) const {
  CellGeometry geometry(data.p_cont(), data.n_levels());
  for (std::size_t m = 0; m < trees.size(); ++m) {
    const Tree& tree = trees[m];
    const auto add = [&](const char* what) {
      problems.push_back("tree " + std::to_string(m) + ": " + what);
    };
    std::vector<std::int64_t> count(static_cast<std::size_t>(tree.n_leaves()), 0);
    for (std::int64_t i = 0; i < data.n_rows(); ++i) {
      const Node& leaf = tree.node(leaf_of_row(data, pools, tree, i));
      if (leaf.code != codes(m)[i]) {
        add("a row's code differs from a plain traversal");
        break;
      }
      ++count[leaf.code];
    }
    for (std::size_t i = static_cast<std::size_t>(data.n_rows()); i < n_padded(); ++i)
      if (codes(m)[i] != kPaddingCode) add("a padding row has a code");
    for (std::int64_t block = 0; masks.is_kept() && block < data.n_blocks(); ++block) {
      const std::int64_t row = block * kBlockRows;
      const CodeMask found =
          find_codes(codes(m) + row, std::min(kBlockRows, data.n_padded() - row));
      if ((found & ~masks.of_tree(m)[block]) != 0) add("a block has an unknown code");
    }
    for (int c = 0; c < tree.n_leaves(); ++c) {
      const Node& leaf = tree.leaf_node(c);
      if (!leaf.is_leaf() || leaf.code != c) add("leaf codes are not compact");
      if (!data.is_part() && leaf.n_rows != count[static_cast<std::size_t>(c)])
        add("a leaf's row count is stale");
      if (!tree.is_root_only() && leaf.n_rows < settings.min_samples_leaf)
        add("a leaf has too few rows");
    }
    tree.for_each_decision([&](int i) {
      const Rule& rule = tree.node(i).rule;
      if (rule.kind != RuleKind::continuous || rule.n_items == 0) return;
      const Range range = geometry.range(pools, tree, i, {pools.phi.at(rule.offset), rule.n_items});
      const auto cut = static_cast<double>(rule.cut);
      if (!range.valid || !(range.lo < cut && cut < range.hi)) add("a cut is out of range");
      if (!proposer.rule_prior().is_member(pools, rule)) add("a direction is not of its prior");
    });
  }
  if (!(count_rules(data.p_cont(), settings.rules, pools, trees) == rule_counts))
    problems.emplace_back("the counts of phi's entries are stale");
  const std::vector<double> f = fit();
  const auto residual_of = [&](std::size_t row, double sum) {
    return std::visit([&]<class Leaf>(const Leaf&) { return Leaf::residual(target[row], sum); },
                      leaf_model);
  };
  double worst = 0.0;
  for (std::size_t row = 0; row < f.size(); ++row) {
    const double wanted = residual_of(row, f[row]);
    const double error =
        std::abs(wanted - static_cast<double>(residual[row])) / std::max(1.0, std::abs(wanted));
    if (!(error <= worst)) worst = error;  // also where it is NaN
  }
  if (!(worst < 1e-4)) problems.push_back("residual off by " + std::to_string(worst));
}

}  // namespace obart
