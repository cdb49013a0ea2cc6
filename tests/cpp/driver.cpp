// Measures and exercises the core without Python. Each command prints JSON, one object per line:
//   driver about                                    compiler and machine
//   driver list                                     the scenarios
//   driver allocations SCENARIO N WARM_UP SWEEPS    allocations in SWEEPS sweeps after WARM_UP
//   driver sweeps SCENARIO N WARM_UP SWEEPS         CPU time; `measured_sweeps` is what a profiler
//                                                   should look at
//   driver kernels                                  every table of kernels against plain loops
//   driver threads                                  chains, threads and prediction side by side
//   driver handover MOST                            what it costs to give 2 to MOST threads a task
//   driver ranges N                                 ranges over the cells of N random trees against
//                                                   linear programmes with every ancestor as a row
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "allocations.h"
#include "base/simd.h"
#include "base/thread_team.h"
#include "draws/predict.h"
#include "kernel_checks.h"
#include "scenarios.h"

// A C name that profilers find; not inlined, so that there is something to find.
extern "C" __attribute__((noinline)) void measured_sweeps(obart::Sampler& sampler,
                                                          std::int64_t n_sweeps) {
  for (std::int64_t s = 0; s < n_sweeps; ++s) sampler.sweep();
}

namespace obart::testing {
namespace {

struct Run {
  std::string scenario;
  std::int64_t n_rows, warm_up, n_sweeps;
};

std::unique_ptr<Sampler> warm_sampler(const Run& run) {
  const Scenario& chosen = scenario(run.scenario);
  const Table table = make_table(run.n_rows, chosen.shape);
  std::unique_ptr<Sampler> sampler = make_sampler(table, make_settings(chosen));
  for (std::int64_t s = 0; s < run.warm_up; ++s) sampler->sweep();
  return sampler;
}

void count_allocations(const Run& run) {
  const std::unique_ptr<Sampler> sampler = warm_sampler(run);
  const std::int64_t before = n_allocations();
  measured_sweeps(*sampler, run.n_sweeps);
  std::printf("{\"scenario\": \"%s\", \"allocations\": %" PRId64 "}\n", run.scenario.c_str(),
              n_allocations() - before);
}

void time_sweeps(const Run& run) {
  const std::unique_ptr<Sampler> sampler = warm_sampler(run);
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  measured_sweeps(*sampler, run.n_sweeps);
  const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  const auto n_sweeps = static_cast<double>(run.n_sweeps);
  std::printf("{\"scenario\": \"%s\", \"n\": %" PRId64
              ", \"simd\": \"%s\", \"cpu_us_per_sweep\": %.3f, \"wall_us_per_sweep\": %.3f, "
              "\"n_leaves\": %.4f, \"sigma\": %.17g}\n",
              run.scenario.c_str(), run.n_rows, simd_name(chosen_simd()), 1e6 * cpu / n_sweeps,
              1e6 * wall.count() / n_sweeps, mean_leaves(sampler->ensemble()),
              sampler->state().sigma);
}

// A team that grows, shrinks and is left alone, until its threads sleep: each calls every task
// once.
void exercise_team() {
  ThreadTeam team(5);
  std::int64_t calls[5] = {};
  std::int64_t n_tasks[5] = {};
  for (const std::int64_t size : {1, 5, 2, 3, 1, 4, 5, 5, 2}) {
    team.resize(size);
    for (int k = 0; k < 20; ++k) {
      team.run([&calls](std::int64_t thread) { ++calls[thread]; });
      for (std::int64_t t = 0; t < team.size(); ++t) ++n_tasks[t];
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  if (!std::equal(calls, calls + 5, n_tasks)) throw std::runtime_error("a thread missed a task");
}

// What the thread sanitizer should see: two chains of two and three threads on the same data, one
// of them with soft rules, a watcher that stops the other, and prediction on three threads from the
// draws of the first.
void exercise_threads() {
  const Scenario& chosen = scenario("mixed");
  const Table table = make_table(5000, chosen.shape);
  Control control[2];
  std::vector<std::unique_ptr<Sampler>> chains;
  for (std::int64_t c = 0; c < 2; ++c) {
    Settings settings = make_settings(chosen);
    settings.ensembles[0].n_trees = 20;
    settings.n_threads = 2 + c;
    settings.threads_fixed = true;
    settings.ensembles[0].rules.soft = c == 0;
    chains.push_back(make_sampler(table, settings, static_cast<std::uint64_t>(c)));
  }
  std::thread first([&] { chains[0]->run(20, 30, 1, control[0]); });
  std::thread second([&] { chains[1]->run(20, 1'000'000'000, 1, control[1]); });
  while (control[1].snapshot().sweep < 40) std::this_thread::yield();
  control[1].stop();
  first.join();
  second.join();

  const auto n = static_cast<std::size_t>(table.data->n_rows());
  std::vector<double> mean(n), sd(n), quantiles(2 * n);
  const Draws& draws = chains[0]->draws();
  const std::vector<double> noise(static_cast<std::size_t>(draws.n_draws()), 0.4);
  summarise(draws, *table.data, {find_link("identity"), 0.0, 3}, {{0.05, 0.95}, noise.data()},
            {mean.data(), sd.data(), quantiles.data()});
  std::vector<float> values(n * static_cast<std::size_t>(draws.n_draws()));
  predict_draws(draws, *table.data, {find_link("probit"), 0.1, 3}, values.data());
  exercise_team();
  std::size_t n_problems = 0;
  for (const auto& chain : chains) n_problems += chain->check().size();
  std::printf("{\"problems\": %zu, \"draws\": %" PRId64 ", \"mean\": %.17g}\n", n_problems,
              draws.n_draws(), mean[0]);
  if (n_problems > 0) throw std::runtime_error("broken invariants");
}

// Nanoseconds of an empty task, the best of several rounds.
void measure_handover(std::int64_t most) {
  constexpr int n_rounds = 300;
  constexpr int n_tasks = 500;
  ThreadTeam team(most);
  for (std::int64_t n = 2; n <= most; ++n) {
    team.resize(n);
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < n_rounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int k = 0; k < n_tasks; ++k) team.run([](std::int64_t) {});
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
      best = std::min(best, wall.count() / n_tasks);
    }
    std::printf("{\"threads\": %" PRId64 ", \"ns\": %.1f}\n", team.size(), 1e9 * best);
  }
}

std::vector<PhiEntry> random_direction(std::uint32_t p, Rng& rng) {
  std::vector<PhiEntry> phi;
  double norm = 0.0;
  for (std::uint32_t j = 0; j < p; ++j)
    if (rng.below(5) < 2) phi.push_back({j, static_cast<float>(rng.normal())});
  if (phi.empty()) phi.push_back({rng.below(p), rng.coin() ? 1.0F : -1.0F});
  for (const PhiEntry& e : phi) norm += static_cast<double>(e.value) * static_cast<double>(e.value);
  for (PhiEntry& e : phi)
    e.value = static_cast<float>(static_cast<double>(e.value) / std::sqrt(norm));
  return phi;
}

// The box, every continuous ancestor as a row, no short cuts.
LpResult plain_maximum(const RulePools& pools, const Tree& tree, int node, std::uint32_t p,
                       const std::vector<PhiEntry>& phi, double sign) {
  std::vector<double> a, b, objective(p, 0.0), lower(p, -1.0), upper(p, 1.0);
  for (int child = node, i = tree.node(node).parent; i != kNone;
       child = i, i = tree.node(i).parent) {
    const Rule& rule = tree.node(i).rule;
    const double side = tree.node(i).left == child ? 1.0 : -1.0;
    a.resize(a.size() + p, 0.0);
    for (std::uint32_t k = 0; k < rule.n_items; ++k) {
      const PhiEntry& entry = pools.phi.at(rule.offset)[k];
      a[a.size() - p + entry.column] = side * static_cast<double>(entry.value);
    }
    b.push_back(side * static_cast<double>(rule.cut));
  }
  for (const PhiEntry& entry : phi)
    objective[entry.column] = sign * static_cast<double>(entry.value);
  LpWorkspace workspace;
  return lp_maximise({static_cast<int>(b.size()), static_cast<int>(p), a.data(), b.data(),
                      lower.data(), upper.data(), objective.data()},
                     workspace);
}

void compare_ranges(std::int64_t n_trees) {
  Rng rng(5, 0);
  std::int64_t n_compared = 0;
  double worst = 0.0;
  for (std::int64_t t = 0; t < n_trees; ++t) {
    const std::uint32_t p = 1 + rng.below(6);
    CellGeometry geometry(p, {});
    RulePools pools;
    Tree tree;
    for (std::uint32_t attempt = 1 + rng.below(12); attempt > 0; --attempt) {
      const int node =
          tree.leaf(static_cast<int>(rng.below(static_cast<std::uint32_t>(tree.n_leaves()))));
      const std::vector<PhiEntry> phi = random_direction(p, rng);
      const Range range = geometry.range(pools, tree, node, phi);
      const LpResult highest = plain_maximum(pools, tree, node, p, phi, 1.0);
      const LpResult lowest = plain_maximum(pools, tree, node, p, phi, -1.0);
      if (!range.valid || highest.status != LpStatus::optimal || lowest.status != LpStatus::optimal)
        continue;
      ++n_compared;
      worst =
          std::max({worst, std::abs(range.hi - highest.value), std::abs(range.lo + lowest.value)});
      Rule rule;
      if (!RulePrior::place_cut(range, rng.uniform(), rule.cut)) continue;
      rule.n_items = static_cast<std::uint32_t>(phi.size());
      rule.offset = pools.phi.allocate(rule.n_items);
      std::copy(phi.begin(), phi.end(), pools.phi.at(rule.offset));
      tree.grow(node, rule, 0, 0);
    }
  }
  std::printf("{\"compared\": %" PRId64 ", \"worst\": %.3g}\n", n_compared, worst);
}

void report_kernels() {
  const KernelChecks found = check_kernels(1);
  std::string tables;
  for (const std::string& name : found.tables)
    tables += (tables.empty() ? "\"" : ", \"") + name + "\"";
  std::printf("{\"tables\": [%s], \"tasks\": %" PRId64 ", \"different\": %" PRId64 "}\n",
              tables.c_str(), found.n_tasks, found.n_different);
}

// Counts of instructions can be compared for one compiler and one architecture only.
void print_about() {
#if defined(__clang__)
  std::printf("{\"compiler\": \"clang %d\", ", __clang_major__);
#else
  std::printf("{\"compiler\": \"gcc %d\", ", __GNUC__);
#endif
#if defined(__x86_64__)
  std::printf("\"architecture\": \"x86-64\", ");
#else
  std::printf("\"architecture\": \"other\", ");
#endif
  std::printf("\"simd\": \"%s\"}\n", simd_name(chosen_simd()));
}

int usage() {
  std::fputs(
      "usage: driver about | list | kernels | threads | handover MOST | ranges N | (allocations | "
      "sweeps) SCENARIO "
      "N "
      "WARM_UP "
      "SWEEPS\n",
      stderr);
  return 2;
}

int run(const std::vector<std::string>& words) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "list" && words.size() == 1) {
    for (const Scenario& s : scenarios()) std::printf("{\"scenario\": \"%s\"}\n", s.name.c_str());
    return 0;
  }
  if (command == "about" && words.size() == 1) {
    print_about();
    return 0;
  }
  if (command == "kernels" && words.size() == 1) {
    report_kernels();
    return 0;
  }
  if (command == "threads" && words.size() == 1) {
    exercise_threads();
    return 0;
  }
  if (command == "handover" && words.size() == 2) {
    measure_handover(std::stoll(words[1]));
    return 0;
  }
  if (command == "ranges" && words.size() == 2) {
    compare_ranges(std::stoll(words[1]));
    return 0;
  }
  if (words.size() != 5 || (command != "allocations" && command != "sweeps")) return usage();
  const Run what{words[1], std::stoll(words[2]), std::stoll(words[3]), std::stoll(words[4])};
  command == "sweeps" ? time_sweeps(what) : count_allocations(what);
  return 0;
}

}  // namespace
}  // namespace obart::testing

int main(int argc, char** argv) {
  try {
    return obart::testing::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
