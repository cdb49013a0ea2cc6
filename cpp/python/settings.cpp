#include "python/settings.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <type_traits>
#include <utility>

#include "likelihood/likelihood.h"
#include "moves/list.h"
#include "python/directions.h"

namespace obart {
namespace {

using namespace nb::literals;

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
  bind_part(c, "soft", rules, &RuleSettings::soft);
  bind_part(c, "width_scale", rules, &RuleSettings::width_scale);
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
  bind_part(c, "tree_df", leaf, &LeafSettings::tree_df);
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

}  // namespace

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

}  // namespace obart
