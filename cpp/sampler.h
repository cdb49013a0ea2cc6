// One chain: the state, and the sweep that updates it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "draws.h"
#include "kernels.h"
#include "leaf.h"
#include "likelihood.h"
#include "moves.h"
#include "presence.h"
#include "team.h"

namespace obart {

// What a sweep reports; the state is kept apart.
struct SweepInfo {
  double sigma = 0.0, leaf_sd = 0.0;
  double theta = 0.0;                  // mean over the columns
  double n_leaves = 0.0, depth = 0.0;  // means over the trees
  double axis_share = 0.0;             // of the continuous rules, those on one column; NaN if none
  std::array<std::int64_t, kNumMoves> proposed{}, accepted{};
};

// Shared between the thread that samples and the one that watches.
class Control {
 public:
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  void report(std::int64_t sweep, double sigma, double acceptance) {
    sigma_.store(sigma, std::memory_order_relaxed);
    acceptance_.store(acceptance, std::memory_order_relaxed);
    sweep_.store(sweep, std::memory_order_release);
  }
  std::int64_t sweep() const { return sweep_.load(std::memory_order_acquire); }
  double sigma() const { return sigma_.load(std::memory_order_relaxed); }
  double acceptance() const { return acceptance_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> sweep_{0};
  std::atomic<double> sigma_{0.0}, acceptance_{0.0};
};

// All that is needed to go on, bit for bit, in another process.
struct SamplerState {
  Draws ensemble;                       // one draw
  std::vector<std::uint8_t> leaf_code;  // by tree, leaves in preorder
  std::vector<float> residual;
  std::vector<double> target;
  std::vector<std::uint8_t> changed;  // trees that differ from the last kept draw
  std::array<std::uint64_t, 4> rng{};
  std::int64_t n_sweeps = 0;
  double sigma = 1.0, leaf_sd = 1.0;
  std::vector<double> theta;  // one value, or one for each continuous column
  std::array<std::int64_t, kNumMoves> proposed{}, accepted{}, invalid{};
};

class Sampler {
 public:
  Sampler(std::shared_ptr<const Data> data, const double* y, const double* weights,
          const Settings& settings, std::uint64_t seed, std::uint64_t chain);

  void sweep();
  // The same, but the chain may be told to stop. Where sweeps take long they stop in the middle:
  // then the state is again what it was before the sweep, bit for bit, and the result is false.
  bool sweep(const Control& control);
  // n sweeps that are not kept.
  void advance(std::int64_t n, Control& control);
  // n_burn sweeps, then n_draws * n_thin sweeps of which every n_thin-th is kept.
  void run(std::int64_t n_burn, std::int64_t n_draws, std::int64_t n_thin, Control& control);

  const Draws& draws() const { return draws_; }
  const std::vector<SweepInfo>& trace() const { return trace_; }
  const std::vector<double>& burn_sigma() const { return burn_sigma_; }
  const SweepInfo& last() const { return info_; }

  const Data& data() const { return *data_; }
  const Settings& settings() const { return settings_; }
  double sigma() const { return sigma_; }
  const std::vector<double>& theta() const { return theta_; }
  double leaf_sd() const { return leaf_sd_; }
  void set_sigma(double sigma) { sigma_ = sigma; }
  void set_theta(const std::vector<double>& theta);
  void set_leaf_sd(double leaf_sd) { leaf_sd_ = leaf_sd; }
  void set_y(const double* y);
  void set_ensemble(const Draws& draws, std::int64_t index);
  Draws ensemble() const;
  SamplerState state() const;
  void restore(const SamplerState& state);
  void set_draws(Draws draws);  // what run() appends to

  std::vector<double> fit() const;  // by plain traversal
  const float* residual() const { return residual_.data(); }
  std::uint64_t partition_key() const;
  std::vector<std::string> check() const;
  std::int64_t n_failed_lps() const { return n_failed_lps_; }
  const std::array<std::int64_t, kNumMoves>& total_proposed() const { return total_proposed_; }
  const std::array<std::int64_t, kNumMoves>& total_accepted() const { return total_accepted_; }
  const std::array<std::int64_t, kNumMoves>& total_invalid() const { return total_invalid_; }

 private:
  struct RightCounts {
    std::int64_t of_left, of_right;  // rows that go right, among those with left_code, right_code
  };

  // What a sweep changes, as it was when the sweep began.
  struct SweepStart {
    std::vector<Tree> trees;
    std::vector<std::uint8_t> changed;
    std::vector<float> residual;
    std::vector<double> target;  // probit
    std::vector<double> theta;
    std::vector<std::int64_t> n_nonzero;
    std::int64_t n_continuous = 0, n_axis = 0, n_sweeps = 0;
    std::array<std::uint64_t, 4> rng{};
    double sigma = 1.0, leaf_sd = 1.0;
    SweepInfo info;
    std::array<std::int64_t, kNumMoves> proposed{}, accepted{}, invalid{};
  };

  std::int64_t most_leaves() const;
  void reserve();
  bool is_long() const { return n_padded_ * trees_.size() >= kLongSweep; }
  bool is_stopping() const { return control_ != nullptr && control_->stopped(); }
  void save_start();
  void return_to_start();

  // The three phases, then the scales.
  void propose_all();
  void route_all();
  void update_trees();
  void update_scales();
  void update_leaf_sd();
  double draw_stretch();
  void stretch(double factor);

  void settle_proposal(std::size_t m, RightCounts counts);
  void reject(Proposal& proposal);
  void plan_sums(std::size_t m);
  void run_fused(FusedTask task);
  FusedTask base_task();
  void update_tree(std::size_t m, FusedTask& task);
  void take_leaf_stats(std::size_t m);
  void take_deviations();
  void move_leaves(std::size_t m);
  bool accepts(const Proposal& proposal);
  void accept(std::size_t m, Proposal& proposal);
  void count_rule(const Rule& rule, int sign);
  void refresh_residual();
  void rebuild_codes();
  void route_rows(const std::vector<std::uint8_t>& wanted);
  void route_block(std::int64_t block, std::int64_t* counts);
  void add_route_task(std::size_t m, const Rule& rule, std::uint8_t left, std::uint8_t right);
  void reserve_route_terms(std::size_t n_terms);
  void fill_info();

  std::uint8_t* codes(std::size_t m) { return code_.data() + m * n_padded_; }
  const std::uint8_t* codes(std::size_t m) const { return code_.data() + m * n_padded_; }
  std::uint64_t* rights(std::size_t m) { return right_.data() + m * n_groups_; }

  std::shared_ptr<const Data> data_;
  Settings settings_;
  std::size_t n_padded_, n_groups_;
  const Kernels& kernels_;
  Rng rng_;
  Likelihood likelihood_;
  MoveMaker moves_;
  LeafModel leaf_model_;
  Team team_;

  std::vector<Tree> trees_;
  RulePools pools_;
  double sigma_, leaf_sd_;
  std::vector<double> theta_;
  std::vector<std::int64_t> n_nonzero_;  // rules that use each continuous column
  std::int64_t n_continuous_ = 0;        // continuous rules
  std::int64_t n_axis_ = 0;              // those on one column
  AlignedBuffer<std::uint8_t> code_;     // M x n_padded
  AlignedBuffer<std::uint64_t> right_;   // M x n_groups; not written in blocks without the leaf
  Presence presence_;                    // codes of each tree in each block
  AlignedBuffer<float> residual_;
  std::int64_t n_sweeps_ = 0;

  // Rows times trees from which on a sweep can be stopped in the middle (some milliseconds).
  static constexpr std::size_t kLongSweep = std::size_t{1} << 24;
  const Control* control_ = nullptr;  // of the present sweep, where that is long
  SweepStart start_;                  // of the present sweep, where that is long
  std::vector<std::uint8_t> moved_;   // trees that have accepted a proposal in the present sweep

  // Scratch of a sweep.
  std::vector<Proposal> proposals_;
  std::vector<RightCounts> right_counts_;
  std::vector<RouteTask> route_tasks_;
  std::vector<std::size_t> route_trees_;
  std::vector<RouteTask::Term> route_terms_;
  std::vector<std::int64_t> thread_counts_;
  std::vector<SumCell> cells_;
  std::vector<double> sums_, weights_;
  std::vector<LeafStats> stats_, leaf_stats_;  // by cell, by leaf
  std::vector<double> deviations_;
  std::vector<float> old_output_;
  std::array<float, kTableSize> left_delta_{}, right_delta_{};
  std::array<std::uint8_t, kTableSize> left_map_{}, right_map_{};
  std::vector<double> refresh_;

  std::vector<std::uint8_t> changed_;  // since the tree was last stored
  SweepInfo info_;
  std::vector<SweepInfo> trace_;
  std::vector<double> burn_sigma_;
  Draws draws_;
  std::array<std::int64_t, kNumMoves> total_proposed_{}, total_accepted_{}, total_invalid_{};
  std::int64_t n_failed_lps_ = 0;
};

}  // namespace obart
