#include "sampler.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "planted.h"

namespace obart {
namespace {

// The float residual drifts by rounding; it is rebuilt from the outputs after so many sweeps.
constexpr std::int64_t kRefreshSweeps = 64;

}  // namespace

Sampler::Sampler(std::shared_ptr<const Data> data, const double* y, const double* weights,
                 const Settings& settings, std::uint64_t seed, std::uint64_t chain)
    : data_(std::move(data)),
      settings_(settings),
      n_padded_(static_cast<std::size_t>(data_->n_padded())),
      n_groups_(static_cast<std::size_t>(data_->n_groups())),
      kernels_(kernels()),
      rng_(seed, chain),
      likelihood_(*data_, settings_, y, weights),
      moves_(*data_, settings_),
      leaf_model_(settings.output_correlation),
      team_(std::min(settings.n_threads, std::max<std::int64_t>(1, data_->n_blocks()))),
      sigma_(settings.likelihood == LikelihoodKind::probit ? 1.0 : settings.sigma),
      leaf_sd_(settings.leaf_sd),
      n_nonzero_(static_cast<std::size_t>(data_->p_cont()), 0),
      draws_(settings.n_trees, data_->p_cont(), data_->n_levels()) {
  settings_.verify();
  set_theta({data_->p_cont() == 1 && !settings.theta_fixed ? 1.0 : settings.theta});
  const auto n_trees = static_cast<std::size_t>(settings.n_trees);
  trees_.assign(n_trees, Tree(data_->n_rows()));
  reserve();
  code_ = AlignedBuffer<std::uint8_t>(n_trees * n_padded_, kPaddingCode);
  right_ = AlignedBuffer<std::uint64_t>(n_trees * n_groups_);
  presence_ = Presence(n_trees, data_->n_blocks());
  residual_ = AlignedBuffer<float>(n_padded_);
  proposals_.resize(n_trees);
  right_counts_.resize(n_trees);
  thread_counts_.resize(static_cast<std::size_t>(team_.size()) * n_trees * 2);
  changed_.assign(n_trees, 1);
  moved_.assign(n_trees, 0);
  refresh_.resize(static_cast<std::size_t>(kBlockRows));
  rebuild_codes();
  refresh_residual();
}

std::int64_t Sampler::most_leaves() const {
  if (settings_.min_samples_leaf == 0) return kMaxLeaves;
  return std::clamp<std::int64_t>(data_->n_rows() / settings_.min_samples_leaf, 1, kMaxLeaves);
}

// Room for whatever a sweep may need, so that it does not allocate. What has no small bound, the
// spans of the rules and the terms of a sweep's proposals, has room for what is usual and doubles
// when there is more than ever before. Memory that is never touched costs nothing.
void Sampler::reserve() {
  const std::size_t n_trees = trees_.size();
  for (Tree& tree : trees_) tree.reserve(most_leaves());
  route_tasks_.reserve(n_trees);
  route_trees_.reserve(n_trees);
  route_terms_.reserve(n_trees * std::min<std::size_t>(n_nonzero_.size(), 64));
  const std::size_t most_cells = kMaxLeaves + 2;
  cells_.reserve(most_cells);
  sums_.reserve(static_cast<std::size_t>(data_->n_blocks()) * most_cells);
  if (likelihood_.weight() != nullptr) weights_.reserve(sums_.capacity());
  stats_.reserve(most_cells);
  leaf_stats_.reserve(most_cells);
  deviations_.reserve(most_cells);
  old_output_.reserve(most_cells);
  std::uint32_t n_words = 1;
  for (const std::uint32_t n : data_->n_levels()) n_words = std::max(n_words, level_words(n));
  pools_.phi.reserve(n_trees * 64, n_trees * 8);
  pools_.levels.reserve(n_trees * 8 * std::bit_ceil(n_words), n_trees * 8);
}

void Sampler::sweep() {
  info_ = SweepInfo{};
  leaf_model_.set(sigma_, leaf_sd_);
  moves_.set_theta(theta_);
  propose_all();
  route_all();
  likelihood_.draw_latents(residual_.data(), rng_);
  update_trees();
  update_scales();
  fill_info();
  if (++n_sweeps_ % kRefreshSweeps == 0) refresh_residual();
}

void Sampler::run(std::int64_t n_burn, std::int64_t n_draws, std::int64_t n_thin,
                  Control& control) {
  std::int64_t proposed = 0;
  std::int64_t accepted = 0;
  for (std::int64_t s = 1; s <= n_burn + n_draws * n_thin; ++s) {
    if (control.stopped() || !sweep(control)) return;
    proposed += std::accumulate(info_.proposed.begin(), info_.proposed.end(), std::int64_t{0});
    accepted += std::accumulate(info_.accepted.begin(), info_.accepted.end(), std::int64_t{0});
    if (s <= n_burn) {
      burn_sigma_.push_back(sigma_);
    } else if ((s - n_burn) % n_thin == 0) {
      draws_.keep(*data_, pools_, trees_, changed_);
      changed_.assign(trees_.size(), 0);
      trace_.push_back(info_);
    }
    control.report(s, sigma_, static_cast<double>(accepted) / static_cast<double>(proposed));
  }
}

void Sampler::advance(std::int64_t n, Control& control) {
  for (std::int64_t s = 1; s <= n; ++s) {
    if (control.stopped() || !sweep(control)) return;
    const auto total = [](const auto& c) { return std::accumulate(c.begin(), c.end(), 0.0); };
    control.report(s, sigma_, total(info_.accepted) / total(info_.proposed));
  }
}

// The phases end early once the chain is told to stop; what they leave is thrown away.
bool Sampler::sweep(const Control& control) {
  if (!is_long()) {
    sweep();
    return true;
  }
  save_start();
  control_ = &control;
  sweep();
  const bool whole = !is_stopping();
  control_ = nullptr;
  if (!whole) return_to_start();
  return whole;
}

// ---- phase 1: propose --------------------------------------------------------------------------

void Sampler::propose_all() {
  for (std::size_t m = 0; m < trees_.size(); ++m) {
    Proposal& proposal = proposals_[m];
    proposal = moves_.propose(trees_[m], pools_, rng_);
    const auto move = static_cast<std::size_t>(proposal.move);
    ++info_.proposed[move];
    ++total_proposed_[move];
  }
}

// ---- phase 2: route ----------------------------------------------------------------------------

void Sampler::route_all() {
  route_tasks_.clear();
  route_trees_.clear();
  route_terms_.clear();
  std::size_t n_terms = 0;
  for (const Proposal& proposal : proposals_)
    if (proposal.has_rule()) n_terms += proposal.rule.n_items;
  reserve_route_terms(n_terms);
  for (std::size_t m = 0; m < trees_.size(); ++m) {
    const Proposal& proposal = proposals_[m];
    if (!proposal.has_rule()) continue;
    add_route_task(m, proposal.rule, proposal.left_code, proposal.right_code);
    route_tasks_.back().present = presence_.of_tree(m);
    route_trees_.push_back(m);
  }

  // All trees inside a block of rows: the columns are read from cache.
  const std::size_t n_tasks = route_tasks_.size();
  std::fill(thread_counts_.begin(), thread_counts_.end(), 0);
  team_.run([&](std::int64_t thread) {
    const auto [first, last] = share(data_->n_blocks(), thread, team_.size());
    std::int64_t* counts = thread_counts_.data() + static_cast<std::size_t>(thread) * 2 * n_tasks;
    for (std::int64_t block = first; block < last && !is_stopping(); ++block)
      route_block(block, counts);
  });
  if (is_stopping()) return;
  for (std::size_t t = 0; t < n_tasks; ++t) {
    RightCounts counts{0, 0};
    for (std::size_t thread = 0; thread < static_cast<std::size_t>(team_.size()); ++thread) {
      counts.of_left += thread_counts_[(thread * n_tasks + t) * 2];
      counts.of_right += thread_counts_[(thread * n_tasks + t) * 2 + 1];
    }
    settle_proposal(route_trees_[t], counts);
  }
  for (std::size_t m = 0; m < trees_.size(); ++m)
    if (!proposals_[m].valid) ++total_invalid_[static_cast<std::size_t>(proposals_[m].move)];
}

// The bits of a block without the proposal's leaves stay what they were; nobody reads them.
void Sampler::route_block(std::int64_t block, std::int64_t* counts) {
  const std::int64_t group = block * kBlockGroups;
  const std::int64_t n = std::min(kBlockGroups, data_->n_groups() - group);
  for (const RouteTask& task : route_tasks_) {
    if (task.concerns(block)) kernels_.route(task, group, n, counts);
    counts += 2;
  }
}

// The tasks point into the terms, which must not move. Room for twice as many, or it would be a
// little too small again and again.
void Sampler::reserve_route_terms(std::size_t n_terms) {
  if (route_terms_.capacity() < n_terms) route_terms_.reserve(2 * n_terms);
}

void Sampler::add_route_task(std::size_t m, const Rule& rule, std::uint8_t left,
                             std::uint8_t right) {
  RouteTask task{};
  task.kind = rule.kind;
  task.missing_right = rule.missing_right;
  task.cut = rule.cut;
  task.code = codes(m);
  task.left_code = left;
  task.right_code = right;
  task.right = rights(m);
  if (rule.kind == RuleKind::continuous) {
    const PhiEntry* phi = pools_.phi.at(rule.offset);
    task.terms = route_terms_.data() + route_terms_.size();
    task.n_terms = rule.n_items;
    for (std::uint32_t k = 0; k < rule.n_items; ++k)
      route_terms_.push_back({data_->cont(phi[k].column), phi[k].value});
  } else {
    task.column = data_->cat(rule.column);
    task.words = pools_.levels.at(rule.offset);
    task.n_words = rule.n_items;
  }
  route_tasks_.push_back(task);
}

// With the counts it is known whether both new leaves hold enough rows.
void Sampler::settle_proposal(std::size_t m, RightCounts counts) {
  Proposal& proposal = proposals_[m];
  const Tree& tree = trees_[m];
  right_counts_[m] = counts;
  std::int64_t n_right = counts.of_left;
  std::int64_t n_all = tree.leaf_node(proposal.left_code).n_rows;
  if (proposal.move != Move::grow) {
    n_right += counts.of_right;
    n_all += tree.leaf_node(proposal.right_code).n_rows;
  }
  const std::int64_t fewest = OBART_BUG(min_leaf_ignored) ? 0 : settings_.min_samples_leaf;
  if (n_right < fewest || n_all - n_right < fewest) reject(proposal);
}

void Sampler::reject(Proposal& proposal) {
  if (proposal.has_rule()) pools_.release(proposal.rule);
  proposal.valid = false;
}

void Sampler::fill_info() {
  info_.sigma = sigma_;
  info_.theta =
      std::accumulate(theta_.begin(), theta_.end(), 0.0) / static_cast<double>(theta_.size());
  info_.leaf_sd = leaf_sd_;
  std::int64_t n_leaves = 0;
  std::int64_t depth = 0;
  for (const Tree& tree : trees_) {
    n_leaves += tree.n_leaves();
    depth += tree.depth();
  }
  const auto n_trees = static_cast<double>(trees_.size());
  info_.n_leaves = static_cast<double>(n_leaves) / n_trees;
  info_.depth = static_cast<double>(depth) / n_trees;
  info_.axis_share = n_continuous_ > 0
                         ? static_cast<double>(n_axis_) / static_cast<double>(n_continuous_)
                         : std::numeric_limits<double>::quiet_NaN();
  n_failed_lps_ = moves_.geometry().n_failed();
}

// ---- residual and codes from scratch -----------------------------------------------------------

void Sampler::refresh_residual() {
  float table[kTableSize] = {};
  const double* target = likelihood_.target();
  for (std::int64_t block = 0; block < data_->n_blocks() && !is_stopping(); ++block) {
    const std::int64_t row = block * kBlockRows;
    const std::int64_t n = std::min(kBlockRows, data_->n_padded() - row);
    std::fill(refresh_.begin(), refresh_.end(), 0.0);
    for (std::size_t m = 0; m < trees_.size(); ++m) {
      const Tree& tree = trees_[m];
      const bool wide = tree.n_leaves() > kNarrowCodes;
      for (int c = 0; c < tree.n_leaves(); ++c) table[c] = tree.leaf_node(c).output;
      if (!wide) table[kNarrowCodes] = 0.0F;
      kernels_.accumulate_double(refresh_.data(), codes(m) + row, table, wide, n / kGroupRows);
    }
    for (std::int64_t i = 0; i < n; ++i)
      residual_[static_cast<std::size_t>(row + i)] =
          row + i < data_->n_rows()
              ? static_cast<float>(target[row + i] - refresh_[static_cast<std::size_t>(i)])
              : 0.0F;
  }
}

void Sampler::rebuild_codes() { route_rows(std::vector<std::uint8_t>(trees_.size(), 1)); }

// Codes and row counts of the trees that are wanted. All rows of a tree start in its leftmost leaf;
// each rule, from the root down, sends those on its right to the leftmost leaf there. All trees
// inside a block of rows, as in route_all.
void Sampler::route_rows(const std::vector<std::uint8_t>& wanted) {
  std::size_t n_terms = 0;
  for (std::size_t m = 0; m < trees_.size(); ++m)
    if (wanted[m] != 0)
      trees_[m].for_each_decision([&](int i) { n_terms += trees_[m].node(i).rule.n_items; });
  route_tasks_.clear();
  route_terms_.clear();
  reserve_route_terms(n_terms);
  std::vector<std::uint8_t> start_code(trees_.size()), right_code;
  std::vector<std::size_t> first_task(trees_.size() + 1, 0);
  for (std::size_t m = 0; m < trees_.size(); ++m) {
    const Tree& tree = trees_[m];
    const auto first_code = [&](int i) {
      while (!tree.node(i).is_leaf()) i = tree.node(i).left;
      return tree.node(i).code;
    };
    start_code[m] = first_code(0);
    if (wanted[m] != 0)
      tree.for_each_decision([&](int i) {
        const Node& x = tree.node(i);
        right_code.push_back(first_code(x.right));
        add_route_task(m, x.rule, first_code(x.left), first_code(x.left));
      });
    first_task[m + 1] = route_tasks_.size();
  }

  const std::size_t n_tasks = route_tasks_.size();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(team_.size()) * 2 * n_tasks, 0);
  team_.run([&](std::int64_t thread) {
    const auto [first, last] = share(data_->n_blocks(), thread, team_.size());
    std::int64_t* count = counts.data() + static_cast<std::size_t>(thread) * 2 * n_tasks;
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t group = block * kBlockGroups;
      const std::int64_t n = std::min(kBlockGroups, data_->n_groups() - group);
      const std::int64_t row = block * kBlockRows;
      for (std::size_t m = 0; m < trees_.size(); ++m) {
        if (wanted[m] == 0) continue;
        std::fill_n(codes(m) + row, std::min(kBlockRows, data_->n_rows() - row), start_code[m]);
        for (std::size_t t = first_task[m]; t < first_task[m + 1]; ++t) {
          kernels_.route(route_tasks_[t], group, n, count + 2 * t);
          kernels_.assign(codes(m) + row, rights(m) + group, n, right_code[t]);
        }
        if (presence_.is_kept())
          presence_.of_tree(m)[block] = find_codes(codes(m) + row, n * kGroupRows);
      }
    }
  });

  // A node's rows are those with its code when its rule comes.
  for (std::size_t m = 0; m < trees_.size(); ++m) {
    if (wanted[m] == 0) continue;
    Tree& tree = trees_[m];
    std::size_t t = first_task[m];
    tree.node(0).n_rows = data_->n_rows();
    tree.for_each_decision([&](int i) {
      std::int64_t n_right = 0;
      for (std::size_t k = t++; k < n_tasks * static_cast<std::size_t>(team_.size()); k += n_tasks)
        n_right += counts[2 * k];
      tree.node(tree.node(i).right).n_rows = n_right;
      tree.node(tree.node(i).left).n_rows = tree.node(i).n_rows - n_right;
    });
  }
}

void Sampler::set_y(const double* y) {
  likelihood_.set_y(y);
  refresh_residual();
}

}  // namespace obart
