#include "sweep/sampler.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "backend/cpu/cpu_backend.h"
#include "model/theta.h"
#include "sweep/scales.h"

namespace obart {
namespace {

// Rows times trees below which a sweep takes some milliseconds at most.
constexpr std::size_t kSmallSweep = std::size_t{1} << 24;

const Settings& verified(const Settings& settings) {
  settings.verify();
  return settings;
}

std::shared_ptr<const Data> with_rows(std::shared_ptr<const Data> data) {
  if (data->n_rows() == 0) throw std::invalid_argument("a chain needs at least one row");
  return data;
}

std::vector<Workspace> make_workspaces(const Settings& settings) {
  std::vector<Workspace> work;
  for (const EnsembleSettings& ensemble : settings.ensembles) work.emplace_back(ensemble);
  return work;
}

// Proposals of all ensembles, accepted and in all.
struct Acceptance {
  std::int64_t proposed = 0, accepted = 0;
  void add(const std::vector<Workspace>& work) {
    for (const Workspace& w : work) {
      for (const std::int64_t n : w.moves.proposed) proposed += n;
      for (const std::int64_t n : w.moves.accepted) accepted += n;
    }
  }
  double share() const { return static_cast<double>(accepted) / static_cast<double>(proposed); }
};

}  // namespace

Sampler::Sampler(std::shared_ptr<const Data> data, const double* y, const double* weights,
                 const Settings& settings, std::uint64_t seed, std::uint64_t chain,
                 std::unique_ptr<Backend> backend)
    : data_(with_rows(std::move(data))),
      settings_(verified(settings)),
      backends_(*data_, settings_, std::move(backend)),
      state_(*data_, settings_, Rng(seed, chain), backends_.by_ensemble()),
      work_(make_workspaces(settings_)),
      last_seconds_(settings_.long_sweep),
      trace_(state_, work_) {
  if (data_->is_part() && !state_.likelihood->works_on_parts())
    throw std::invalid_argument("the likelihood " + settings_.likelihood.name +
                                " needs all rows in one place");
  if (weights != nullptr) state_.likelihood->set_weights(weights, state_.ensembles);
  for (const Ensemble& ensemble : state_.ensembles) {
    draws_.emplace_back(ensemble.settings.n_trees, data_->p_cont(), data_->n_levels());
  }
  set_y(y);
}

// A part of the likelihood's work, with the rows in this machine's memory if it needs them there.
template <class Work>
void Sampler::on_rows(const Work& work) {
  const bool is_elsewhere = backends_.is_elsewhere() && state_.likelihood->reads_rows();
  if (is_elsewhere) backends_.fetch_rows();
  work();
  if (is_elsewhere) backends_.rows_changed();
}

void Sampler::sweep(StopFlag stop) {
  Rng& rng = state_.rng;
  Ensembles& ensembles = state_.ensembles;
  for (std::size_t e = 0; e < ensembles.size(); ++e) propose_all(ensembles[e], work_[e], rng);
  for (std::size_t e = 0; e < ensembles.size(); ++e) route_all(ensembles[e], work_[e], stop);
  if (stop.is_set()) return;
  for (std::size_t e = 0; e < ensembles.size(); ++e) {
    on_rows([&] { state_.likelihood->prepare(ensembles, e, state_.sigma, rng); });
    update_trees(ensembles[e], work_[e], state_.sigma, rng, stop);
  }
  if (stop.is_set()) return;
  on_rows([&] { state_.likelihood->draw_scales(ensembles, state_.sigma, rng); });
  for (std::size_t e = 0; e < ensembles.size(); ++e) {
    Ensemble& ensemble = ensembles[e];
    update_theta(ensemble.settings.rules, ensemble.rule_counts, rng, ensemble.theta);
    draw_direction_weights(ensemble.settings.rules.directions, ensemble.rule_counts.n_of, rng,
                           ensemble.direction_weights);
    if (!ensemble.settings.leaf.leaf_sd_fixed) {
      if (state_.likelihood->reads_rows()) backends_.fetch_rows();
      update_leaf_sd(state_, e);
    }
    update_tree_scales(ensemble, rng);
    ensemble.total_moves += work_[e].moves;
  }
  ++state_.n_sweeps;
  for (std::size_t e = 0; e < ensembles.size(); ++e)
    if (state_.n_sweeps % state_.likelihood->refresh_sweeps(e) == 0)
      ensembles[e].refresh_residual(stop.flag);
}

bool Sampler::is_long() const {
  if (backends_.is_elsewhere()) return false;
  std::size_t n_trees = 0;
  for (const Ensemble& ensemble : state_.ensembles) n_trees += ensemble.trees.size();
  return static_cast<std::size_t>(data_->n_padded()) * n_trees >= kSmallSweep &&
         last_seconds_ >= settings_.long_sweep;
}

// The phases end early once the chain is told to stop; what they leave is thrown away.
bool Sampler::sweep(const Control& control) {
  const bool may_stop = is_long();
  if (may_stop) state_.save(start_);
  const auto begin = std::chrono::steady_clock::now();
  sweep(may_stop ? StopFlag{control.flag()} : StopFlag{});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (may_stop && control.stopped()) {
    state_.restore(start_);
    return false;
  }
  last_seconds_ = taken.count();
  return true;
}

void Sampler::run(std::int64_t n_burn, std::int64_t n_draws, std::int64_t n_thin,
                  Control& control) {
  Acceptance acceptance;
  for (std::int64_t s = 1; s <= n_burn + n_draws * n_thin; ++s) {
    if (control.stopped() || !sweep(control)) return;
    acceptance.add(work_);
    if (s <= n_burn) {
      burn_sigma_.push_back(state_.sigma);
    } else if ((s - n_burn) % n_thin == 0) {
      for (std::size_t e = 0; e < draws_.size(); ++e) {
        Ensemble& ensemble = state_.ensembles[e];
        draws_[e].keep(*data_, ensemble.pools, ensemble.trees, ensemble.changed);
        std::fill(ensemble.changed.begin(), ensemble.changed.end(), std::uint8_t{0});
      }
      trace_.add(state_, work_);
    }
    control.report({s, state_.sigma, acceptance.share(), state_.likelihood->scales()});
  }
}

void Sampler::advance(std::int64_t n, Control& control) {
  for (std::int64_t s = 1; s <= n; ++s) {
    if (control.stopped() || !sweep(control)) return;
    Acceptance acceptance;
    acceptance.add(work_);
    control.report({s, state_.sigma, acceptance.share(), state_.likelihood->scales()});
  }
}

void Sampler::set_y(const double* y) {
  state_.likelihood->set_y(y, state_.ensembles);
  backends_.rows_changed();
  for (Ensemble& ensemble : state_.ensembles) ensemble.refresh_residual();
}

void Sampler::set_ensemble(const Draws& draws, std::int64_t index, std::size_t e) {
  if (index < 0 || index >= draws.n_draws())
    throw std::invalid_argument("set_ensemble: there is no such draw");
  Ensemble& ensemble = state_.ensembles.at(e);
  TreesRecord record;
  record.trees = draws.take({index});
  RulePools scratch;
  for (std::int64_t m = 0; m < draws.n_trees(); ++m) {
    const Tree tree = draws.tree(index, m, scratch);
    tree.for_each_leaf([&](int leaf) { record.leaf_code.push_back(tree.node(leaf).code); });
  }
  ensemble.restore_trees(record);
  std::fill(ensemble.changed.begin(), ensemble.changed.end(), std::uint8_t{1});
  ensemble.refresh_residual();
}

void Sampler::restore(const ChainRecord& record) {
  state_.check(record, draws_);
  state_.restore(record);
  backends_.rows_changed();
}

void Sampler::set_draws(Draws draws, std::size_t e) {
  const Ensemble& ensemble = state_.ensembles.at(e);
  if (draws.n_trees() != ensemble.settings.n_trees || draws.p_cont() != data_->p_cont() ||
      draws.n_levels() != data_->n_levels())
    throw std::invalid_argument("set_draws: the draws do not belong to this model");
  if (!follows(draws, ensemble.to_draws(), ensemble.changed))
    throw std::invalid_argument(
        "set_draws: a tree that is not marked as changed differs from the last draw");
  draws_[e] = std::move(draws);
}

std::vector<std::string> Sampler::check() const {
  backends_.fetch_rows();
  backends_.fetch_codes();
  std::vector<std::string> problems;
  for (const Ensemble& ensemble : state_.ensembles) ensemble.check(problems);
  return problems;
}

std::int64_t Sampler::n_failed_lps() const {
  std::int64_t n = 0;
  for (const Ensemble& ensemble : state_.ensembles) n += ensemble.proposer.geometry().n_failed();
  return n;
}

std::int64_t Sampler::n_threads() const {
  std::int64_t n = 1;
  for (const Backend* backend : backends_.by_ensemble())
    if (const auto* cpu = dynamic_cast<const CpuBackend*>(backend)) n = cpu->n_threads();
  return n;
}

}  // namespace obart
