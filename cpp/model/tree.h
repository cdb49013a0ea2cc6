// A tree as a small node arena. Leaves carry compact codes 0..n_leaves-1: the codes of the rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prune_codes.h"
#include "model/rule.h"

namespace obart {

inline constexpr int kNone = -1;
inline constexpr int kMaxLeaves = 250;  // codes are one byte; 255 marks padding rows

struct Node {
  int parent = kNone;
  int left = kNone;  // kNone for leaves
  int right = kNone;
  int depth = 0;
  Rule rule;              // decision nodes
  std::uint8_t code = 0;  // leaves
  float output = 0.0F;    // leaves
  std::int64_t n_rows = 0;
  bool is_leaf() const { return left == kNone; }
};

class Tree {
 public:
  explicit Tree(std::int64_t n_rows = 0) {
    nodes_.emplace_back();
    nodes_[0].n_rows = n_rows;
    leaf_of_code_.push_back(0);
  }

  // Room for so many leaves, so that a sweep need not allocate. Copies do not keep it.
  void reserve(std::int64_t n_leaves) {
    nodes_.reserve(static_cast<std::size_t>(2 * n_leaves - 1));
    free_.reserve(static_cast<std::size_t>(2 * n_leaves - 1));
    leaf_of_code_.reserve(static_cast<std::size_t>(n_leaves));
  }

  int n_leaves() const { return static_cast<int>(leaf_of_code_.size()); }
  bool is_root_only() const { return n_leaves() == 1; }
  Node& node(int i) { return nodes_[static_cast<std::size_t>(i)]; }
  const Node& node(int i) const { return nodes_[static_cast<std::size_t>(i)]; }
  int leaf(int code) const { return leaf_of_code_[static_cast<std::size_t>(code)]; }
  Node& leaf_node(int code) { return node(leaf(code)); }
  const Node& leaf_node(int code) const { return node(leaf(code)); }

  // Fetches the nodes into the cache, if they are few: where there are many trees, they are not
  // there any more when their turn comes.
  void prefetch() const {
    constexpr std::size_t most = 8;
    __builtin_prefetch(leaf_of_code_.data());
    for (std::size_t i = 0; i < std::min(nodes_.size(), most); ++i) __builtin_prefetch(&nodes_[i]);
  }

  // A nog: a decision node whose children are both leaves.
  bool is_nog(int i) const {
    const Node& x = node(i);
    return !x.is_leaf() && node(x.left).is_leaf() && node(x.right).is_leaf();
  }
  int n_nogs() const {
    int count = 0;
    for (const int leaf : leaf_of_code_) count += is_left_of_nog(leaf) ? 1 : 0;
    return count;
  }
  int nth_nog(int k) const {
    for (const int leaf : leaf_of_code_)
      if (is_left_of_nog(leaf) && k-- == 0) return node(leaf).parent;
    return kNone;
  }
  int depth() const {
    int deepest = 0;
    for (const int leaf : leaf_of_code_) deepest = std::max(deepest, node(leaf).depth);
    return deepest;
  }

  template <class Visit>
  void for_each_leaf(const Visit& visit, int i = 0) const {  // in preorder
    if (node(i).is_leaf()) return visit(i);
    for_each_leaf(visit, node(i).left);
    for_each_leaf(visit, node(i).right);
  }
  template <class Visit>
  void for_each_decision(const Visit& visit, int i = 0) const {  // in preorder
    if (node(i).is_leaf()) return;
    visit(i);
    for_each_decision(visit, node(i).left);
    for_each_decision(visit, node(i).right);
  }
  // Gives the leaves, in preorder, these codes: a permutation of 0..n_leaves-1.
  void set_codes(std::span<const std::uint8_t> codes) {
    std::size_t k = 0;
    for_each_leaf([&](int leaf) {
      node(leaf).code = codes[k];
      leaf_of_code_[codes[k++]] = leaf;
    });
  }

  // Splits leaf i: the left child keeps its code, the right child gets the next one.
  void grow(int i, const Rule& rule, std::int64_t n_left, std::int64_t n_right) {
    const int left = new_slot();
    const int right = new_slot();
    Node& x = node(i);
    x.rule = rule;
    x.left = left;
    x.right = right;
    const auto next_code = static_cast<std::uint8_t>(n_leaves());
    init_leaf(left, i, x.depth + 1, x.code, n_left);
    init_leaf(right, i, x.depth + 1, next_code, n_right);
    leaf_of_code_[x.code] = left;
    leaf_of_code_.push_back(right);
  }

  // Where each code goes when nog i is pruned.
  PruneCodes prune_codes(int i) const {
    const Node& x = node(i);
    return {node(x.left).code, node(x.right).code, static_cast<std::uint8_t>(n_leaves() - 1)};
  }
  void prune(int i) {
    const PruneCodes codes = prune_codes(i);
    Node& x = node(i);
    const int left = x.left;
    const int right = x.right;
    x.n_rows = node(left).n_rows + node(right).n_rows;
    x.left = x.right = kNone;
    leaf_of_code_[codes.left] = i;
    x.code = codes.left;
    const int moved = leaf_of_code_[codes.last];
    leaf_of_code_[codes.right] = moved;
    leaf_of_code_.pop_back();
    for (int code = 0; code < n_leaves(); ++code)
      node(leaf(code)).code = static_cast<std::uint8_t>(code);
    free_.push_back(left);
    free_.push_back(right);
  }

 private:
  bool is_left_of_nog(int leaf) const {
    const int parent = node(leaf).parent;
    return parent != kNone && node(parent).left == leaf && node(node(parent).right).is_leaf();
  }
  int new_slot() {
    if (!free_.empty()) {
      const int slot = free_.back();
      free_.pop_back();
      return slot;
    }
    nodes_.emplace_back();
    return static_cast<int>(nodes_.size()) - 1;
  }
  void init_leaf(int i, int parent, int depth, std::uint8_t code, std::int64_t n_rows) {
    Node& x = node(i);
    x = Node{};
    x.parent = parent;
    x.depth = depth;
    x.code = code;
    x.n_rows = n_rows;
  }

  std::vector<Node> nodes_;
  std::vector<int> free_;
  std::vector<int> leaf_of_code_;
};

}  // namespace obart
