// Kept ensembles as flat arrays. A tree that did not change between two kept sweeps shares its
// structure (topology and rules); only its outputs are stored again. This folder alone knows the
// format.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "model/data.h"
#include "model/tree.h"

namespace obart {

struct DrawArrays {
  std::vector<std::uint32_t> structure_of;  // n_draws x n_trees
  std::vector<std::uint64_t> node_begin;    // of each structure, and the end of the last
  std::vector<std::uint8_t> node_kind;      // preorder; see StoredNode::Bits
  std::vector<float> cut;                   // of continuous nodes, in order
  std::vector<float> width;                 // of the same if they are soft; none if they are hard
  std::vector<std::uint32_t> phi_count;
  std::vector<std::uint32_t> phi_column;
  std::vector<float> phi_value;
  std::vector<std::uint32_t> cat_column;   // of categorical nodes, in order
  std::vector<std::uint32_t> level_words;  // stored_words(n_levels) for each of them
  std::vector<float> outputs;              // by draw, tree, leaf in preorder

  // Calls visit(name, array) for each array, also for those of several objects side by side.
  template <class Visit, class... Arrays>
  static void for_each(const Visit& visit, Arrays&... a) {
    visit("structure_of", a.structure_of...);
    visit("node_begin", a.node_begin...);
    visit("node_kind", a.node_kind...);
    visit("cut", a.cut...);
    visit("width", a.width...);
    visit("phi_count", a.phi_count...);
    visit("phi_column", a.phi_column...);
    visit("phi_value", a.phi_value...);
    visit("cat_column", a.cat_column...);
    visit("level_words", a.level_words...);
    visit("outputs", a.outputs...);
  }
};

// A node as it is stored.
struct StoredNode {
  enum Bits : std::uint8_t {
    kLeaf = 0,
    kContinuous = 1,
    kCategorical = 2,
    kKindMask = 3,
    kMissingRight = 4,
    kMajorityRight = 8,
  };
  static constexpr int kComponentShift = 4;  // of a continuous rule, the four bits above
  std::uint8_t bits;
  float cut;    // continuous
  float width;  // 0: a hard rule
  std::span<const std::uint32_t> phi_column;
  std::span<const float> phi_value;
  std::uint32_t column;  // categorical
  std::span<const std::uint32_t> words;

  bool is_leaf() const { return (bits & kKindMask) == kLeaf; }
  bool is_continuous() const { return (bits & kKindMask) == kContinuous; }
  bool missing_right() const { return (bits & kMissingRight) != 0; }
  std::uint8_t component() const { return static_cast<std::uint8_t>(bits >> kComponentShift); }
  bool majority_right() const { return (bits & kMajorityRight) != 0; }
};

class Program;

class Draws {
 public:
  Draws() { clear(0, 0, {}); }
  Draws(std::int64_t n_trees, std::int64_t p_cont, std::vector<std::uint32_t> n_levels);
  // Checks every length, index and number; throws std::invalid_argument that says what is wrong.
  static Draws from_arrays(DrawArrays arrays, std::int64_t n_draws, std::int64_t n_trees,
                           std::int64_t p_cont, std::vector<std::uint32_t> n_levels);

  // As after construction, but the memory is kept.
  void clear(std::int64_t n_trees, std::int64_t p_cont, const std::vector<std::uint32_t>& n_levels);
  // Keeps an ensemble. changed[m] = 0: tree m has the structure that it had in the last draw. The
  // first draw does not look at it.
  void keep(const Data& data, const RulePools& pools, const std::vector<Tree>& trees,
            const std::vector<std::uint8_t>& changed);
  void append(const Draws& other);
  // Some draws, in this order, with all structures that they use.
  Draws take(std::span<const std::int64_t> index) const;
  Draws take(std::initializer_list<std::int64_t> index) const {
    return take(std::span(index.begin(), index.size()));
  }
  // Rebuilds tree m of a draw in the sampler's form, row counts 0.
  Tree tree(std::int64_t draw, std::int64_t m, RulePools& pools) const;
  // Whether tree m of one draw has the same topology and rules in another.
  static bool same_structure(const Draws& a, std::int64_t draw_a, const Draws& b,
                             std::int64_t draw_b, std::int64_t m);

  std::int64_t n_draws() const { return n_draws_; }
  std::int64_t n_trees() const { return n_trees_; }
  std::int64_t p_cont() const { return p_cont_; }
  const std::vector<std::uint32_t>& n_levels() const { return n_levels_; }
  // Whether rows are shared out between leaves. Draws without a continuous rule are not.
  bool is_soft() const { return !arrays_.width.empty(); }
  std::int64_t nbytes() const;
  const DrawArrays& arrays() const { return arrays_; }
  std::uint32_t n_structures() const { return static_cast<std::uint32_t>(begin_.size() - 1); }

  // Where a structure's parts begin in the arrays.
  struct Begin {
    std::uint64_t node = 0, continuous = 0, phi = 0, categorical = 0, words = 0;
    std::uint32_t n_leaves = 0;
  };
  const Begin& begin(std::uint32_t structure) const { return begin_[structure]; }
  // Reads the node at `at`, and moves on to the next one in preorder.
  StoredNode read(Begin& at) const;
  std::uint32_t structure(std::int64_t draw, std::int64_t m) const {
    return arrays_.structure_of[static_cast<std::size_t>(draw * n_trees_ + m)];
  }
  std::span<const float> outputs(std::int64_t draw, std::int64_t m) const {
    return {first_output(draw, m), begin(structure(draw, m)).n_leaves};
  }
  const float* first_output(std::int64_t draw, std::int64_t m) const {
    return arrays_.outputs.data() + output_begin_[static_cast<std::size_t>(draw * n_trees_ + m)];
  }
  static std::uint32_t stored_words(std::uint32_t n_levels) { return (n_levels + 31) / 32; }

  // The structures compiled for prediction, once.
  std::shared_ptr<const Program> program() const;

 private:
  std::uint32_t store_structure(const Data& data, const RulePools& pools, const Tree& tree);
  void index_structure(std::uint64_t last_node);
  static void validate(const DrawArrays& arrays, std::int64_t p_cont,
                       const std::vector<std::uint32_t>& n_levels);

  // What is compiled is shared by copies.
  struct ProgramCache {
    mutable std::mutex mutex;
    std::shared_ptr<const Program> program;
    ProgramCache() = default;
    ProgramCache(const ProgramCache& other) : program(other.get()) {}
    ProgramCache& operator=(const ProgramCache& other) {
      program = other.get();
      return *this;
    }
    std::shared_ptr<const Program> get() const {
      const std::lock_guard lock(mutex);
      return program;
    }
  };

  std::int64_t n_draws_ = 0;
  std::int64_t n_trees_ = 0;
  std::int64_t p_cont_ = 0;
  std::vector<std::uint32_t> n_levels_;
  DrawArrays arrays_;
  std::vector<Begin> begin_;  // of each structure, and the end of the last
  std::vector<std::uint64_t> output_begin_;
  mutable ProgramCache cache_;
};

}  // namespace obart
