#include "draws/draws.h"

#include <algorithm>
#include <stdexcept>

#include "draws/program.h"

namespace obart {

Draws::Draws(std::int64_t n_trees, std::int64_t p_cont, std::vector<std::uint32_t> n_levels) {
  clear(n_trees, p_cont, n_levels);
}

void Draws::clear(std::int64_t n_trees, std::int64_t p_cont,
                  const std::vector<std::uint32_t>& n_levels) {
  n_draws_ = 0;
  n_trees_ = n_trees;
  p_cont_ = p_cont;
  n_levels_ = n_levels;
  DrawArrays::for_each([](const char*, auto& array) { array.clear(); }, arrays_);
  arrays_.node_begin.push_back(0);
  begin_.assign(1, {});
  output_begin_.clear();
  cache_.program.reset();
}

std::int64_t Draws::nbytes() const {
  std::size_t total = 0;
  DrawArrays::for_each(
      [&](const char*, const auto& array) { total += array.size() * sizeof(array[0]); }, arrays_);
  return static_cast<std::int64_t>(total);
}

// ---- decoding ----------------------------------------------------------------------------------

StoredNode Draws::read(Begin& at) const {
  StoredNode node{};
  node.bits = arrays_.node_kind[at.node++];
  if (node.is_leaf()) return node;
  if (node.is_continuous()) {
    node.cut = arrays_.cut[at.continuous];
    node.width = is_soft() ? arrays_.width[at.continuous] : 0.0F;
    const std::uint32_t count = arrays_.phi_count[at.continuous++];
    node.phi_column = {arrays_.phi_column.data() + at.phi, count};
    node.phi_value = {arrays_.phi_value.data() + at.phi, count};
    at.phi += count;
  } else {
    node.column = arrays_.cat_column[at.categorical++];
    const std::uint32_t count = stored_words(n_levels_[node.column]);
    node.words = {arrays_.level_words.data() + at.words, count};
    at.words += count;
  }
  return node;
}

// Extends begin_ by the structure that ends at this node, from the arrays themselves.
void Draws::index_structure(std::uint64_t last_node) {
  Begin next = begin_.back();
  next.n_leaves = 0;
  while (next.node < last_node)
    if (read(next).is_leaf()) ++begin_.back().n_leaves;
  begin_.push_back(next);
}

Tree Draws::tree(std::int64_t draw, std::int64_t m, RulePools& pools) const {
  Begin at = begin(structure(draw, m));
  const float* output = outputs(draw, m).data();
  Tree tree;
  const auto build = [&](const auto& self, int i) -> void {
    const StoredNode node = read(at);
    if (node.is_leaf()) {
      tree.node(i).output = *output++;
      return;
    }
    Rule rule;
    if (node.is_continuous()) {
      rule.kind = RuleKind::continuous;
      rule.missing_right = node.missing_right();
      rule.component = node.component();
      rule.cut = node.cut;
      rule.width = node.width;
      rule.n_items = static_cast<std::uint32_t>(node.phi_column.size());
      rule.offset = pools.phi.allocate(rule.n_items);
      PhiEntry* phi = pools.phi.at(rule.offset);
      for (std::uint32_t k = 0; k < rule.n_items; ++k)
        phi[k] = {node.phi_column[k], node.phi_value[k]};
    } else {
      rule.kind = RuleKind::categorical;
      rule.column = node.column;
      rule.n_items = level_words(n_levels_[rule.column]);
      rule.offset = pools.levels.allocate(rule.n_items);
      std::uint32_t* words = pools.levels.at(rule.offset);
      std::fill_n(std::copy(node.words.begin(), node.words.end(), words),
                  rule.n_items - node.words.size(), 0U);
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

bool Draws::same_structure(const Draws& a, std::int64_t draw_a, const Draws& b, std::int64_t draw_b,
                           std::int64_t m) {
  const std::uint32_t s = a.structure(draw_a, m);
  const std::uint32_t t = b.structure(draw_b, m);
  Begin in_a = a.begin(s);
  Begin in_b = b.begin(t);
  const std::uint64_t n_nodes = a.begin(s + 1).node - in_a.node;
  if (n_nodes != b.begin(t + 1).node - in_b.node) return false;
  for (std::uint64_t i = 0; i < n_nodes; ++i) {
    const StoredNode x = a.read(in_a);
    const StoredNode y = b.read(in_b);
    if (x.bits != y.bits || x.cut != y.cut || x.width != y.width || x.column != y.column ||
        !std::ranges::equal(x.phi_column, y.phi_column) ||
        !std::ranges::equal(x.phi_value, y.phi_value) || !std::ranges::equal(x.words, y.words))
      return false;
  }
  return true;
}

std::shared_ptr<const Program> Draws::program() const {
  const std::lock_guard lock(cache_.mutex);
  if (cache_.program == nullptr) cache_.program = std::make_shared<const Program>(*this);
  return cache_.program;
}

// ---- encoding ----------------------------------------------------------------------------------

std::uint32_t Draws::store_structure(const Data& data, const RulePools& pools, const Tree& tree) {
  DrawArrays& a = arrays_;
  // Rows below each node, for the side with more rows.
  const auto rows_below = [&tree](const auto& self, int i) -> std::int64_t {
    const Node& x = tree.node(i);
    return x.is_leaf() ? x.n_rows : self(self, x.left) + self(self, x.right);
  };
  const auto store = [&](const auto& self, int i) -> void {
    const Node& x = tree.node(i);
    if (x.is_leaf()) {
      a.node_kind.push_back(StoredNode::kLeaf);
      return;
    }
    const Rule& rule = x.rule;
    const bool majority_right = rows_below(rows_below, x.right) > rows_below(rows_below, x.left);
    std::uint8_t bits = 0;
    if (majority_right) bits |= StoredNode::kMajorityRight;
    if (rule.kind == RuleKind::continuous) {
      const PhiEntry* phi = pools.phi.at(rule.offset);
      bool seen_missing = false;
      for (std::uint32_t k = 0; k < rule.n_items; ++k) {
        a.phi_column.push_back(phi[k].column);
        a.phi_value.push_back(phi[k].value);
        seen_missing |= data.has_missing(phi[k].column);
      }
      a.cut.push_back(rule.cut);
      if (rule.width > 0.0F) a.width.push_back(rule.width);
      a.phi_count.push_back(rule.n_items);
      // Where training had no missing value here, one at prediction goes where most rows went.
      if (seen_missing ? rule.missing_right : majority_right) bits |= StoredNode::kMissingRight;
      bits |= StoredNode::kContinuous;
      bits |= static_cast<std::uint8_t>(rule.component << StoredNode::kComponentShift);
    } else {
      const std::uint32_t* words = pools.levels.at(rule.offset);
      a.cat_column.push_back(rule.column);
      a.level_words.insert(a.level_words.end(), words,
                           words + stored_words(n_levels_[rule.column]));
      bits |= StoredNode::kCategorical;
    }
    a.node_kind.push_back(bits);
    self(self, x.left);
    self(self, x.right);
  };
  store(store, 0);
  a.node_begin.push_back(a.node_kind.size());
  index_structure(a.node_kind.size());
  return n_structures() - 1;
}

void Draws::keep(const Data& data, const RulePools& pools, const std::vector<Tree>& trees,
                 const std::vector<std::uint8_t>& changed) {
  DrawArrays& a = arrays_;
  cache_.program.reset();
  for (std::size_t m = 0; m < trees.size(); ++m) {
    const bool is_new = n_draws_ == 0 || changed[m] != 0;
    a.structure_of.push_back(is_new ? store_structure(data, pools, trees[m])
                                    : structure(n_draws_ - 1, static_cast<std::int64_t>(m)));
    output_begin_.push_back(a.outputs.size());
    trees[m].for_each_leaf([&](int leaf) { a.outputs.push_back(trees[m].node(leaf).output); });
  }
  ++n_draws_;
}

void Draws::append(const Draws& other) {
  if (other.n_trees_ != n_trees_ || other.p_cont_ != p_cont_ || other.n_levels_ != n_levels_)
    throw std::invalid_argument("draws: cannot append draws of another model");
  if (!arrays_.cut.empty() && !other.arrays_.cut.empty() && is_soft() != other.is_soft())
    throw std::invalid_argument("draws: cannot append soft rules to hard ones, or hard to soft");
  if (&other == this) return append(Draws(other));
  cache_.program.reset();
  const std::uint32_t first_structure = n_structures();
  const std::uint64_t first_node = arrays_.node_kind.size();
  const std::uint64_t first_output = arrays_.outputs.size();
  const std::size_t first_pair = arrays_.structure_of.size();
  arrays_.node_begin.pop_back();
  const std::size_t first_begin = arrays_.node_begin.size();
  DrawArrays::for_each([](const char*, auto& to,
                          const auto& from) { to.insert(to.end(), from.begin(), from.end()); },
                       arrays_, other.arrays_);
  for (std::size_t i = first_pair; i < arrays_.structure_of.size(); ++i)
    arrays_.structure_of[i] += first_structure;
  for (std::size_t s = first_begin; s < arrays_.node_begin.size(); ++s)
    arrays_.node_begin[s] += first_node;
  for (std::size_t s = first_begin + 1; s < arrays_.node_begin.size(); ++s)
    index_structure(arrays_.node_begin[s]);
  for (const std::uint64_t begin : other.output_begin_)
    output_begin_.push_back(first_output + begin);
  n_draws_ += other.n_draws_;
}

Draws Draws::take(std::span<const std::int64_t> index) const {
  Draws out(n_trees_, p_cont_, n_levels_);
  constexpr std::uint32_t unused = ~0U;
  std::vector<std::uint32_t> number(n_structures(), unused);
  for (const std::int64_t draw : index) {
    if (draw < 0 || draw >= n_draws_) throw std::invalid_argument("draws: there is no such draw");
    for (std::int64_t m = 0; m < n_trees_; ++m) number[structure(draw, m)] = 0;
  }
  // The structures that are used, in their order.
  DrawArrays& a = out.arrays_;
  std::uint32_t n_used = 0;
  for (std::uint32_t s = 0; s < n_structures(); ++s) {
    if (number[s] == unused) continue;
    number[s] = n_used++;
    const Begin& first = begin(s);
    const Begin& last = begin(s + 1);
    const auto copy = [](auto& to, const auto& from, std::uint64_t begin, std::uint64_t end) {
      to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
                from.begin() + static_cast<std::ptrdiff_t>(end));
    };
    copy(a.node_kind, arrays_.node_kind, first.node, last.node);
    copy(a.cut, arrays_.cut, first.continuous, last.continuous);
    if (is_soft()) copy(a.width, arrays_.width, first.continuous, last.continuous);
    copy(a.phi_count, arrays_.phi_count, first.continuous, last.continuous);
    copy(a.phi_column, arrays_.phi_column, first.phi, last.phi);
    copy(a.phi_value, arrays_.phi_value, first.phi, last.phi);
    copy(a.cat_column, arrays_.cat_column, first.categorical, last.categorical);
    copy(a.level_words, arrays_.level_words, first.words, last.words);
    a.node_begin.push_back(a.node_kind.size());
    out.index_structure(a.node_kind.size());
  }
  for (const std::int64_t draw : index)
    for (std::int64_t m = 0; m < n_trees_; ++m) {
      const std::span<const float> values = outputs(draw, m);
      a.structure_of.push_back(number[structure(draw, m)]);
      out.output_begin_.push_back(a.outputs.size());
      a.outputs.insert(a.outputs.end(), values.begin(), values.end());
    }
  out.n_draws_ = static_cast<std::int64_t>(index.size());
  return out;
}

}  // namespace obart
