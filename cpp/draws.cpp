#include "draws.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace obart {
namespace {

[[noreturn]] void broken(const std::string& what) { throw std::invalid_argument("draws: " + what); }
void require(bool ok, const char* what) {
  if (!ok) broken(what);
}

template <class T>
void extend(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class T>
std::int64_t bytes(const std::vector<T>& v) {
  return static_cast<std::int64_t>(v.size() * sizeof(T));
}

}  // namespace

Draws::Draws(std::int64_t n_trees, std::int64_t p_cont, std::vector<std::uint32_t> n_levels)
    : n_trees_(n_trees), p_cont_(p_cont), n_levels_(std::move(n_levels)) {
  arrays_.node_begin.push_back(0);
  begin_.push_back({});
}

std::int64_t Draws::nbytes() const {
  const DrawArrays& a = arrays_;
  return bytes(a.structure_of) + bytes(a.node_begin) + bytes(a.node_kind) + bytes(a.cut) +
         bytes(a.phi_count) + bytes(a.phi_column) + bytes(a.phi_value) + bytes(a.cat_column) +
         bytes(a.level_words) + bytes(a.outputs);
}

// Extends begin_ by one structure, from the arrays themselves.
void Draws::index_structure(std::uint64_t first_node, std::uint64_t last_node) {
  Begin& here = begin_.back();
  here.n_leaves = 0;
  Begin next = here;
  next.node = last_node;
  for (std::uint64_t i = first_node; i < last_node; ++i) {
    switch (arrays_.node_kind[i] & kKindMask) {
      case kLeafKind:
        ++here.n_leaves;
        break;
      case kContinuousKind:
        next.phi += arrays_.phi_count[next.continuous++];
        break;
      default:
        next.words += stored_words(n_levels_[arrays_.cat_column[next.categorical++]]);
    }
  }
  begin_.push_back(next);
}

std::uint32_t Draws::store_structure(const Data& data, const RulePools& pools, const Tree& tree) {
  DrawArrays& a = arrays_;
  const std::uint64_t first = a.node_kind.size();
  // Rows below each node, for the side with more rows.
  const auto rows_below = [&tree](const auto& self, int i) -> std::int64_t {
    const Node& x = tree.node(i);
    return x.is_leaf() ? x.n_rows : self(self, x.left) + self(self, x.right);
  };
  const auto store = [&](const auto& self, int i) -> void {
    const Node& x = tree.node(i);
    if (x.is_leaf()) {
      a.node_kind.push_back(kLeafKind);
      return;
    }
    const Rule& rule = x.rule;
    const bool majority_right = rows_below(rows_below, x.right) > rows_below(rows_below, x.left);
    std::uint8_t kind = majority_right ? kMajorityRight : std::uint8_t{0};
    if (rule.kind == RuleKind::continuous) {
      const PhiEntry* phi = pools.phi.at(rule.offset);
      bool seen_missing = false;
      for (std::uint32_t k = 0; k < rule.n_items; ++k) {
        a.phi_column.push_back(phi[k].column);
        a.phi_value.push_back(phi[k].value);
        seen_missing |= data.has_missing(phi[k].column);
      }
      a.cut.push_back(rule.cut);
      a.phi_count.push_back(rule.n_items);
      // Where training had no missing value here, one at prediction goes where most rows went.
      if (seen_missing ? rule.missing_right : majority_right) kind |= kMissingRight;
      kind |= kContinuousKind;
    } else {
      const std::uint32_t* words = pools.levels.at(rule.offset);
      a.cat_column.push_back(rule.column);
      a.level_words.insert(a.level_words.end(), words,
                           words + stored_words(n_levels_[rule.column]));
      kind |= kCategoricalKind;
    }
    a.node_kind.push_back(kind);
    self(self, x.left);
    self(self, x.right);
  };
  store(store, 0);
  a.node_begin.push_back(a.node_kind.size());
  index_structure(first, a.node_kind.size());
  return static_cast<std::uint32_t>(begin_.size() - 2);
}

void Draws::keep(const Data& data, const RulePools& pools, const std::vector<Tree>& trees,
                 const std::vector<std::uint8_t>& changed) {
  DrawArrays& a = arrays_;
  for (std::size_t m = 0; m < trees.size(); ++m) {
    const bool is_new = n_draws_ == 0 || changed[m] != 0;
    a.structure_of.push_back(is_new ? store_structure(data, pools, trees[m])
                                    : structure(n_draws_ - 1, static_cast<std::int64_t>(m)));
    output_begin_.push_back(a.outputs.size());
    const auto store = [&](const auto& self, int i) -> void {
      const Node& x = trees[m].node(i);
      if (x.is_leaf()) {
        a.outputs.push_back(x.output);
        return;
      }
      self(self, x.left);
      self(self, x.right);
    };
    store(store, 0);
  }
  ++n_draws_;
}

void Draws::append(const Draws& other) {
  require(other.n_trees_ == n_trees_ && other.p_cont_ == p_cont_ && other.n_levels_ == n_levels_,
          "cannot append draws of another model");
  DrawArrays& a = arrays_;
  const DrawArrays& b = other.arrays_;
  const auto first_structure = static_cast<std::uint32_t>(begin_.size() - 1);
  const std::uint64_t first_node = a.node_kind.size();
  const std::uint64_t first_output = a.outputs.size();
  extend(a.node_kind, b.node_kind);
  extend(a.cut, b.cut);
  extend(a.phi_count, b.phi_count);
  extend(a.phi_column, b.phi_column);
  extend(a.phi_value, b.phi_value);
  extend(a.cat_column, b.cat_column);
  extend(a.level_words, b.level_words);
  extend(a.outputs, b.outputs);
  for (const std::uint32_t s : b.structure_of) a.structure_of.push_back(first_structure + s);
  for (std::size_t s = 1; s < b.node_begin.size(); ++s) {
    a.node_begin.push_back(first_node + b.node_begin[s]);
    index_structure(first_node + b.node_begin[s - 1], first_node + b.node_begin[s]);
  }
  for (const std::uint64_t begin : other.output_begin_)
    output_begin_.push_back(first_output + begin);
  n_draws_ += other.n_draws_;
}

Tree Draws::tree(std::int64_t draw, std::int64_t m, RulePools& pools) const {
  const DrawArrays& a = arrays_;
  Begin at = begin(structure(draw, m));
  std::uint64_t output = output_begin(draw, m);
  Tree tree;
  const auto build = [&](const auto& self, int i) -> void {
    const std::uint8_t kind = a.node_kind[at.node++];
    if ((kind & kKindMask) == kLeafKind) {
      tree.node(i).output = a.outputs[output++];
      return;
    }
    Rule rule;
    if ((kind & kKindMask) == kContinuousKind) {
      rule.kind = RuleKind::continuous;
      rule.missing_right = (kind & kMissingRight) != 0;
      rule.cut = a.cut[at.continuous];
      rule.n_items = a.phi_count[at.continuous++];
      rule.offset = pools.phi.allocate(rule.n_items);
      PhiEntry* phi = pools.phi.at(rule.offset);
      for (std::uint32_t k = 0; k < rule.n_items; ++k, ++at.phi)
        phi[k] = {a.phi_column[at.phi], a.phi_value[at.phi]};
    } else {
      rule.kind = RuleKind::categorical;
      rule.column = a.cat_column[at.categorical++];
      const std::uint32_t n_levels = n_levels_[rule.column];
      rule.n_items = level_words(n_levels);
      rule.offset = pools.levels.allocate(rule.n_items);
      std::uint32_t* words = pools.levels.at(rule.offset);
      for (std::uint32_t w = 0; w < rule.n_items; ++w)
        words[w] = w < stored_words(n_levels) ? a.level_words[at.words++] : 0U;
    }
    tree.grow(i, rule, 0, 0);
    const int left = tree.node(i).left;
    const int right = tree.node(i).right;
    self(self, left);
    self(self, right);
  };
  build(build, 0);
  return tree;
}

// ---- validation --------------------------------------------------------------------------------

Draws Draws::from_arrays(DrawArrays arrays, std::int64_t n_draws, std::int64_t n_trees,
                         std::int64_t p_cont, std::vector<std::uint32_t> n_levels) {
  require(n_trees >= 1 && n_draws >= 0 && p_cont >= 0, "sizes must not be negative");
  Draws out(n_trees, p_cont, std::move(n_levels));
  const DrawArrays& a = arrays;
  const std::uint64_t n_pairs = a.structure_of.size();
  require(n_draws == 0 || static_cast<std::uint64_t>(n_trees) <= n_pairs,
          "structure_of is too short");
  require(static_cast<std::uint64_t>(n_draws) <= n_pairs &&
              n_pairs == static_cast<std::uint64_t>(n_draws) * static_cast<std::uint64_t>(n_trees),
          "structure_of must have n_draws x n_trees entries");
  require(!a.node_begin.empty() && a.node_begin.front() == 0, "node_begin must start at 0");
  require(a.node_begin.back() == a.node_kind.size(), "node_begin must end at the number of nodes");
  require(a.node_begin.size() - 1 <= std::numeric_limits<std::uint32_t>::max(),
          "too many structures");
  require(a.cut.size() == a.phi_count.size(), "cut and phi_count must have the same length");
  require(a.phi_column.size() == a.phi_value.size(),
          "phi_column and phi_value must have the same length");

  Begin used{};
  for (std::size_t s = 0; s + 1 < a.node_begin.size(); ++s) {
    require(a.node_begin[s] < a.node_begin[s + 1] && a.node_begin[s + 1] <= a.node_kind.size(),
            "node_begin must increase");
    // Preorder: `open` subtrees are still to come; it reaches 0 exactly at the last node.
    std::int64_t open = 1;
    std::int64_t n_leaves = 0;
    for (std::uint64_t i = a.node_begin[s]; i < a.node_begin[s + 1]; ++i) {
      require(open > 0, "a structure has nodes after its last leaf");
      const std::uint8_t kind = a.node_kind[i];
      require((kind & ~(kKindMask | kMissingRight | kMajorityRight)) == 0, "unknown node_kind");
      switch (kind & kKindMask) {
        case kLeafKind:
          --open;
          ++n_leaves;
          break;
        case kContinuousKind: {
          ++open;
          require(used.continuous < a.cut.size(), "cut is too short");
          require(std::isfinite(a.cut[used.continuous]), "a cut is not finite");
          const std::uint64_t count = a.phi_count[used.continuous++];
          require(count <= static_cast<std::uint64_t>(p_cont) &&
                      count <= a.phi_column.size() - used.phi,
                  "phi_count is too large");
          for (std::uint64_t k = 0; k < count; ++k, ++used.phi) {
            require(a.phi_column[used.phi] < static_cast<std::uint64_t>(p_cont),
                    "phi_column is out of range");
            require(k == 0 || a.phi_column[used.phi] > a.phi_column[used.phi - 1],
                    "phi_column must increase within a rule");
            require(std::isfinite(a.phi_value[used.phi]), "a phi_value is not finite");
          }
          break;
        }
        case kCategoricalKind: {
          ++open;
          require(used.categorical < a.cat_column.size(), "cat_column is too short");
          const std::uint32_t column = a.cat_column[used.categorical++];
          require(column < out.n_levels_.size(), "cat_column is out of range");
          const std::uint32_t levels = out.n_levels_[column];
          const std::uint64_t words = stored_words(levels);
          require(words <= a.level_words.size() - used.words, "level_words is too short");
          require(levels % 32 == 0 || words == 0 ||
                      (a.level_words[used.words + words - 1] >> (levels % 32)) == 0,
                  "level_words has bits beyond the last level");
          used.words += words;
          break;
        }
        default:
          broken("unknown node_kind");
      }
    }
    require(open == 0, "a structure is not a whole tree");
    require(n_leaves <= kMaxLeaves, "a tree has too many leaves");
  }
  require(used.continuous == a.cut.size() && used.phi == a.phi_column.size() &&
              used.categorical == a.cat_column.size() && used.words == a.level_words.size(),
          "arrays hold more rules than the nodes use");

  out.arrays_ = std::move(arrays);
  for (std::size_t s = 0; s + 1 < out.arrays_.node_begin.size(); ++s)
    out.index_structure(out.arrays_.node_begin[s], out.arrays_.node_begin[s + 1]);
  std::uint64_t n_outputs = 0;
  out.output_begin_.reserve(n_pairs);
  for (const std::uint32_t s : out.arrays_.structure_of) {
    require(s + std::uint64_t{1} < out.begin_.size(), "structure_of is out of range");
    out.output_begin_.push_back(n_outputs);
    n_outputs += out.begin_[s].n_leaves;
  }
  require(n_outputs == out.arrays_.outputs.size(), "outputs has the wrong length");
  for (const float value : out.arrays_.outputs)
    require(std::isfinite(value), "an output is not finite");
  out.n_draws_ = n_draws;
  return out;
}

}  // namespace obart
