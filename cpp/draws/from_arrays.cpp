// Draws from arrays that are not trusted: every length, index and number is checked.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "draws/draws.h"
#include "model/gate.h"

namespace obart {
namespace {

[[noreturn]] void broken(const std::string& what) { throw std::invalid_argument("draws: " + what); }
void require(bool ok, const char* what) {
  if (!ok) broken(what);
}

}  // namespace

// Nodes and rules.
void Draws::validate(const DrawArrays& a, std::int64_t p_cont,
                     const std::vector<std::uint32_t>& n_levels) {
  require(!a.node_begin.empty() && a.node_begin.front() == 0, "node_begin must start at 0");
  require(a.node_begin.back() == a.node_kind.size(), "node_begin must end at the number of nodes");
  require(a.node_begin.size() - 1 <= std::numeric_limits<std::uint32_t>::max(),
          "too many structures");
  require(a.cut.size() == a.phi_count.size(), "cut and phi_count must have the same length");
  require(a.width.empty() || a.width.size() == a.cut.size(),
          "width must be empty or as long as cut");
  for (const float width : a.width) require(is_valid_width(width), "a width is not valid");
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
      require(kind >> StoredNode::kComponentShift == 0 ||
                  (kind & StoredNode::kKindMask) == StoredNode::kContinuous,
              "unknown node_kind");
      switch (kind & StoredNode::kKindMask) {
        case StoredNode::kLeaf:
          --open;
          ++n_leaves;
          break;
        case StoredNode::kContinuous: {
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
        case StoredNode::kCategorical: {
          ++open;
          require(used.categorical < a.cat_column.size(), "cat_column is too short");
          const std::uint32_t column = a.cat_column[used.categorical++];
          require(column < n_levels.size(), "cat_column is out of range");
          const std::uint32_t levels = n_levels[column];
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
}

Draws Draws::from_arrays(DrawArrays arrays, std::int64_t n_draws, std::int64_t n_trees,
                         std::int64_t p_cont, std::vector<std::uint32_t> n_levels) {
  require(n_trees >= 1 && n_draws >= 0 && p_cont >= 0, "sizes must not be negative");
  const std::uint64_t n_pairs = arrays.structure_of.size();
  require(n_draws == 0 || static_cast<std::uint64_t>(n_trees) <= n_pairs,
          "structure_of is too short");
  require(static_cast<std::uint64_t>(n_draws) <= n_pairs &&
              n_pairs == static_cast<std::uint64_t>(n_draws) * static_cast<std::uint64_t>(n_trees),
          "structure_of must have n_draws x n_trees entries");
  validate(arrays, p_cont, n_levels);

  Draws out(n_trees, p_cont, std::move(n_levels));
  out.arrays_ = std::move(arrays);
  const DrawArrays& a = out.arrays_;
  for (std::size_t s = 1; s < a.node_begin.size(); ++s) out.index_structure(a.node_begin[s]);
  std::uint64_t n_outputs = 0;
  out.output_begin_.reserve(n_pairs);
  for (const std::uint32_t s : a.structure_of) {
    require(s < out.n_structures(), "structure_of is out of range");
    out.output_begin_.push_back(n_outputs);
    n_outputs += out.begin_[s].n_leaves;
  }
  require(n_outputs == a.outputs.size(), "outputs has the wrong length");
  for (const float value : a.outputs) require(std::isfinite(value), "an output is not finite");
  out.n_draws_ = n_draws;
  return out;
}

}  // namespace obart
