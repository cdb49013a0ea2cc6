// Python's view of the core: conversions only, no logic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "predict.h"
#include "sampler.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace obart {
namespace {

template <class T, int Dim>
using In = nb::ndarray<const T, nb::ndim<Dim>, nb::c_contig, nb::device::cpu>;
using DoubleVector = In<double, 1>;

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, std::vector<std::size_t> shape = {}) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (shape.empty()) shape = {owned->size()};
  return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class T>
std::vector<T> from_numpy(const nb::dict& arrays, const char* name) {
  if (!arrays.contains(name))
    throw nb::value_error((std::string("draws: array ") + name + " is missing").c_str());
  nb::ndarray<const T, nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(arrays[name], array, false))
    throw nb::value_error((std::string("draws: array ") + name + " has the wrong type").c_str());
  return std::vector<T>(array.data(), array.data() + array.size());
}

LikelihoodKind likelihood_from(const std::string& name) {
  if (name == "gaussian") return LikelihoodKind::gaussian;
  if (name == "probit") return LikelihoodKind::probit;
  if (name == "none") return LikelihoodKind::none;
  throw nb::value_error("likelihood must be 'gaussian', 'probit' or 'none'");
}
const char* likelihood_name(LikelihoodKind kind) {
  switch (kind) {
    case LikelihoodKind::gaussian:
      return "gaussian";
    case LikelihoodKind::probit:
      return "probit";
    default:
      return "none";
  }
}
Link link_from(const std::string& name) {
  if (name == "identity") return Link::identity;
  if (name == "probit") return Link::probit;
  throw nb::value_error("link must be 'identity' or 'probit'");
}

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

void check_rows(const Data& data, const DoubleVector& values, const char* name) {
  if (static_cast<std::int64_t>(values.shape(0)) != data.n_rows())
    throw nb::value_error((std::string(name) + " must have one entry per row").c_str());
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

nb::dict trace_dict(const Sampler& sampler) {
  const std::vector<SweepInfo>& trace = sampler.trace();
  nb::dict out;
  const auto add = [&](const char* name, const auto& get) {
    std::vector<double> values;
    for (const SweepInfo& info : trace) values.push_back(get(info));
    out[name] = to_numpy(std::move(values));
  };
  add("sigma", [](const SweepInfo& i) { return i.sigma; });
  add("theta", [](const SweepInfo& i) { return i.theta; });
  add("leaf_sd", [](const SweepInfo& i) { return i.leaf_sd; });
  add("n_leaves", [](const SweepInfo& i) { return i.n_leaves; });
  add("depth", [](const SweepInfo& i) { return i.depth; });
  add("axis_share", [](const SweepInfo& i) { return i.axis_share; });
  for (std::size_t k = 0; k < kNumMoves; ++k)
    add(kMoveNames[k], [k](const SweepInfo& i) {
      return i.proposed[k] > 0
                 ? static_cast<double>(i.accepted[k]) / static_cast<double>(i.proposed[k])
                 : std::numeric_limits<double>::quiet_NaN();
    });
  out["burn_sigma"] = to_numpy(std::vector<double>(sampler.burn_sigma()));
  return out;
}

nb::dict counters_dict(const Sampler& sampler) {
  nb::dict out;
  for (std::size_t k = 0; k < kNumMoves; ++k) {
    out[(std::string("proposed_") + kMoveNames[k]).c_str()] = sampler.total_proposed()[k];
    out[(std::string("accepted_") + kMoveNames[k]).c_str()] = sampler.total_accepted()[k];
    out[(std::string("invalid_") + kMoveNames[k]).c_str()] = sampler.total_invalid()[k];
  }
  out["invalid_lp"] = sampler.n_failed_lps();
  return out;
}

nb::dict draws_to_arrays(const Draws& draws) {
  const DrawArrays& a = draws.arrays();
  nb::dict out;
  const auto copy = [](const auto& v) { return to_numpy(std::decay_t<decltype(v)>(v)); };
  out["structure_of"] = to_numpy(
      std::vector<std::uint32_t>(a.structure_of),
      {static_cast<std::size_t>(draws.n_draws()), static_cast<std::size_t>(draws.n_trees())});
  out["node_begin"] = copy(a.node_begin);
  out["node_kind"] = copy(a.node_kind);
  out["cut"] = copy(a.cut);
  out["phi_count"] = copy(a.phi_count);
  out["phi_column"] = copy(a.phi_column);
  out["phi_value"] = copy(a.phi_value);
  out["cat_column"] = copy(a.cat_column);
  out["level_words"] = copy(a.level_words);
  out["outputs"] = copy(a.outputs);
  return out;
}

Draws draws_from_arrays(const nb::dict& arrays, std::int64_t p_cont,
                        std::vector<std::uint32_t> n_levels) {
  DrawArrays a;
  a.structure_of = from_numpy<std::uint32_t>(arrays, "structure_of");
  a.node_begin = from_numpy<std::uint64_t>(arrays, "node_begin");
  a.node_kind = from_numpy<std::uint8_t>(arrays, "node_kind");
  a.cut = from_numpy<float>(arrays, "cut");
  a.phi_count = from_numpy<std::uint32_t>(arrays, "phi_count");
  a.phi_column = from_numpy<std::uint32_t>(arrays, "phi_column");
  a.phi_value = from_numpy<float>(arrays, "phi_value");
  a.cat_column = from_numpy<std::uint32_t>(arrays, "cat_column");
  a.level_words = from_numpy<std::uint32_t>(arrays, "level_words");
  a.outputs = from_numpy<float>(arrays, "outputs");
  const auto structure_of =
      nb::cast<nb::ndarray<const std::uint32_t, nb::device::cpu>>(arrays["structure_of"]);
  if (structure_of.ndim() != 2)
    throw nb::value_error("draws: structure_of must have two dimensions");
  return Draws::from_arrays(std::move(a), static_cast<std::int64_t>(structure_of.shape(0)),
                            static_cast<std::int64_t>(structure_of.shape(1)), p_cont,
                            std::move(n_levels));
}

nb::ndarray<nb::numpy, float> predict(const Draws& draws, const Data& data, const std::string& link,
                                      double offset, std::int64_t n_threads) {
  const auto n = static_cast<std::size_t>(data.n_rows());
  const auto n_draws = static_cast<std::size_t>(draws.n_draws());
  std::vector<float> out(n * n_draws);
  const PredictOptions options{link_from(link), offset, n_threads};
  {
    const nb::gil_scoped_release unlocked;
    predict_draws(draws, data, options, out.data());
  }
  return to_numpy(std::move(out), {n_draws, n});
}

nb::dict summary(const Draws& draws, const Data& data, const std::string& link, double offset,
                 std::vector<double> quantiles, std::optional<DoubleVector> noise_sd,
                 std::int64_t n_threads) {
  const auto n = static_cast<std::size_t>(data.n_rows());
  if (draws.n_draws() == 0) throw nb::value_error("summarise: there are no draws");
  if (noise_sd && noise_sd->shape(0) != static_cast<std::size_t>(draws.n_draws()))
    throw nb::value_error("noise_sd must have one entry per draw");
  const std::size_t n_quantiles = quantiles.size();
  for (const double q : quantiles)
    if (!(q >= 0.0 && q <= 1.0)) throw nb::value_error("quantiles must be in [0, 1]");
  std::vector<double> mean(n);
  std::vector<double> sd(n);
  std::vector<double> at(n * n_quantiles);
  const PredictOptions options{link_from(link), offset, n_threads};
  const SummaryRequest request{std::move(quantiles), noise_sd ? noise_sd->data() : nullptr};
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

template <class Draw>
nb::ndarray<nb::numpy, double> fill(std::int64_t n, const Draw& draw) {
  std::vector<double> out(static_cast<std::size_t>(n));
  for (double& value : out) value = draw();
  return to_numpy(std::move(out));
}

using Counts = std::array<std::int64_t, kNumMoves>;

nb::dict state_to_dict(const SamplerState& state) {
  nb::dict out = draws_to_arrays(state.ensemble);
  out["leaf_code"] = to_numpy(std::vector<std::uint8_t>(state.leaf_code));
  out["residual"] = to_numpy(std::vector<float>(state.residual));
  out["target"] = to_numpy(std::vector<double>(state.target));
  out["changed"] = to_numpy(std::vector<std::uint8_t>(state.changed));
  out["rng"] = to_numpy(std::vector<std::uint64_t>(state.rng.begin(), state.rng.end()));
  out["n_sweeps"] = state.n_sweeps;
  out["sigma"] = state.sigma;
  out["theta"] = to_numpy(std::vector<double>(state.theta));
  out["leaf_sd"] = state.leaf_sd;
  const auto counts = [](const Counts& c) {
    return to_numpy(std::vector<std::int64_t>(c.begin(), c.end()));
  };
  out["proposed"] = counts(state.proposed);
  out["accepted"] = counts(state.accepted);
  out["invalid"] = counts(state.invalid);
  return out;
}

template <class T>
T number_from(const nb::dict& dict, const char* name) {
  T value{};
  if (!dict.contains(name) || !nb::try_cast(dict[name], value))
    throw nb::value_error((std::string("sampler state: no number ") + name).c_str());
  return value;
}

template <class T, std::size_t N>
std::array<T, N> fixed_from(const nb::dict& dict, const char* name) {
  const std::vector<T> values = from_numpy<T>(dict, name);
  if (values.size() != N)
    throw nb::value_error((std::string("sampler state: wrong length of ") + name).c_str());
  std::array<T, N> out;
  std::copy(values.begin(), values.end(), out.begin());
  return out;
}

SamplerState state_from_dict(const nb::dict& dict, const Data& data) {
  SamplerState state;
  state.ensemble = draws_from_arrays(dict, data.p_cont(), data.n_levels());
  state.leaf_code = from_numpy<std::uint8_t>(dict, "leaf_code");
  state.residual = from_numpy<float>(dict, "residual");
  state.target = from_numpy<double>(dict, "target");
  state.changed = from_numpy<std::uint8_t>(dict, "changed");
  state.rng = fixed_from<std::uint64_t, 4>(dict, "rng");
  state.n_sweeps = number_from<std::int64_t>(dict, "n_sweeps");
  state.sigma = number_from<double>(dict, "sigma");
  state.theta = from_numpy<double>(dict, "theta");
  state.leaf_sd = number_from<double>(dict, "leaf_sd");
  state.proposed = fixed_from<std::int64_t, kNumMoves>(dict, "proposed");
  state.accepted = fixed_from<std::int64_t, kNumMoves>(dict, "accepted");
  state.invalid = fixed_from<std::int64_t, kNumMoves>(dict, "invalid");
  return state;
}

void bind_settings(nb::module_& m) {
  nb::class_<Settings>(m, "Settings", "Hyperparameters, in units of the standardised outcome.")
      .def(nb::init<>())
      .def_rw("n_trees", &Settings::n_trees)
      .def_rw("alpha", &Settings::alpha)
      .def_rw("beta", &Settings::beta)
      .def_rw("max_depth", &Settings::max_depth)
      .def_rw("min_samples_leaf", &Settings::min_samples_leaf)
      .def_rw("axis_rules", &Settings::axis_rules)
      .def_prop_rw(
          "likelihood", [](const Settings& s) { return likelihood_name(s.likelihood); },
          [](Settings& s, const std::string& name) { s.likelihood = likelihood_from(name); })
      .def_rw("offset", &Settings::offset)
      .def_rw("leaf_sd", &Settings::leaf_sd)
      .def_rw("leaf_sd_fixed", &Settings::leaf_sd_fixed)
      .def_rw("leaf_shape", &Settings::leaf_shape)
      .def_rw("leaf_rate", &Settings::leaf_rate)
      .def_rw("sigma", &Settings::sigma)
      .def_rw("sigma_fixed", &Settings::sigma_fixed)
      .def_rw("nu", &Settings::nu)
      .def_rw("lambda_", &Settings::lambda)
      .def_rw("theta", &Settings::theta)
      .def_rw("theta_fixed", &Settings::theta_fixed)
      .def_rw("theta_a", &Settings::theta_a)
      .def_rw("theta_b", &Settings::theta_b)
      .def_rw("theta_by_column", &Settings::theta_by_column)
      .def_rw("p_change", &Settings::p_change)
      .def_rw("p_perturb", &Settings::p_perturb)
      .def_rw("stretch", &Settings::stretch)
      .def_rw("output_correlation", &Settings::output_correlation)
      .def_rw("perturb_angle", &Settings::perturb_angle)
      .def_rw("perturb_shift", &Settings::perturb_shift)
      .def_rw("n_threads", &Settings::n_threads)
      .def("verify", &Settings::verify);
}

void bind_sampler(nb::module_& m) {
  nb::class_<Control>(m, "Control", "Stops a run from another thread, and shows how far it is.")
      .def(nb::init<>())
      .def("stop", &Control::stop)
      .def_prop_ro("stopped", &Control::stopped)
      .def("snapshot", [](const Control& c) {
        nb::dict out;
        out["sweep"] = c.sweep();
        out["sigma"] = c.sigma();
        out["acceptance"] = c.acceptance();
        return out;
      });

  const auto unlocked = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Sampler>(m, "Sampler", "One chain.")
      .def(
          "__init__",
          [](Sampler* self, std::shared_ptr<Data> data, DoubleVector y,
             std::optional<DoubleVector> weights, const Settings& settings, std::uint64_t seed,
             std::uint64_t chain) {
            settings.verify();
            check_rows(*data, y, "y");
            if (weights) check_rows(*data, *weights, "weights");
            new (self)
                Sampler(data, y.data(), weights ? weights->data() : nullptr, settings, seed, chain);
          },
          "data"_a, "y"_a, "weights"_a.none(), "settings"_a, "seed"_a, "chain"_a)
      .def(
          "sweep",
          [](Sampler& s, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i) s.sweep();
          },
          "n"_a = 1, unlocked)
      .def("advance", &Sampler::advance, "n"_a, "control"_a, unlocked)
      .def("run", &Sampler::run, "n_burn"_a, "n_draws"_a, "n_thin"_a, "control"_a, unlocked)
      .def_prop_ro("draws", &Sampler::draws, nb::rv_policy::copy)
      .def_prop_ro("trace", &trace_dict)
      .def_prop_ro("counters", &counters_dict)
      .def_prop_rw("sigma", &Sampler::sigma, &Sampler::set_sigma)
      .def_prop_rw(
          "theta", [](const Sampler& s) { return mean_of(s.theta()); },
          [](Sampler& s, double theta) { s.set_theta({theta}); })
      .def_prop_rw("column_theta", &Sampler::theta, &Sampler::set_theta)
      .def_prop_rw("leaf_sd", &Sampler::leaf_sd, &Sampler::set_leaf_sd)
      .def("ensemble", &Sampler::ensemble)
      .def("state", [](const Sampler& s) { return state_to_dict(s.state()); })
      .def(
          "set_state",
          [](Sampler& s, const nb::dict& state) { s.restore(state_from_dict(state, s.data())); },
          "state"_a)
      .def("set_draws", &Sampler::set_draws, "draws"_a)
      .def("set_ensemble", &Sampler::set_ensemble, "draws"_a, "index"_a = 0)
      .def(
          "set_y",
          [](Sampler& s, DoubleVector y) {
            check_rows(s.data(), y, "y");
            s.set_y(y.data());
          },
          "y"_a)
      .def("fit", [](const Sampler& s) { return to_numpy(s.fit()); })
      .def("residual",
           [](const Sampler& s) {
             return to_numpy(std::vector<float>(s.residual(), s.residual() + s.data().n_rows()));
           })
      .def("check", &Sampler::check)
      .def(
          "partition_keys",
          [](Sampler& s, std::int64_t n_sweeps) {
            if (s.settings().n_trees != 1 || s.data().n_rows() > 16)
              throw nb::value_error("partition_keys needs one tree and at most 16 rows");
            std::vector<std::uint64_t> keys(static_cast<std::size_t>(n_sweeps));
            {
              const nb::gil_scoped_release release;
              for (std::uint64_t& key : keys) {
                s.sweep();
                key = s.partition_key();
              }
            }
            return to_numpy(std::move(keys));
          },
          "n_sweeps"_a);
}

void bind_draws(nb::module_& m) {
  nb::class_<Draws>(m, "Draws", "Kept ensembles as flat arrays.")
      .def_prop_ro("n_draws", &Draws::n_draws)
      .def_prop_ro("n_trees", &Draws::n_trees)
      .def_prop_ro("nbytes", &Draws::nbytes)
      .def("to_arrays", &draws_to_arrays)
      .def_static("from_arrays", &draws_from_arrays, "arrays"_a, "p_cont"_a, "n_levels"_a)
      .def("append", &Draws::append, "other"_a)
      .def("predict", &predict, "x"_a, "link"_a = "identity", "offset"_a = 0.0, "n_threads"_a = 1)
      .def("summarise", &summary, "x"_a, "link"_a = "identity", "offset"_a = 0.0,
           "quantiles"_a = std::vector<double>{}, "noise_sd"_a = nb::none(), "n_threads"_a = 1)
      .def(
          "leaf_codes",
          [](const Draws& draws, const Data& data, std::int64_t draw, std::int64_t tree) {
            std::vector<std::uint8_t> out(static_cast<std::size_t>(data.n_rows()));
            leaf_codes(draws, data, draw, tree, out.data());
            return to_numpy(std::move(out));
          },
          "x"_a, "draw"_a, "tree"_a);
}

void bind_probes(nb::module_& m) {
  m.def(
      "lp_maximise",
      [](In<double, 2> a, DoubleVector b, DoubleVector lower, DoubleVector upper,
         DoubleVector objective) {
        const std::size_t n_cols = objective.shape(0);
        if (a.shape(0) != b.shape(0) || (a.shape(0) > 0 && a.shape(1) != n_cols) ||
            lower.shape(0) != n_cols || upper.shape(0) != n_cols)
          throw nb::value_error("lp_maximise: shapes do not agree");
        LpWorkspace workspace;
        const LpProblem problem{static_cast<int>(a.shape(0)),
                                static_cast<int>(n_cols),
                                a.data(),
                                b.data(),
                                lower.data(),
                                upper.data(),
                                objective.data()};
        const LpResult result = lp_maximise(problem, workspace);
        const char* status = result.status == LpStatus::optimal      ? "optimal"
                             : result.status == LpStatus::infeasible ? "infeasible"
                                                                     : "failed";
        return std::pair<std::string, double>(status, result.value);
      },
      "a"_a, "b"_a, "lower"_a, "upper"_a, "objective"_a);
  nb::class_<Rng>(m, "RngProbe", "The chains' random numbers, for tests.")
      .def(nb::init<std::uint64_t, std::uint64_t>(), "seed"_a, "stream"_a)
      .def("next",
           [](Rng& r, std::int64_t n) {
             std::vector<std::uint64_t> out(static_cast<std::size_t>(n));
             for (std::uint64_t& value : out) value = r.next();
             return to_numpy(std::move(out));
           })
      .def("uniform", [](Rng& r, std::int64_t n) { return fill(n, [&] { return r.uniform(); }); })
      .def("normal", [](Rng& r, std::int64_t n) { return fill(n, [&] { return r.normal(); }); })
      .def("exponential",
           [](Rng& r, std::int64_t n) { return fill(n, [&] { return r.exponential(); }); })
      .def("gamma", [](Rng& r, double shape,
                       std::int64_t n) { return fill(n, [&] { return r.gamma(shape); }); })
      .def("beta", [](Rng& r, double a, double b,
                      std::int64_t n) { return fill(n, [&] { return r.beta(a, b); }); })
      .def("normal_above",
           [](Rng& r, double a, std::int64_t n) {
             return fill(n, [&] { return r.normal_above(a); });
           })
      .def("below", [](Rng& r, std::uint32_t k, std::int64_t n) {
        std::vector<std::uint32_t> out(static_cast<std::size_t>(n));
        for (std::uint32_t& value : out) value = r.below(k);
        return to_numpy(std::move(out));
      });
  const auto map = [](double (*f)(double)) {
    return [f](DoubleVector x) {
      std::vector<double> out(x.data(), x.data() + x.shape(0));
      for (double& value : out) value = f(value);
      return to_numpy(std::move(out));
    };
  };
  m.def("det_log", map(&det_log), "x"_a);
  m.def("det_exp", map(&det_exp), "x"_a);
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of obliquebart.";
  m.def("simd_level", [] { return kernels().name; });
  m.attr("MOVES") = nb::make_tuple("grow", "prune", "change", "perturb");
  m.attr("LIKELIHOODS") = nb::make_tuple("gaussian", "probit", "none");
  m.attr("BLOCK_ROWS") = kBlockRows;
  m.attr("FEWEST_MASKED_ROWS") = Presence::kFewestBlocks * kBlockRows;
  nb::dict format;
  for (const auto& [name, dtype] : kDrawFormat) format[name] = dtype;
  m.attr("DRAW_FORMAT") = format;
  m.def(
      "chain_bytes",
      [](std::int64_t n_rows, std::int64_t n_trees) { return n_rows * n_trees * 9 / 8; },
      "n_rows"_a, "n_trees"_a,
      "Memory that a chain needs at least: a byte and a bit per row and tree.");
  nb::class_<Data>(m, "Data", "Columns shared by all chains.")
      .def(nb::new_(&make_data), "x_cont"_a, "x_cat"_a, "n_levels"_a, "order"_a = nb::none())
      .def_prop_ro("n_rows", &Data::n_rows)
      .def_prop_ro("p_cont", &Data::p_cont)
      .def_prop_ro("p_cat", &Data::p_cat);
  bind_settings(m);
  bind_draws(m);
  bind_sampler(m);
  m.def(
      "draw_prior_scales",
      [](std::shared_ptr<Data> data, const Settings& settings, std::uint64_t seed,
         std::uint64_t stream) {
        settings.verify();
        Rng rng(seed, stream);
        const PriorDraw draw = draw_prior(*data, settings, rng);
        Draws draws(settings.n_trees, data->p_cont(), data->n_levels());
        draws.keep(*data, draw.pools, draw.trees, {});
        nb::dict scales;
        scales["sigma"] = draw.sigma;
        scales["theta"] = to_numpy(std::vector<double>(draw.theta));
        scales["leaf_sd"] = draw.leaf_sd;
        return std::pair<Draws, nb::dict>(std::move(draws), scales);
      },
      "data"_a, "settings"_a, "seed"_a, "stream"_a);
  m.def(
      "draw_prior",
      [](std::shared_ptr<Data> data, const Settings& settings, std::uint64_t seed,
         std::uint64_t stream) {
        settings.verify();
        Rng rng(seed, stream);
        const PriorDraw draw = draw_prior(*data, settings, rng);
        Draws draws(settings.n_trees, data->p_cont(), data->n_levels());
        draws.keep(*data, draw.pools, draw.trees, {});
        return std::tuple<Draws, double, double, double>(std::move(draws), draw.sigma,
                                                         mean_of(draw.theta), draw.leaf_sd);
      },
      "data"_a, "settings"_a, "seed"_a, "stream"_a);
  bind_probes(m);
}

}  // namespace obart
