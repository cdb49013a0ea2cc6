// Python's view of the core: conversions only, no logic.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "backend/distributed/distributed_backend.h"
#include "base/even_student_t.h"
#include "base/simd.h"
#include "draws/predict.h"
#include "draws/replace.h"
#include "python/arrays.h"
#include "python/card.h"
#include "python/directions.h"
#include "python/state.h"
#include "sweep/draw_prior.h"
#include "sweep/sampler.h"

namespace obart {
namespace {

using namespace nb::literals;

const auto kUnlocked = nb::call_guard<nb::gil_scoped_release>();

std::shared_ptr<Data> make_data(In<float, 2> x_cont, In<std::uint32_t, 2> x_cat,
                                std::vector<std::uint32_t> n_levels,
                                std::optional<In<std::int64_t, 1>> order) {
  if (x_cont.shape(1) != x_cat.shape(1))
    throw nb::value_error("x_cont and x_cat must have the same number of rows");
  if (order && order->shape(0) != x_cont.shape(1))
    throw nb::value_error("order must have one entry per row");
  return std::make_shared<Data>(static_cast<std::int64_t>(x_cont.shape(1)),
                                static_cast<std::int64_t>(x_cont.shape(0)), x_cont.data(),
                                static_cast<std::int64_t>(x_cat.shape(0)), x_cat.data(),
                                std::move(n_levels), order ? order->data() : nullptr);
}

// One number per row, or several: then a row of the array is a column of the outcomes.
using Outcomes = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

void check_outcomes(const Data& data, const Outcomes& y, std::size_t n_columns) {
  const std::size_t given = y.ndim() == 2 ? y.shape(0) : 1;
  const auto n_rows = static_cast<std::size_t>(data.n_rows());
  if (y.ndim() < 1 || y.ndim() > 2 || y.shape(y.ndim() - 1) != n_rows)
    throw nb::value_error("y must have one entry per row");
  if (given != n_columns)
    throw nb::value_error(("y must have " + std::to_string(n_columns) + " numbers per row, not " +
                           std::to_string(given))
                              .c_str());
}

void check_rows(const Data& data, const DoubleVector& values, const char* name) {
  if (static_cast<std::int64_t>(values.shape(0)) != data.n_rows())
    throw nb::value_error((std::string(name) + " must have one entry per row").c_str());
}

// ---- settings ----------------------------------------------------------------------------------

// A class whose properties forward to members of its parts; it notes their names.
template <class Owner>
struct SettingsClass : nb::class_<Owner> {
  using nb::class_<Owner>::class_;
  nb::list names;
};

template <class Class, class Part, class Member>
void bind_part(Class& c, const char* name, Part part, Member member) {
  c.names.append(name);
  using Owner = typename Class::Type;
  using T = std::decay_t<decltype(part(std::declval<Owner&>()).*member)>;
  c.def_prop_rw(
      name, [=](Owner& s) { return T(part(s).*member); },
      [=](Owner& s, const T& value) { part(s).*member = value; });
}

// The settings of an ensemble by flat names.
template <class Class, class Get>
void bind_ensemble_settings(Class& c, Get ensemble) {
  using Owner = typename Class::Type;
  const auto depth = [=](Owner& s) -> auto& { return ensemble(s).depth; };
  const auto rules = [=](Owner& s) -> auto& { return ensemble(s).rules; };
  const auto leaf = [=](Owner& s) -> auto& { return ensemble(s).leaf; };
  const auto moves = [=](Owner& s) -> auto& { return ensemble(s).moves; };
  bind_part(c, "n_trees", ensemble, &EnsembleSettings::n_trees);
  bind_part(c, "min_samples_leaf", ensemble, &EnsembleSettings::min_samples_leaf);
  bind_part(c, "hidden_columns", ensemble, &EnsembleSettings::hidden_columns);
  bind_part(c, "alpha", depth, &DepthSettings::alpha);
  bind_part(c, "beta", depth, &DepthSettings::beta);
  bind_part(c, "max_depth", depth, &DepthSettings::max_depth);
  bind_part(c, "axis_rules", rules, &RuleSettings::axis_rules);
  bind_part(c, "theta", rules, &RuleSettings::theta);
  bind_part(c, "theta_fixed", rules, &RuleSettings::theta_fixed);
  bind_part(c, "theta_a", rules, &RuleSettings::theta_a);
  bind_part(c, "theta_b", rules, &RuleSettings::theta_b);
  bind_part(c, "theta_by_column", rules, &RuleSettings::theta_by_column);
  c.names.append("directions");
  c.def_prop_rw(
      "directions", [=](Owner& s) { return directions_to_list(rules(s).directions); },
      [=](Owner& s, const nb::list& values) {
        rules(s).directions = directions_from_list(values);
      });
  bind_part(c, "leaf_model", leaf, &LeafSettings::model);
  bind_part(c, "leaf_sd", leaf, &LeafSettings::leaf_sd);
  bind_part(c, "leaf_sd_fixed", leaf, &LeafSettings::leaf_sd_fixed);
  bind_part(c, "leaf_shape", leaf, &LeafSettings::leaf_shape);
  bind_part(c, "leaf_rate", leaf, &LeafSettings::leaf_rate);
  bind_part(c, "scale_jointly", leaf, &LeafSettings::scale_jointly);
  bind_part(c, "output_correlation", leaf, &LeafSettings::output_correlation);
  bind_part(c, "perturb_angle", moves, &MoveSettings::perturb_angle);
  bind_part(c, "perturb_shift", moves, &MoveSettings::perturb_shift);
  // Shares of the moves but grow and prune, which get the rest: p_change and so on.
  for (std::size_t k = static_cast<std::size_t>(MoveKind::prune) + 1; k < kNumMoves; ++k) {
    const std::string name = std::string("p_") + kMoveNames[k];
    c.names.append(name);
    c.def_prop_rw(
        name.c_str(), [=](Owner& s) { return moves(s).share[k]; },
        [=](Owner& s, double share) { moves(s).share[k] = share; });
  }
}

void bind_settings(nb::module_& m) {
  SettingsClass<EnsembleSettings> e(m, "EnsembleSettings", "Settings of an ensemble of a chain.");
  bind_ensemble_settings(e, [](EnsembleSettings& s) -> auto& { return s; });
  m.attr("ENSEMBLE_SETTINGS") = nb::tuple(e.names);

  SettingsClass<Settings> c(
      m, "Settings",
      "Settings of a chain, in units of the standardised outcome. Those of its "
      "first ensemble have their names here too.");
  bind_ensemble_settings(c, [](Settings& s) -> auto& { return s.ensembles[0]; });
  const auto likelihood = [](Settings& s) -> auto& { return s.likelihood; };
  bind_part(c, "likelihood", likelihood, &LikelihoodSettings::name);
  bind_part(c, "offset", likelihood, &LikelihoodSettings::offset);
  bind_part(c, "sigma", likelihood, &LikelihoodSettings::sigma);
  bind_part(c, "sigma_fixed", likelihood, &LikelihoodSettings::sigma_fixed);
  bind_part(c, "nu", likelihood, &LikelihoodSettings::nu);
  bind_part(c, "lambda_", likelihood, &LikelihoodSettings::lambda);
  bind_part(c, "more", likelihood, &LikelihoodSettings::more);
  m.attr("SETTINGS") = nb::tuple(c.names);
  c.def(nb::init<>())
      .def("verify",
           [](const Settings& s) {
             s.verify();
             make_likelihood(Data::without_columns(0, 0, {}), s);  // it checks its own settings
           })
      .def_rw("n_threads", &Settings::n_threads)
      .def_rw("threads_fixed", &Settings::threads_fixed)
      .def_rw("long_sweep", &Settings::long_sweep)
      .def_rw("backend", &Settings::backend)
      .def("copy", [](const Settings& s) { return s; })
      .def_prop_ro("n_ensembles", [](const Settings& s) { return s.ensembles.size(); })
      .def("add_ensemble", [](Settings& s) { s.ensembles.emplace_back(); })
      .def(
          "ensemble",
          [](Settings& s, std::size_t index) -> EnsembleSettings& { return s.ensembles.at(index); },
          "index"_a, nb::rv_policy::reference_internal);
}

// ---- draws -------------------------------------------------------------------------------------

nb::ndarray<nb::numpy, float> predict(const Draws& draws, const Data& data, const std::string& link,
                                      double offset, std::int64_t n_threads) {
  const auto n = static_cast<std::size_t>(data.n_rows());
  const auto n_draws = static_cast<std::size_t>(draws.n_draws());
  std::vector<float> out(n * n_draws);
  const PredictOptions options{find_link(link), offset, n_threads};
  {
    const nb::gil_scoped_release unlocked;
    predict_draws(draws, data, options, out.data());
  }
  return to_numpy(std::move(out), {n_draws, n});
}

nb::dict summary(const Draws& draws, const Data& data, const std::string& link, double offset,
                 std::vector<double> quantiles, std::optional<DoubleVector> noise_scale,
                 std::optional<DoubleVector> noise_df, std::int64_t n_threads) {
  const auto n = static_cast<std::size_t>(data.n_rows());
  if (draws.n_draws() == 0) throw nb::value_error("summarise: there are no draws");
  if (noise_scale && noise_scale->shape(0) != static_cast<std::size_t>(draws.n_draws()))
    throw nb::value_error("noise_scale must have one entry per draw");
  if (noise_df && noise_df->shape(0) != static_cast<std::size_t>(draws.n_draws()))
    throw nb::value_error("noise_df must have one entry per draw");
  const std::size_t n_quantiles = quantiles.size();
  for (const double q : quantiles)
    if (!(q >= 0.0 && q <= 1.0)) throw nb::value_error("quantiles must be in [0, 1]");
  std::vector<double> mean(n);
  std::vector<double> sd(n);
  std::vector<double> at(n * n_quantiles);
  const PredictOptions options{find_link(link), offset, n_threads};
  SummaryRequest request{std::move(quantiles), noise_scale ? noise_scale->data() : nullptr};
  if (noise_df) request.noise_df = noise_df->data();
  {
    const nb::gil_scoped_release unlocked;
    summarise(draws, data, options, request, {mean.data(), sd.data(), at.data()});
  }
  nb::dict out;
  out["mean"] = to_numpy(std::move(mean));
  out["sd"] = to_numpy(std::move(sd));
  out["quantiles"] = to_numpy(std::move(at), {n_quantiles, n});
  return out;
}

nb::dict replaced(const std::vector<const Draws*>& draws, const std::vector<double>& offsets,
                  const std::string& link, In<std::int64_t, 1> index, const Data& data,
                  const Replacements& replacements, std::int64_t n_threads) {
  const KeptEnsembles ensembles{draws, offsets, find_link(link)};
  const std::size_t n_draws = index.shape(0);
  const std::size_t n_ensembles = draws.size();
  const auto n_replacements = static_cast<std::size_t>(replacements.size());
  std::vector<double> mean(n_draws * n_ensembles);
  std::vector<double> variance(mean.size());
  std::vector<double> change(mean.size() * n_replacements);
  std::vector<double> square(change.size());
  {
    const nb::gil_scoped_release unlocked;
    replace_columns(ensembles, {index.data(), n_draws}, data, replacements, n_threads,
                    {mean.data(), variance.data(), change.data(), square.data()});
  }
  nb::dict out;
  out["mean"] = to_numpy(std::move(mean), {n_draws, n_ensembles});
  out["variance"] = to_numpy(std::move(variance), {n_draws, n_ensembles});
  out["change"] = to_numpy(std::move(change), {n_draws, n_replacements, n_ensembles});
  out["square"] = to_numpy(std::move(square), {n_draws, n_replacements, n_ensembles});
  return out;
}

void bind_replacements(nb::module_& m) {
  m.def(
      "swap_columns",
      [](const std::vector<const Draws*>& draws, const std::vector<double>& offsets,
         const std::string& link, In<std::int64_t, 1> index, const Data& data, const Data& other,
         std::int64_t n_threads) {
        const Replacements columns = Replacements::columns_of(other);
        return replaced(draws, offsets, link, index, data, columns, n_threads);
      },
      "draws"_a, "offsets"_a, "link"_a, "index"_a, "x"_a, "other"_a, "n_threads"_a = 1,
      "What becomes of predictions if one column is that of another table, for each column and "
      "for the draws of this index.");
  m.def(
      "fix_column",
      [](const std::vector<const Draws*>& draws, const std::vector<double>& offsets,
         const std::string& link, In<std::int64_t, 1> index, const Data& data, const Data& grid,
         std::int64_t column, std::int64_t n_threads) {
        const Replacements constants = Replacements::constants(grid, column);
        return replaced(draws, offsets, link, index, data, constants, n_threads);
      },
      "draws"_a, "offsets"_a, "link"_a, "index"_a, "x"_a, "grid"_a, "column"_a, "n_threads"_a = 1,
      "The same if a column has one value in all rows, for each of its values in a grid.");
}

void bind_draws(nb::module_& m) {
  nb::class_<Draws>(m, "Draws", "Kept ensembles as flat arrays.")
      .def_prop_ro("n_draws", &Draws::n_draws)
      .def_prop_ro("n_trees", &Draws::n_trees)
      .def_prop_ro("nbytes", &Draws::nbytes)
      .def("to_arrays", [](const Draws& draws) { return draws_to_dict(draws); })
      .def_static(
          "from_arrays",
          [](const nb::dict& arrays, std::int64_t p_cont, std::vector<std::uint32_t> n_levels) {
            return draws_from_dict(arrays, "", p_cont, std::move(n_levels));
          },
          "arrays"_a, "p_cont"_a, "n_levels"_a)
      .def("append", &Draws::append, "other"_a)
      .def("predict", &predict, "x"_a, "link"_a = "identity", "offset"_a = 0.0, "n_threads"_a = 1)
      .def("summarise", &summary, "x"_a, "link"_a = "identity", "offset"_a = 0.0,
           "quantiles"_a = std::vector<double>{}, "noise_scale"_a = nb::none(),
           "noise_df"_a = nb::none(), "n_threads"_a = 1)
      .def(
          "leaf_codes",
          [](const Draws& draws, const Data& data, std::int64_t draw, std::int64_t tree) {
            std::vector<std::uint8_t> out(static_cast<std::size_t>(data.n_rows()));
            leaf_codes(draws, data, draw, tree, out.data());
            return to_numpy(std::move(out));
          },
          "x"_a, "draw"_a, "tree"_a);
}

// ---- chains ------------------------------------------------------------------------------------

nb::dict trace_dict(const Sampler& sampler) {
  nb::dict out;
  const Trace& trace = sampler.trace();
  for (std::size_t k = 0; k < trace.names.size(); ++k)
    out[trace.names[k].c_str()] = copy_to_numpy(trace.values[k]);
  out["burn_sigma"] = copy_to_numpy(sampler.burn_sigma());
  return out;
}

nb::dict counters_dict(const Sampler& sampler) {
  nb::dict out;
  const MoveCounts& counts = sampler.ensemble().total_moves;
  for (std::size_t k = 0; k < kNumMoves; ++k) {
    const std::string move = kMoveNames[k];
    out[("proposed_" + move).c_str()] = counts.proposed[k];
    out[("accepted_" + move).c_str()] = counts.accepted[k];
    out[("invalid_" + move).c_str()] = counts.invalid[k];
  }
  out["invalid_lp"] = sampler.n_failed_lps();
  return out;
}

// ---- workers -----------------------------------------------------------------------------------

// Calls a Python function, from the thread that runs the chain.
class PythonCollective final : public Collective {
 public:
  explicit PythonCollective(nb::callable sum) : sum_(std::move(sum)) {}
  void sum(std::span<double> values) override {
    const nb::gil_scoped_acquire locked;
    const nb::ndarray<nb::numpy, double, nb::ndim<1>> view(values.data(), {values.size()});
    sum_(nb::cast(view, nb::rv_policy::reference));
  }

 private:
  nb::callable sum_;
};

// One of the workers among which the rows of a chain are shared out.
struct Workers {
  Partition partition;
  std::shared_ptr<Collective> collective;

  void check(const Data& data) const {
    if (data.n_rows() != partition.n_own_rows() || data.first_row() != partition.first_row() ||
        data.n_rows_in_all() != partition.n_rows_in_all())
      throw nb::value_error("data must be the worker's part of the table");
  }
};

void bind_workers(nb::module_& m) {
  nb::class_<Workers>(m, "Workers", "Who has which rows of a chain, and how sums are exchanged.")
      .def(
          "__init__",
          [](Workers* self, const std::vector<std::int64_t>& first_rows, std::int64_t n_rows,
             std::size_t worker, nb::callable sum) {
            new (self) Workers{Partition(first_rows, n_rows, worker),
                               std::make_shared<PythonCollective>(std::move(sum))};
          },
          "first_rows"_a, "n_rows"_a, "worker"_a, "sum"_a,
          "The first row of each worker, a multiple of BLOCK_ROWS; the number of this one; and a "
          "function that adds up an array over all workers, in place.");
}

void bind_sampler(nb::module_& m) {
  nb::class_<Control>(m, "Control", "Stops a run from another thread, and shows how far it is.")
      .def(nb::init<>())
      .def("stop", &Control::stop)
      .def_prop_ro("stopped", &Control::stopped)
      .def(
          "report",
          [](Control& c, const nb::dict& now) {
            Control::Snapshot snapshot;
            for (const auto& [key, value] : now) {
              const auto name = nb::cast<std::string>(key);
              const auto number = nb::cast<double>(value);
              if (name == "sweep")
                snapshot.sweep = static_cast<std::int64_t>(number);
              else if (name == "sigma")
                snapshot.sigma = number;
              else if (name == "acceptance")
                snapshot.acceptance = number;
              else
                snapshot.scales.push_back({name, number});
            }
            c.report(std::move(snapshot));
          },
          "now"_a, "What `snapshot` returns, of a chain that runs elsewhere.")
      .def("snapshot", [](const Control& c) {
        nb::dict out;
        const Control::Snapshot now = c.snapshot();
        out["sweep"] = now.sweep;
        out["sigma"] = now.sigma;
        out["acceptance"] = now.acceptance;
        for (const NamedScale& scale : now.scales) out[scale.name.c_str()] = scale.value;
        return out;
      });

  nb::class_<Sampler>(m, "Sampler", "One chain.")
      .def(
          "__init__",
          [](Sampler* self, std::shared_ptr<Data> data, Outcomes y,
             std::optional<DoubleVector> weights, const Settings& settings, std::uint64_t seed,
             std::uint64_t chain, const Workers* workers) {
            check_outcomes(*data, y, make_likelihood(*data, settings)->n_columns());
            if (weights) check_rows(*data, *weights, "weights");
            std::unique_ptr<Backend> backend;
            if (workers != nullptr) {
              workers->check(*data);
              backend = std::make_unique<DistributedBackend>(
                  workers->partition, workers->collective,
                  Threads{settings.n_threads, settings.threads_fixed});
            }
            new (self) Sampler(data, y.data(), weights ? weights->data() : nullptr, settings, seed,
                               chain, std::move(backend));
          },
          "data"_a, "y"_a, "weights"_a.none(), "settings"_a, "seed"_a, "chain"_a,
          "workers"_a = nb::none())
      .def(
          "sweep",
          [](Sampler& s, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i) s.sweep();
          },
          "n"_a = 1, kUnlocked)
      .def("advance", &Sampler::advance, "n"_a, "control"_a, kUnlocked)
      .def("run", &Sampler::run, "n_burn"_a, "n_draws"_a, "n_thin"_a, "control"_a, kUnlocked)
      .def_prop_ro(
          "draws", [](const Sampler& s) { return s.draws(); }, nb::rv_policy::move)
      .def_prop_ro("trace", &trace_dict)
      .def_prop_ro("n_sweeps", [](const Sampler& s) { return s.state().n_sweeps; })
      .def_prop_ro("counters", &counters_dict)
      .def_prop_rw(
          "sigma", [](const Sampler& s) { return s.state().sigma; },
          [](Sampler& s, double sigma) { s.state().sigma = sigma; })
      .def_prop_rw(
          "leaf_sd", [](const Sampler& s) { return s.ensemble().leaf_sd; },
          [](Sampler& s, double leaf_sd) { s.state().ensembles[0].leaf_sd = leaf_sd; })
      .def_prop_rw(
          "theta", [](const Sampler& s) { return mean_theta(s.ensemble()); },
          [](Sampler& s, double theta) { s.state().ensembles[0].set_theta({theta}); })
      .def_prop_rw(
          "column_theta", [](const Sampler& s) { return s.ensemble().theta; },
          [](Sampler& s, const std::vector<double>& theta) {
            s.state().ensembles[0].set_theta(theta);
          })
      .def_prop_rw(
          "direction_weights", [](const Sampler& s) { return s.ensemble().direction_weights; },
          [](Sampler& s, const std::vector<double>& weights) {
            s.state().ensembles[0].set_direction_weights(weights);
          })
      .def_prop_ro("n_threads", &Sampler::n_threads)
      .def_prop_ro("n_ensembles", [](const Sampler& s) { return s.state().ensembles.size(); })
      .def(
          "draws_of", [](const Sampler& s, std::size_t e) { return s.draws(e); }, "ensemble"_a)
      .def(
          "ensemble", [](const Sampler& s, std::size_t e) { return s.ensemble(e).to_draws(); },
          "ensemble"_a = 0)
      .def("state", [](Sampler& s) { return record_to_dict(s.state()); })
      .def(
          "set_state",
          [](Sampler& s, const nb::dict& state) { s.restore(record_from_dict(s.state(), state)); },
          "state"_a)
      .def(
          "set_draws", [](Sampler& s, const Draws& draws, std::size_t e) { s.set_draws(draws, e); },
          "draws"_a, "ensemble"_a = 0)
      .def(
          "set_ensemble",
          [](Sampler& s, const Draws& draws, std::int64_t index, std::size_t e) {
            s.set_ensemble(draws, index, e);
          },
          "draws"_a, "index"_a = 0, "ensemble"_a = 0)
      .def(
          "set_y",
          [](Sampler& s, Outcomes y) {
            check_outcomes(s.data(), y, s.state().likelihood->n_columns());
            s.set_y(y.data());
          },
          "y"_a)
      .def(
          "fit", [](const Sampler& s, std::size_t e) { return to_numpy(s.ensemble(e).fit()); },
          "ensemble"_a = 0)
      .def(
          "residual",
          [](Sampler& s, std::size_t e) {
            const float* residual = s.state().ensembles.at(e).residual.data();
            return to_numpy(std::vector<float>(residual, residual + s.data().n_rows()));
          },
          "ensemble"_a = 0)
      .def(
          "set_theta",
          [](Sampler& s, const std::vector<double>& theta, std::size_t e) {
            s.state().ensembles.at(e).set_theta(theta);
          },
          "theta"_a, "ensemble"_a)
      .def(
          "set_value",
          [](Sampler& s, const std::string& name, double value) {
            for (const Field& field : s.state().fields())
              if (field.name == name && std::holds_alternative<double*>(field.place)) {
                field.check(value);
                field.restore(value);
                return;
              }
            throw nb::value_error(("the state has no number " + name).c_str());
          },
          "name"_a, "value"_a, "Change a number of the state.")
      .def("check", &Sampler::check);
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of obliquebart.";
  // At exit a traceback may still hold chains, after Ctrl-C for example: nothing for users to read.
  nb::set_leak_warnings(false);
  const auto names = [](const auto& list) {
    nb::list out;
    for (const char* name : list) out.append(name);
    return nb::tuple(out);
  };
  m.attr("MOVES") = names(kMoveNames);
  m.attr("LIKELIHOODS") = names(kLikelihoodNames);
  m.attr("DRAW_FORMAT") = draw_format();
  m.attr("BLOCK_ROWS") = kBlockRows;
  m.attr("FEWEST_MASKED_ROWS") = CodeMasks::kFewestBlocks * kBlockRows;
  m.def("simd_level", [] { return simd_name(chosen_simd()); });
  m.def(
      "chain_bytes",
      [](std::int64_t n_rows, std::int64_t n_trees) { return n_rows * n_trees * 9 / 8; },
      "n_rows"_a, "n_trees"_a,
      "Memory that a chain needs at least: a byte and a bit per row and tree.");
  m.def(
      "log",
      [](DoubleVector x) {
        std::vector<double> out(x.shape(0));
        std::transform(x.data(), x.data() + x.shape(0), out.begin(), &det_log);
        return to_numpy(std::move(out));
      },
      "x"_a, "Natural logarithms, with the same bits on every machine.");
  nb::class_<Data>(m, "Data", "Columns shared by all chains.")
      .def(nb::new_(&make_data), "x_cont"_a, "x_cat"_a, "n_levels"_a, "order"_a = nb::none())
      .def_prop_ro("n_rows", &Data::n_rows)
      .def(
          "as_part",
          [](const Data& data, std::int64_t first_row, std::int64_t n_rows_in_all,
             const std::vector<bool>& has_missing) {
            return std::make_shared<Data>(
                data.as_part(first_row, n_rows_in_all, {has_missing.begin(), has_missing.end()}));
          },
          "first_row"_a, "n_rows_in_all"_a, "has_missing"_a,
          "The same rows as a part of a table, whose other rows are elsewhere. A column may have "
          "missing values there.")
      .def_prop_ro("p_cont", &Data::p_cont)
      .def_prop_ro("p_cat", &Data::p_cat);
  bind_settings(m);
  bind_draws(m);
  bind_replacements(m);
  bind_workers(m);
  bind_sampler(m);
  bind_card(m);
  m.def(
      "check_state",
      [](const Settings& settings, std::int64_t p_cont, const std::vector<std::uint32_t>& n_levels,
         const nb::dict& state, const std::vector<Draws>& kept) {
        settings.verify();
        const Data data = Data::without_columns(count_state_rows(state), p_cont, n_levels);
        ChainState chain(data, settings, Rng(0, 0), {});
        chain.check(record_from_dict(chain, state), kept);
      },
      "settings"_a, "p_cont"_a, "n_levels"_a, "state"_a, "kept"_a,
      "Raise ValueError unless a chain with these settings could go on from this state, and append "
      "to what it has kept: draws by ensemble, or none.");
  m.def(
      "draw_prior",
      [](std::shared_ptr<Data> data, const Settings& settings, std::uint64_t seed,
         std::uint64_t stream) {
        settings.verify();
        Rng rng(seed, stream);
        PriorDraw draw = draw_prior(*data, settings, rng);
        nb::dict scales;
        scales["sigma"] = draw.sigma;
        for (const NamedScale& scale : draw.scales) scales[scale.name.c_str()] = scale.value;
        for (std::size_t e = 0; e < draw.ensembles.size(); ++e) {
          const std::string prefix = ensemble_prefix(e);
          scales[(prefix + "theta").c_str()] = copy_to_numpy(draw.ensembles[e].theta);
          scales[(prefix + "leaf_sd").c_str()] = draw.ensembles[e].leaf_sd;
          scales[(prefix + "direction_weights").c_str()] =
              copy_to_numpy(draw.ensembles[e].direction_weights);
          if (e > 0) scales[(prefix + "trees").c_str()] = nb::cast(draw.ensembles[e].trees);
        }
        return std::pair<Draws, nb::dict>(std::move(draw.ensembles[0].trees), scales);
      },
      "data"_a, "settings"_a, "seed"_a, "stream"_a,
      "The first ensemble from the prior, and what was drawn with it, by name.");
}

}  // namespace obart
