#include "scenarios.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace obart::testing {
namespace {

constexpr double kPi = 3.14159265358979323846;

void standardise(std::vector<double>& y) {
  const auto n = static_cast<double>(y.size());
  double mean = 0.0;
  for (const double value : y) mean += value / n;
  double variance = 0.0;
  for (const double value : y) variance += (value - mean) * (value - mean) / n;
  for (double& value : y) value = (value - mean) / std::sqrt(variance);
}

// Trees of an effect, which do not see the last column.
void add_effect(Settings& s, const char* likelihood) {
  s.likelihood.name = likelihood;
  s.likelihood.more["n_treatments"] = s.likelihood.more["codes_arms"] = 1.0;
  s.likelihood.more["level_sd"] = 0.5;
  s.ensembles[0].leaf.leaf_sd_fixed = false;
  EnsembleSettings effect = s.ensembles[0];
  effect.n_trees = 50;
  effect.hidden_columns = 1;
  effect.depth = {.alpha = 0.25, .beta = 3.0};
  effect.leaf.leaf_sd = 0.15;
  s.ensembles.push_back(effect);
}

std::vector<Scenario> all() {
  const auto nothing = [](Settings&) {};
  const auto threads = [](Settings& s) { s.n_threads = 2, s.threads_fixed = true; };
  const auto soft = [](Settings& s) {
    s.ensembles[0].rules.soft = true;
    s.ensembles[0].leaf.leaf_sd_fixed = false;
    s.ensembles[0].moves[MoveKind::change] = 0.2;
    s.ensembles[0].moves[MoveKind::perturb] = 0.3;
  };
  return {
      {"oblique", {}, nothing},
      {"axis", {}, [](Settings& s) { s.ensembles[0].rules.axis_rules = true; }},
      {"empty_leaves", {}, [](Settings& s) { s.ensembles[0].min_samples_leaf = 0; }},
      {"missing", {.missing = true}, nothing},
      {"weighted", {.weighted = true}, nothing},
      {"probit",
       {.binary = true},
       [](Settings& s) {
         s.likelihood.name = "probit";
         s.ensembles[0].leaf.leaf_sd = 1.5 / std::sqrt(200.0);
       }},
      {"probit_defaults",
       {.binary = true},
       [](Settings& s) {
         s.likelihood.name = "probit";
         s.ensembles[0].leaf.leaf_sd = 1.5 / std::sqrt(200.0);
         s.ensembles[0].leaf.leaf_sd_fixed = false;
         s.ensembles[0].leaf.output_correlation = -0.95;
         s.ensembles[0].moves[MoveKind::change] = 0.2;
         s.ensembles[0].moves[MoveKind::perturb] = 0.3;
       }},
      {"weighted_probit",
       {.weighted = true, .binary = true},
       [](Settings& s) {
         s.likelihood.name = "weighted_probit";
         s.ensembles[0].leaf.leaf_sd = 1.5 / std::sqrt(200.0);
         s.ensembles[0].leaf.leaf_sd_fixed = false;
       }},
      {"logit",
       {.binary = true},
       [](Settings& s) {
         s.likelihood.name = "logit";
         s.ensembles[0].leaf.leaf_sd = 2.6 / std::sqrt(200.0);
         s.ensembles[0].leaf.leaf_sd_fixed = false;
       }},
      {"softmax",
       {.binary = true},
       [](Settings& s) {
         s.likelihood.name = "softmax";
         s.likelihood.more = {{"offset.0", 0.0}, {"offset.1", 0.0}};
         s.ensembles[0].leaf.leaf_sd = 2.6 / std::sqrt(200.0);
         s.ensembles[0].leaf.leaf_sd_fixed = false;
         s.ensembles.push_back(s.ensembles[0]);
       }},
      {"causal",
       {.weighted = true, .treated = true},
       [](Settings& s) { add_effect(s, "causal_gaussian"); }},
      {"causal_probit",
       {.binary = true, .treated = true},
       [](Settings& s) { add_effect(s, "causal_probit"); }},
      {"causal_varying",
       {.treated = true},
       [](Settings& s) {
         s.ensembles.push_back(s.ensembles[0]);
         s.ensembles[1].n_trees = 40;
         s.ensembles[1].leaf.model = "precision";
         s.ensembles[1].leaf.leaf_sd = 0.1;
         s.likelihood.more["df"] = 6.0;
         add_effect(s, "causal_varying_noise");
       }},
      {"categorical", {.p_cont = 0, .n_levels = {500, 40, 3, 2}}, nothing},
      {"mixed", {.p_cont = 5, .n_levels = {500, 3}}, nothing},
      {"moves",
       {.p_cont = 10, .n_levels = {60}},
       [](Settings& s) {
         s.ensembles[0].moves[MoveKind::change] = 0.2;
         s.ensembles[0].moves[MoveKind::perturb] = 0.3;
       }},
      {"theta_by_column",
       {},
       [](Settings& s) {
         s.ensembles[0].rules.theta_by_column = true;
         s.ensembles[0].rules.theta_a = 10.0;
         s.ensembles[0].rules.theta_b = 90.0;
         s.ensembles[0].leaf.leaf_sd_fixed = false;
       }},
      {"axis_theta_by_column",
       {},
       [](Settings& s) {
         s.ensembles[0].rules.axis_rules = s.ensembles[0].rules.theta_by_column = true;
         s.ensembles[0].rules.theta_a = 1.0;
       }},
      {"dense",
       {},
       [](Settings& s) {
         s.ensembles[0].rules.theta = 0.9, s.ensembles[0].rules.theta_fixed = true;
       }},
      {"many_columns",
       {.p_cont = 1000},
       [](Settings& s) { s.ensembles[0].rules.theta_b = 200.0 * 999; }},
      {"wide_trees",
       {},
       [](Settings& s) {
         s.ensembles[0].n_trees = 10;
         s.ensembles[0].depth.beta = 0.1;
         s.ensembles[0].leaf.leaf_sd = 0.3;
       }},
      {"soft", {.n_levels = {4}, .weighted = true, .missing = true}, soft},
      {"soft_axis",
       {},
       [=](Settings& s) {
         soft(s);
         s.ensembles[0].rules.axis_rules = true;
       }},
      {"soft_threads",
       {.weighted = true},
       [=](Settings& s) {
         soft(s);
         threads(s);
       }},
      {"threads", {}, threads},
  };
}

}  // namespace

Table make_table(std::int64_t n_rows, const Shape& shape) {
  Rng rng(1, 0);
  const auto n = static_cast<std::size_t>(n_rows);
  const std::size_t p_cat = shape.n_levels.size();
  // Friedman's five columns, whatever the table shows of them: first columns, or coarse levels.
  const auto p_cont = static_cast<std::size_t>(shape.p_cont);
  const std::size_t p = std::max<std::size_t>({5, p_cont, p_cat});
  std::vector<float> u(p * n);
  for (float& value : u) value = static_cast<float>(rng.uniform());
  std::vector<double> y(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = [&](std::size_t j) { return static_cast<double>(u[j * n + i]); };
    y[i] = 10.0 * std::sin(kPi * x(0) * x(1)) + 20.0 * (x(2) - 0.5) * (x(2) - 0.5) + 10.0 * x(3) +
           5.0 * x(4) + rng.normal();
  }
  standardise(y);
  if (shape.binary)
    for (double& value : y) value = value > 0.0 ? 1.0 : 0.0;

  std::vector<float> x_cont(p_cont * n);
  for (std::size_t k = 0; k < x_cont.size(); ++k) {
    x_cont[k] = 2.0F * u[k] - 1.0F;
    if (shape.missing && rng.below(50) == 0) x_cont[k] = std::numeric_limits<float>::quiet_NaN();
  }
  std::vector<std::uint32_t> x_cat(p_cat * n);
  for (std::size_t k = 0; k < x_cat.size(); ++k)
    x_cat[k] = static_cast<std::uint32_t>(u[k] * static_cast<float>(shape.n_levels[k / n]));

  if (shape.treated)
    for (std::size_t i = 0; i < n; ++i) y.push_back(rng.coin() ? 1.0 : 0.0);

  Table table;
  table.data =
      std::make_shared<const Data>(n_rows, shape.p_cont, x_cont.data(),
                                   static_cast<std::int64_t>(p_cat), x_cat.data(), shape.n_levels);
  table.y = std::move(y);
  if (shape.weighted) {
    table.weights.resize(n);
    for (double& weight : table.weights) weight = 0.5 + rng.uniform();
  }
  return table;
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> list = all();
  return list;
}

const Scenario& scenario(std::string_view name) {
  for (const Scenario& candidate : scenarios())
    if (candidate.name == name) return candidate;
  throw std::invalid_argument("no scenario " + std::string(name));
}

// The paper's prior for an outcome that spans about five standard deviations.
Settings make_settings(const Scenario& scenario) {
  Settings settings;
  settings.ensembles[0].leaf.leaf_sd = 5.0 / (4.0 * std::sqrt(200.0));
  settings.ensembles[0].leaf.leaf_rate =
      2.5 * settings.ensembles[0].leaf.leaf_sd * settings.ensembles[0].leaf.leaf_sd;
  settings.likelihood.sigma = 0.5;
  settings.likelihood.lambda = 0.2;
  settings.ensembles[0].rules.theta = 0.1;
  settings.ensembles[0].rules.theta_a = 200.0;
  settings.ensembles[0].rules.theta_b = 1800.0;
  scenario.adjust(settings);
  return settings;
}

std::unique_ptr<Sampler> make_sampler(const Table& table, const Settings& settings,
                                      std::uint64_t chain) {
  return std::make_unique<Sampler>(table.data, table.y.data(),
                                   table.weights.empty() ? nullptr : table.weights.data(), settings,
                                   std::uint64_t{7}, chain);
}

}  // namespace obart::testing
