// One chain: its state, the sweep that changes it, and what it keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sweep/backends.h"
#include "sweep/chain_state.h"
#include "sweep/control.h"
#include "sweep/phases.h"
#include "sweep/trace.h"

namespace obart {

class Sampler {
 public:
  // weights: or null; row i has variance sigma^2 / w_i. backend: where the rows are worked on, or
  // null: that of the settings.
  Sampler(std::shared_ptr<const Data> data, const double* y, const double* weights,
          const Settings& settings, std::uint64_t seed, std::uint64_t chain,
          std::unique_ptr<Backend> backend = nullptr);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void sweep() { sweep(StopFlag{}); }
  // The same, but the chain may be told to stop. Where sweeps take long they stop in the middle:
  // then the state is again what it was before the sweep, bit for bit, and the result is false.
  bool sweep(const Control& control);
  // n sweeps that are not kept.
  void advance(std::int64_t n, Control& control);
  // n_burn sweeps, then n_draws * n_thin sweeps of which every n_thin-th is kept.
  void run(std::int64_t n_burn, std::int64_t n_draws, std::int64_t n_thin, Control& control);

  const Draws& draws(std::size_t e = 0) const { return draws_.at(e); }
  const Trace& trace() const { return trace_; }
  const std::vector<double>& burn_sigma() const { return burn_sigma_; }

  const Data& data() const { return *data_; }
  // To be read or written: what is elsewhere comes here, and goes back with the next sweep.
  ChainState& state() {
    backends_.fetch_rows();
    backends_.rows_changed();
    return state_;
  }
  const ChainState& state() const { return state_; }
  const Ensemble& ensemble(std::size_t e = 0) const { return state_.ensembles.at(e); }

  void set_y(const double* y);
  // The trees of a draw, all marked as changed.
  void set_ensemble(const Draws& draws, std::int64_t index, std::size_t e = 0);
  // Throws std::invalid_argument, and changes nothing, if the record does not fit this chain.
  void restore(const ChainRecord& record);
  void set_draws(Draws draws, std::size_t e = 0);  // what run() appends to

  // Broken invariants, in words.
  std::vector<std::string> check() const;
  std::int64_t n_failed_lps() const;
  // Threads that work on the rows at present.
  std::int64_t n_threads() const;

 private:
  void sweep(StopFlag stop);
  template <class Work>
  void on_rows(const Work& work);
  bool is_long() const;

  std::shared_ptr<const Data> data_;
  const Settings settings_;
  Backends backends_;
  ChainState state_;
  std::vector<Workspace> work_;  // by ensemble
  ChainRecord start_;            // of the present sweep, where that is long
  double last_seconds_;          // of the last sweep; before the first: as if it were long
  std::vector<Draws> draws_;     // by ensemble
  Trace trace_;
  std::vector<double> burn_sigma_;
};

}  // namespace obart
