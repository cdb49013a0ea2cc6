#include "moves/move.h"

#include "base/planted_bugs.h"

namespace obart {
namespace {

constexpr Propose kPropose[kNumMoves] = {
#define OBART_MOVE(name) propose_##name,
    OBART_MOVES(OBART_MOVE)
#undef OBART_MOVE
};

}  // namespace

MoveContext::MoveContext(const Data& data, const EnsembleSettings& ensemble_settings)
    : settings(ensemble_settings),
      depth_prior(settings.depth),
      rule_prior(data, settings),
      geometry(data.p_cont(), data.n_levels()),
      log_p_prune_(det_log(settings.moves.half_rest())) {
  phi.reserve(static_cast<std::size_t>(data.p_cont()));
  available.resize(most_level_words(data.n_levels()));
  for (int k = 0; k <= kMaxLeaves + 2; ++k) log_int_.push_back(det_log(static_cast<double>(k)));
}

void MoveContext::choose_leaf(const Tree& tree, Rng& rng, Proposal& proposal) const {
  const auto n_leaves = static_cast<std::uint32_t>(tree.n_leaves());
  proposal.node = tree.leaf(static_cast<int>(rng.below(n_leaves)));
  proposal.left_code = proposal.right_code = tree.node(proposal.node).code;
}

void MoveContext::choose_nog(const Tree& tree, Rng& rng, Proposal& proposal) const {
  const auto n_nogs = static_cast<std::uint32_t>(tree.n_nogs());
  proposal.node = tree.nth_nog(static_cast<int>(rng.below(n_nogs)));
  const Node& nog = tree.node(proposal.node);
  proposal.left_code = tree.node(nog.left).code;
  proposal.right_code = tree.node(nog.right).code;
}

double MoveContext::log_p_grow(int n_leaves) const {
  return n_leaves == 1 && !OBART_BUG(root_ratio_missing) ? 0.0 : log_p_prune_;
}

double MoveContext::log_depth_ratio(int depth) const {
  const int d = OBART_BUG(depth_off_by_one) ? depth + 1 : depth;
  return depth_prior.log_split(d) + 2.0 * depth_prior.log_stay(d + 1) - depth_prior.log_stay(d);
}

Proposer::Proposer(const Data& data, const EnsembleSettings& settings) : context_(data, settings) {
  MoveSettings shares = settings.moves;
  shares[MoveKind::grow] = shares[MoveKind::prune] = settings.moves.half_rest();
  double total = 0.0;
  for (std::size_t k = 0; k < kNumMoves; ++k) up_to_[k] = total += shares.share[k];
}

// A root-only tree can only grow.
Proposal Proposer::propose(const Tree& tree, RulePools& pools, Rng& rng) {
  std::size_t move = static_cast<std::size_t>(MoveKind::grow);
  if (!tree.is_root_only()) {
    const double u = rng.uniform();
    for (move = 0; move + 1 < kNumMoves && !(u < up_to_[move]);) ++move;
  }
  Proposal proposal;
  proposal.move = static_cast<MoveKind>(move);
  kPropose[move](context_, tree, pools, rng, proposal);
  return proposal;
}

}  // namespace obart
