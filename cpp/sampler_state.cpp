// The chain's state taken out, put back, and checked.
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "sampler.h"
#include "traverse.h"

namespace obart {
namespace {

// Counters stay exact in any language below this, and cannot overflow when the chain goes on.
constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;

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

// Whether tree m of the last draw of `kept` has the structure of that tree in an ensemble.
bool same_structure(const Draws& kept, const Draws& ensemble, std::int64_t m) {
  const std::uint32_t s = kept.structure(kept.n_draws() - 1, m);
  const std::uint32_t t = ensemble.structure(0, m);
  const auto same = [&](auto array, auto part) {
    const auto& a = kept.arrays().*array;
    const auto& b = ensemble.arrays().*array;
    const auto at = [&](const auto& v, std::uint64_t i) {
      return v.begin() + static_cast<std::ptrdiff_t>(i);
    };
    return std::equal(at(a, kept.begin(s).*part), at(a, kept.begin(s + 1).*part),
                      at(b, ensemble.begin(t).*part), at(b, ensemble.begin(t + 1).*part));
  };
  using A = DrawArrays;
  using B = Draws::Begin;
  return same(&A::node_kind, &B::node) && same(&A::cut, &B::continuous) &&
         same(&A::phi_count, &B::continuous) && same(&A::phi_column, &B::phi) &&
         same(&A::phi_value, &B::phi) && same(&A::cat_column, &B::categorical) &&
         same(&A::level_words, &B::words);
}

// A tree that is not marked as changed is kept with the structure of the last draw.
bool follows(const Draws& kept, const Draws& ensemble, const std::vector<std::uint8_t>& changed) {
  if (kept.n_draws() == 0) return true;
  for (std::size_t m = 0; m < changed.size(); ++m)
    if (changed[m] == 0 && !same_structure(kept, ensemble, static_cast<std::int64_t>(m)))
      return false;
  return true;
}

}  // namespace

// ---- ensembles and whole states ----------------------------------------------------------------

void Sampler::set_ensemble(const Draws& draws, std::int64_t index) {
  if (draws.n_trees() != settings_.n_trees || draws.p_cont() != data_->p_cont() ||
      draws.n_levels() != data_->n_levels() || index < 0 || index >= draws.n_draws())
    throw std::invalid_argument("set_ensemble: the draw does not belong to this model");
  std::uint32_t n_words = 0;
  for (const std::uint32_t n : data_->n_levels()) n_words = std::max(n_words, level_words(n));
  std::vector<std::uint32_t> words(n_words);
  RulePools pools;
  std::vector<Tree> trees;
  for (std::int64_t m = 0; m < settings_.n_trees; ++m) {
    trees.push_back(draws.tree(index, m, pools));
    if (!splits_levels(moves_.geometry(), pools, trees.back(), words))
      throw std::invalid_argument(
          "ensemble: a categorical rule does not split the levels of its node");
  }
  trees_ = std::move(trees);
  pools_ = std::move(pools);
  n_continuous_ = n_axis_ = 0;
  std::fill(n_nonzero_.begin(), n_nonzero_.end(), 0);
  for (Tree& tree : trees_)
    tree.for_each_decision([&](int i) {
      Rule& rule = tree.node(i).rule;
      count_rule(rule, 1);
      if (rule.kind == RuleKind::categorical)
        rule.log_subset_mass = log_proper_mass(
            moves_.geometry().available_levels(pools_, tree, i, rule.column, words.data()));
    });
  changed_.assign(trees_.size(), 1);
  reserve();
  rebuild_codes();
  refresh_residual();
}

Draws Sampler::ensemble() const {
  Draws out(settings_.n_trees, data_->p_cont(), data_->n_levels());
  out.keep(*data_, pools_, trees_, std::vector<std::uint8_t>(trees_.size(), 1));
  return out;
}

SamplerState Sampler::state() const {
  SamplerState state;
  state.ensemble = ensemble();
  for (const Tree& tree : trees_)
    tree.for_each_leaf([&](int leaf) { state.leaf_code.push_back(tree.node(leaf).code); });
  state.residual.assign(residual_.data(), residual_.data() + data_->n_rows());
  state.target.assign(likelihood_.target(), likelihood_.target() + data_->n_rows());
  state.changed = changed_;
  state.rng = rng_.state();
  state.n_sweeps = n_sweeps_;
  state.sigma = sigma_;
  state.theta = theta_;
  state.leaf_sd = leaf_sd_;
  state.proposed = total_proposed_;
  state.accepted = total_accepted_;
  state.invalid = total_invalid_;
  return state;
}

// Whatever is wrong is found before anything is changed.
void Sampler::restore(const SamplerState& state) {
  const auto n = static_cast<std::size_t>(data_->n_rows());
  const auto require = [](bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(std::string("sampler state: ") + what);
  };
  require(state.residual.size() == n && state.target.size() == n, "has another number of rows");
  require(state.changed.size() == trees_.size(), "has another number of trees");
  require(state.ensemble.n_draws() == 1, "must hold one ensemble");
  require(state.ensemble.n_trees() == settings_.n_trees, "has another number of trees");
  require(state.leaf_code.size() == state.ensemble.arrays().outputs.size(),
          "has another number of leaf codes than of leaves");
  require(state.n_sweeps >= 0 && state.n_sweeps <= kMaxCount, "n_sweeps is out of range");
  for (const auto* counts : {&state.proposed, &state.accepted, &state.invalid})
    for (const std::int64_t count : *counts)
      require(count >= 0 && count <= kMaxCount, "a count of moves is out of range");
  require(std::any_of(state.rng.begin(), state.rng.end(), [](auto word) { return word != 0; }),
          "the random engine stands still");
  require(state.sigma > 0.0 && std::isfinite(state.sigma), "sigma must be positive");
  require(state.leaf_sd > 0.0 && std::isfinite(state.leaf_sd), "leaf_sd must be positive");
  require(state.theta.size() == theta_.size(), "has another number of theta");
  for (const double theta : state.theta)
    require(theta >= 0.0 && theta <= 1.0, "theta must be in [0, 1]");
  for (std::size_t i = 0; i < n; ++i)
    require(std::isfinite(state.residual[i]) && std::isfinite(state.target[i]),
            "residual and target must be finite");
  std::size_t first = 0;
  for (std::int64_t m = 0; m < settings_.n_trees; ++m) {
    const std::size_t n_leaves = state.ensemble.begin(state.ensemble.structure(0, m)).n_leaves;
    std::array<bool, kTableSize> seen{};
    for (std::size_t k = first; k < first + n_leaves; ++k) {
      require(state.leaf_code[k] < n_leaves && !seen[state.leaf_code[k]],
              "leaf codes must be a permutation");
      seen[state.leaf_code[k]] = true;
    }
    first += n_leaves;
  }
  for (const std::uint8_t flag : state.changed)
    require(flag <= 1, "changed must be 0 or 1 for each tree");
  require(follows(draws_, state.ensemble, state.changed),
          "a tree that is not marked as changed differs from the last draw");

  set_ensemble(state.ensemble, 0);  // checks the rules first
  first = 0;
  std::vector<std::uint8_t> renamed(trees_.size(), 0);
  for (std::size_t m = 0; m < trees_.size(); ++m) {
    Tree& tree = trees_[m];
    const std::uint8_t* codes = state.leaf_code.data() + first;
    tree.for_each_leaf([&](int leaf) {
      if (tree.node(leaf).code != state.leaf_code[first++]) renamed[m] = 1;
    });
    tree.set_codes({codes, static_cast<std::size_t>(tree.n_leaves())});
  }
  route_rows(renamed);
  for (std::size_t i = 0; i < n; ++i) residual_[i] = state.residual[i];
  likelihood_.set_target(state.target.data());
  changed_ = state.changed;
  rng_.set_state(state.rng);
  n_sweeps_ = state.n_sweeps;
  sigma_ = state.sigma;
  theta_ = state.theta;
  leaf_sd_ = state.leaf_sd;
  total_proposed_ = state.proposed;
  total_accepted_ = state.accepted;
  total_invalid_ = state.invalid;
}

// One value stands for all columns where each has its own.
void Sampler::set_theta(const std::vector<double>& theta) {
  const bool by_column = settings_.theta_by_column && learns_theta(*data_, settings_);
  const std::size_t size = by_column ? n_nonzero_.size() : 1;
  if (theta.size() != 1 && theta.size() != size)
    throw std::invalid_argument("theta must be one number, or one for each continuous column");
  theta_ = theta;
  if (theta.size() < size) theta_.assign(size, theta[0]);
}

void Sampler::set_draws(Draws draws) {
  if (draws.n_trees() != settings_.n_trees || draws.p_cont() != data_->p_cont() ||
      draws.n_levels() != data_->n_levels())
    throw std::invalid_argument("set_draws: the draws do not belong to this model");
  if (!follows(draws, ensemble(), changed_))
    throw std::invalid_argument(
        "set_draws: a tree that is not marked as changed differs from the last draw");
  draws_ = std::move(draws);
}

// ---- the start of a sweep that may be stopped in the middle ------------------------------------

// Copies into vectors that have the room already, but the first time.
void Sampler::save_start() {
  if (start_.trees.empty()) {
    start_.trees.resize(trees_.size());
    for (Tree& tree : start_.trees) tree.reserve(most_leaves());
  }
  start_.trees = trees_;
  start_.changed = changed_;
  start_.residual.assign(residual_.data(), residual_.data() + n_padded_);
  if (settings_.likelihood == LikelihoodKind::probit)
    start_.target.assign(likelihood_.target(), likelihood_.target() + data_->n_rows());
  start_.theta = theta_;
  start_.n_nonzero = n_nonzero_;
  start_.n_continuous = n_continuous_;
  start_.n_axis = n_axis_;
  start_.n_sweeps = n_sweeps_;
  start_.rng = rng_.state();
  start_.sigma = sigma_;
  start_.leaf_sd = leaf_sd_;
  start_.info = info_;
  start_.proposed = total_proposed_;
  start_.accepted = total_accepted_;
  start_.invalid = total_invalid_;
  std::fill(moved_.begin(), moved_.end(), std::uint8_t{0});
}

// The rules of the saved trees are where they were: spans are handed out before the first tree is
// updated, and those that were given back since have not been written to. They move to new pools,
// because the old ones think otherwise.
void Sampler::return_to_start() {
  RulePools pools;
  const auto move = [](auto& to, const auto& from, Rule& rule) {
    const auto* const items = from.at(rule.offset);
    rule.offset = to.allocate(rule.n_items);
    std::copy_n(items, rule.n_items, to.at(rule.offset));
  };
  trees_ = start_.trees;
  for (Tree& tree : trees_)
    tree.for_each_decision([&](int i) {
      Rule& rule = tree.node(i).rule;
      if (rule.kind == RuleKind::continuous)
        move(pools.phi, pools_.phi, rule);
      else
        move(pools.levels, pools_.levels, rule);
    });
  pools_ = std::move(pools);
  reserve();
  route_rows(moved_);
  changed_ = start_.changed;
  std::copy(start_.residual.begin(), start_.residual.end(), residual_.data());
  if (settings_.likelihood == LikelihoodKind::probit) likelihood_.set_target(start_.target.data());
  theta_ = start_.theta;
  n_nonzero_ = start_.n_nonzero;
  n_continuous_ = start_.n_continuous;
  n_axis_ = start_.n_axis;
  n_sweeps_ = start_.n_sweeps;
  rng_.set_state(start_.rng);
  sigma_ = start_.sigma;
  leaf_sd_ = start_.leaf_sd;
  info_ = start_.info;
  total_proposed_ = start_.proposed;
  total_accepted_ = start_.accepted;
  total_invalid_ = start_.invalid;
}

// ---- looking at the state ----------------------------------------------------------------------

std::vector<double> Sampler::fit() const {
  std::vector<double> f(static_cast<std::size_t>(data_->n_rows()), 0.0);
  for (const Tree& tree : trees_)
    for (std::int64_t i = 0; i < data_->n_rows(); ++i)
      f[static_cast<std::size_t>(i)] +=
          static_cast<double>(tree.node(leaf_of_row(*data_, pools_, tree, i)).output);
  return f;
}

std::uint64_t Sampler::partition_key() const {
  std::uint64_t key = 0;
  std::array<int, kTableSize> label;
  label.fill(-1);
  int n_labels = 0;
  for (std::int64_t i = 0; i < data_->n_rows(); ++i) {
    const std::uint8_t code = codes(0)[i];
    if (label[code] < 0) label[code] = n_labels++;
    key |= static_cast<std::uint64_t>(label[code]) << (4 * i);
  }
  return key;
}

std::vector<std::string> Sampler::check() const {
  std::vector<std::string> problems;
  const auto add = [&](std::size_t m, const char* what) {
    problems.push_back("tree " + std::to_string(m) + ": " + what);
  };
  std::vector<std::int64_t> n_nonzero(n_nonzero_.size(), 0);
  std::int64_t n_continuous = 0;
  std::int64_t n_axis = 0;
  CellGeometry geometry(data_->p_cont(), data_->n_levels());
  for (std::size_t m = 0; m < trees_.size(); ++m) {
    const Tree& tree = trees_[m];
    std::vector<std::int64_t> count(static_cast<std::size_t>(tree.n_leaves()), 0);
    for (std::int64_t i = 0; i < data_->n_rows(); ++i) {
      const Node& leaf = tree.node(leaf_of_row(*data_, pools_, tree, i));
      if (leaf.code != codes(m)[i]) {
        add(m, "a row's code differs from a plain traversal");
        break;
      }
      ++count[leaf.code];
    }
    for (std::size_t i = static_cast<std::size_t>(data_->n_rows()); i < n_padded_; ++i)
      if (codes(m)[i] != kPaddingCode) add(m, "a padding row has a code");
    for (std::int64_t block = 0; presence_.is_kept() && block < data_->n_blocks(); ++block) {
      const std::int64_t row = block * kBlockRows;
      const CodeMask found =
          find_codes(codes(m) + row, std::min(kBlockRows, data_->n_padded() - row));
      if ((found & ~presence_.of_tree(m)[block]) != 0) add(m, "a block has an unknown code");
    }
    for (int c = 0; c < tree.n_leaves(); ++c) {
      const Node& leaf = tree.leaf_node(c);
      if (!leaf.is_leaf() || leaf.code != c) add(m, "leaf codes are not compact");
      if (leaf.n_rows != count[static_cast<std::size_t>(c)]) add(m, "a leaf's row count is stale");
      if (!tree.is_root_only() && leaf.n_rows < settings_.min_samples_leaf)
        add(m, "a leaf has too few rows");
    }
    const auto visit = [&](const auto& self, int i) -> void {
      const Node& x = tree.node(i);
      if (x.is_leaf()) return;
      if (x.rule.kind == RuleKind::continuous) {
        for (std::uint32_t k = 0; k < x.rule.n_items; ++k)
          ++n_nonzero[pools_.phi.at(x.rule.offset)[k].column];
        ++n_continuous;
        n_axis += x.rule.n_items == 1 ? 1 : 0;
        if (x.rule.n_items > 0) {
          const Range range =
              geometry.range(pools_, tree, i, {pools_.phi.at(x.rule.offset), x.rule.n_items});
          const auto cut = static_cast<double>(x.rule.cut);
          if (!range.valid || !(range.lo < cut && cut < range.hi)) add(m, "a cut is out of range");
        }
      }
      self(self, x.left);
      self(self, x.right);
    };
    visit(visit, 0);
  }
  if (n_nonzero != n_nonzero_ || n_continuous != n_continuous_ || n_axis != n_axis_)
    problems.emplace_back("the counts of phi's entries are stale");
  const std::vector<double> f = fit();
  double worst = 0.0;
  for (std::int64_t i = 0; i < data_->n_rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    worst = std::max(
        worst, std::abs(likelihood_.target()[row] - f[row] - static_cast<double>(residual_[row])));
  }
  if (!(worst < 1e-4)) problems.push_back("residual off by " + std::to_string(worst));
  return problems;
}

}  // namespace obart
