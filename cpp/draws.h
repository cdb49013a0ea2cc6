// Kept ensembles as flat arrays. A tree that did not change between two kept sweeps shares its
// structure (topology and rules); only its outputs are stored again.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data.h"
#include "tree.h"

namespace obart {

// Bits of node_kind.
inline constexpr std::uint8_t kKindMask = 3;
inline constexpr std::uint8_t kLeafKind = 0;
inline constexpr std::uint8_t kContinuousKind = 1;
inline constexpr std::uint8_t kCategoricalKind = 2;
inline constexpr std::uint8_t kMissingRight = 4;
inline constexpr std::uint8_t kMajorityRight = 8;

struct DrawArrays {
  std::vector<std::uint32_t> structure_of;  // n_draws x n_trees
  std::vector<std::uint64_t> node_begin;    // of each structure, and the end of the last
  std::vector<std::uint8_t> node_kind;      // preorder
  std::vector<float> cut;                   // of continuous nodes, in order
  std::vector<std::uint32_t> phi_count;
  std::vector<std::uint32_t> phi_column;
  std::vector<float> phi_value;
  std::vector<std::uint32_t> cat_column;   // of categorical nodes, in order
  std::vector<std::uint32_t> level_words;  // ceil(n_levels / 32) words a rule
  std::vector<float> outputs;              // by draw, tree, leaf in preorder
};

// Names of the arrays and NumPy's names of their types.
inline constexpr std::pair<const char*, const char*> kDrawFormat[] = {
    {"structure_of", "uint32"}, {"node_begin", "uint64"}, {"node_kind", "uint8"},
    {"cut", "float32"},         {"phi_count", "uint32"},  {"phi_column", "uint32"},
    {"phi_value", "float32"},   {"cat_column", "uint32"}, {"level_words", "uint32"},
    {"outputs", "float32"}};

class Draws {
 public:
  Draws() = default;
  Draws(std::int64_t n_trees, std::int64_t p_cont, std::vector<std::uint32_t> n_levels);
  // Checks every length, index and number; throws std::invalid_argument that says what is wrong.
  static Draws from_arrays(DrawArrays arrays, std::int64_t n_draws, std::int64_t n_trees,
                           std::int64_t p_cont, std::vector<std::uint32_t> n_levels);

  // Keeps an ensemble. changed[m] = 0: tree m has the structure that it had in the last draw.
  void keep(const Data& data, const RulePools& pools, const std::vector<Tree>& trees,
            const std::vector<std::uint8_t>& changed);
  void append(const Draws& other);
  // Rebuilds tree m of a draw in the sampler's form, row counts 0.
  Tree tree(std::int64_t draw, std::int64_t m, RulePools& pools) const;

  std::int64_t n_draws() const { return n_draws_; }
  std::int64_t n_trees() const { return n_trees_; }
  std::int64_t p_cont() const { return p_cont_; }
  const std::vector<std::uint32_t>& n_levels() const { return n_levels_; }
  std::int64_t nbytes() const;
  const DrawArrays& arrays() const { return arrays_; }

  // Where a structure's parts begin in the arrays.
  struct Begin {
    std::uint64_t node, continuous, phi, categorical, words;
    std::uint32_t n_leaves;
  };
  const Begin& begin(std::uint32_t structure) const { return begin_[structure]; }
  std::uint32_t structure(std::int64_t draw, std::int64_t m) const {
    return arrays_.structure_of[static_cast<std::size_t>(draw * n_trees_ + m)];
  }
  // Outputs of tree m in a draw start here.
  std::uint64_t output_begin(std::int64_t draw, std::int64_t m) const {
    return output_begin_[static_cast<std::size_t>(draw * n_trees_ + m)];
  }
  static std::uint32_t stored_words(std::uint32_t n_levels) { return (n_levels + 31) / 32; }

 private:
  std::uint32_t store_structure(const Data& data, const RulePools& pools, const Tree& tree);
  void index_structure(std::uint64_t first_node, std::uint64_t last_node);

  std::int64_t n_draws_ = 0;
  std::int64_t n_trees_ = 0;
  std::int64_t p_cont_ = 0;
  std::vector<std::uint32_t> n_levels_;
  DrawArrays arrays_;
  std::vector<Begin> begin_;  // of each structure, and the end of the last
  std::vector<std::uint64_t> output_begin_;
};

}  // namespace obart
