// What a move is: it proposes another tree, with the terms of log_accept that need no data.
#pragma once

#include <cstdint>
#include <vector>

#include "model/cell.h"
#include "model/rule_prior.h"
#include "model/settings.h"
#include "moves/list.h"

namespace obart {

// What a proposal does to the tree. Moves differ in how they choose the node and the rule.
enum class Effect : std::uint8_t {
  split_leaf,    // a leaf gets a rule and two leaves
  merge_leaves,  // a nog becomes a leaf
  replace_rule,  // a nog gets another rule
};

struct Proposal {
  MoveKind move = MoveKind::grow;
  Effect effect = Effect::split_leaf;
  bool valid = false;  // a proposal that is not valid is rejected without a look at the data
  int node = 0;        // the leaf to split, or the nog to merge or to give another rule
  Rule rule;           // the new rule, unless leaves are merged; its span is the proposal's
  std::uint8_t left_code = 0;  // codes of the node's children (of a leaf: left_code is its own)
  std::uint8_t right_code = 0;
  double log_prior_ratio = 0.0;       // depth terms of p(T*) / p(T)
  double log_transition_ratio = 0.0;  // q(T | T*) / q(T* | T), rules' densities taken together
  bool has_rule() const { return valid && effect != Effect::merge_leaves; }
};

// What moves work with; one for each ensemble of a chain.
class MoveContext {
 public:
  MoveContext(const Data& data, const EnsembleSettings& settings);

  // Chooses a leaf to split, or a nog; both fill node and codes of the proposal.
  void choose_leaf(const Tree& tree, Rng& rng, Proposal& proposal) const;
  void choose_nog(const Tree& tree, Rng& rng, Proposal& proposal) const;
  // A rule from the prior, given that it is not trivial.
  bool draw_rule(const Tree& tree, RulePools& pools, Rng& rng, Proposal& proposal) {
    return rule_prior.draw(DrawMode::non_trivial, rng, pools, geometry, tree, proposal.node,
                           proposal.rule);
  }
  // First factor of the paper's grow ratio, for a node at this depth.
  double log_depth_ratio(int depth) const;
  // Logs of the probabilities that a tree of so many leaves is to grow, and to be pruned.
  double log_p_grow(int n_leaves) const;
  double log_p_prune() const { return log_p_prune_; }
  double log_int(int k) const { return log_int_[static_cast<std::size_t>(k)]; }

  const EnsembleSettings& settings;
  DepthPrior depth_prior;
  RulePrior rule_prior;
  CellGeometry geometry;
  // Scratch.
  std::vector<PhiEntry> phi;
  std::vector<std::uint32_t> available;

 private:
  double log_p_prune_;
  std::vector<double> log_int_;
};

// A move: fills a proposal, of which only `move` is set already.
using Propose = void (*)(MoveContext& context, const Tree& tree, RulePools& pools, Rng& rng,
                         Proposal& proposal);

#define OBART_MOVE(name)                                                                  \
  void propose_##name(MoveContext& context, const Tree& tree, RulePools& pools, Rng& rng, \
                      Proposal& proposal);
OBART_MOVES(OBART_MOVE)
#undef OBART_MOVE

// Chooses a move for a tree and lets it propose.
class Proposer {
 public:
  Proposer(const Data& data, const EnsembleSettings& settings);
  void set_theta(const std::vector<double>& theta) { context_.rule_prior.set_theta(theta); }
  void set_direction_weights(const std::vector<double>& weights) {
    context_.rule_prior.set_direction_weights(weights);
  }
  Proposal propose(const Tree& tree, RulePools& pools, Rng& rng);
  const CellGeometry& geometry() const { return context_.geometry; }
  const RulePrior& rule_prior() const { return context_.rule_prior; }

 private:
  MoveContext context_;
  std::array<double, kNumMoves> up_to_;  // sums of the shares, up to each move
};

}  // namespace obart
