// Phases 1 and 2 of a sweep: proposals, and the rows that they send right.
#include <algorithm>
#include <utility>

#include "base/planted_bugs.h"
#include "sweep/phases.h"

namespace obart {
namespace {

// With the counts it is known whether both new leaves hold enough rows.
void settle(Ensemble& ensemble, const Tree& tree, Proposal& proposal, RightCounts counts) {
  std::int64_t n_right = counts.of_left;
  std::int64_t n_all = tree.leaf_node(proposal.left_code).n_rows;
  if (proposal.effect != Effect::split_leaf) {
    n_right += counts.of_right;
    n_all += tree.leaf_node(proposal.right_code).n_rows;
  }
  const std::int64_t fewest = OBART_BUG(min_leaf_ignored) ? 0 : ensemble.settings.min_samples_leaf;
  if (n_right >= fewest && n_all - n_right >= fewest) return;
  ensemble.pools.release(proposal.rule);
  proposal.valid = false;
}

// The trees with a proposed rule. Those whose rules have columns in common follow each other, so
// that wide rules find these columns in the cache.
void list_routed(const Ensemble& ensemble, Workspace& work) {
  const RulePrior& prior = ensemble.proposer.rule_prior();
  work.routed.clear();
  for (std::size_t m = 0; m < ensemble.trees.size(); ++m) {
    const Proposal& proposal = work.proposals[m];
    if (!proposal.has_rule()) continue;
    work.routed.push_back(m);
    if (prior.has_places()) work.places[m] = prior.place(ensemble.pools, proposal.rule);
  }
  if (!prior.has_places()) return;
  std::sort(work.routed.begin(), work.routed.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(work.places[a], a) < std::pair(work.places[b], b);
  });
}

}  // namespace

void propose_all(Ensemble& ensemble, Workspace& work, Rng& rng) {
  work.moves = {};
  ensemble.proposer.set_theta(ensemble.theta);
  constexpr std::size_t ahead = 2;
  ensemble.proposer.set_direction_weights(ensemble.direction_weights);
  for (std::size_t m = 0; m < ensemble.trees.size(); ++m) {
    if (m + ahead < ensemble.trees.size()) ensemble.trees[m + ahead].prefetch();
    work.proposals[m] = ensemble.proposer.propose(ensemble.trees[m], ensemble.pools, rng);
    ++work.moves.proposed[static_cast<std::size_t>(work.proposals[m].move)];
  }
}

void route_all(Ensemble& ensemble, Workspace& work, StopFlag stop) {
  list_routed(ensemble, work);
  std::size_t n_terms = 0;
  for (const std::size_t m : work.routed) n_terms += work.proposals[m].rule.n_items;
  ensemble.plan.clear(n_terms);
  for (const std::size_t m : work.routed) {
    const Proposal& proposal = work.proposals[m];
    ensemble.add_route_task(m, proposal.rule, proposal.left_code, proposal.right_code);
    ensemble.plan.tasks.back().masks = ensemble.masks.of_tree(m);
  }
  ensemble.backend->route(ensemble.plan.tasks, stop.flag, work.task_counts.data());
  if (stop.is_set()) return;
  for (std::size_t t = 0; t < work.routed.size(); ++t)
    work.right_counts[work.routed[t]] = work.task_counts[t];
  for (std::size_t m = 0; m < ensemble.trees.size(); ++m)
    if (work.proposals[m].has_rule())
      settle(ensemble, ensemble.trees[m], work.proposals[m], work.right_counts[m]);
  for (const Proposal& proposal : work.proposals)
    if (!proposal.valid) ++work.moves.invalid[static_cast<std::size_t>(proposal.move)];
}

}  // namespace obart
