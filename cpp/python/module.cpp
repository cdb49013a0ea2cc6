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
#include "python/arrays.h"
#include "python/card.h"
#include "python/draws.h"
#include "python/settings.h"
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
      .def_prop_ro("tree_scales", [](const Sampler& s) { return s.ensemble().tree_scales; })
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
          "set_tree_scales",
          [](Sampler& s, const std::vector<double>& scales, std::size_t e) {
            s.state().ensembles.at(e).set_tree_scales(scales);
          },
          "scales"_a, "ensemble"_a = 0)
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
          scales[(prefix + "tree_scales").c_str()] = copy_to_numpy(draw.ensembles[e].tree_scales);
          if (e > 0) scales[(prefix + "trees").c_str()] = nb::cast(draw.ensembles[e].trees);
        }
        return std::pair<Draws, nb::dict>(std::move(draw.ensembles[0].trees), scales);
      },
      "data"_a, "settings"_a, "seed"_a, "stream"_a,
      "The first ensemble from the prior, and what was drawn with it, by name.");
}

}  // namespace obart
