#include "python/state.h"

#include <nanobind/stl/string.h>

#include <set>

#include "python/arrays.h"

namespace obart {
namespace {

void add_draws(nb::dict& out, const std::string& prefix, const Draws& draws) {
  DrawArrays::for_each(
      [&](const char* name, const auto& array) {
        out[(prefix + name).c_str()] = copy_to_numpy(array);
      },
      draws.arrays());
  out[(prefix + "structure_of").c_str()] = copy_to_numpy(
      draws.arrays().structure_of,
      {static_cast<std::size_t>(draws.n_draws()), static_cast<std::size_t>(draws.n_trees())});
}

nb::object to_python(const FieldValue& value) {
  return std::visit(
      [](const auto& held) -> nb::object {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>)
          return nb::cast(held);
        else
          return nb::cast(copy_to_numpy(held));
      },
      value);
}

FieldValue from_python(const Field& field, const nb::dict& values) {
  return std::visit(
      [&](auto at) -> FieldValue {
        if constexpr (std::is_pointer_v<decltype(at)>) {
          std::remove_pointer_t<decltype(at)> number{};
          if (!values.contains(field.name.c_str()) ||
              !nb::try_cast(values[field.name.c_str()], number, false))
            throw nb::value_error(("number " + field.name + " is missing").c_str());
          return number;
        } else {
          return from_numpy<typename decltype(at)::value_type>(values, field.name);
        }
      },
      field.place);
}

// A name that no field has: the state is of another model.
void require_known(ChainState& state, const nb::dict& values) {
  std::set<std::string> known;
  for (const Field& field : state.fields()) known.insert(field.name);
  for (std::size_t e = 0; e < state.ensembles.size(); ++e) {
    const std::string prefix = ensemble_prefix(e);
    known.insert(prefix + "leaf_code");
    DrawArrays arrays;
    DrawArrays::for_each([&](const char* name, const auto&) { known.insert(prefix + name); },
                         arrays);
  }
  for (const auto& [name, value] : values)
    if (!known.contains(nb::cast<std::string>(name)))
      throw nb::value_error(("it has '" + nb::cast<std::string>(name).substr(0, 80) +
                             "', which no state of this model has")
                                .c_str());
}

}  // namespace

nb::dict draw_format() {
  nb::dict format;
  DrawArrays arrays;
  DrawArrays::for_each(
      [&]<class T>(const char* name, const std::vector<T>&) {
        const std::string kind = std::is_floating_point_v<T> ? "float" : "uint";
        format[name] = kind + std::to_string(8 * sizeof(T));
      },
      arrays);
  return format;
}

nb::dict draws_to_dict(const Draws& draws) {
  nb::dict out;
  add_draws(out, "", draws);
  return out;
}

Draws draws_from_dict(const nb::dict& arrays, const std::string& prefix, std::int64_t p_cont,
                      std::vector<std::uint32_t> n_levels) {
  DrawArrays a;
  DrawArrays::for_each(
      [&]<class T>(const char* name, std::vector<T>& array) {
        const bool is_table = std::string_view(name) == "structure_of";
        // Hard rules have no widths, and what is older than soft rules does not know them.
        if (std::string_view(name) == "width" && !arrays.contains((prefix + name).c_str())) return;
        array = from_numpy<T>(arrays, prefix + name, is_table ? 2 : 1);
      },
      a);
  const auto structure_of = nb::cast<nb::ndarray<const std::uint32_t, nb::device::cpu>>(
      arrays[(prefix + "structure_of").c_str()]);
  return Draws::from_arrays(std::move(a), static_cast<std::int64_t>(structure_of.shape(0)),
                            static_cast<std::int64_t>(structure_of.shape(1)), p_cont,
                            std::move(n_levels));
}

nb::dict record_to_dict(ChainState& state) {
  ChainRecord record;
  state.save(record);
  nb::dict out;
  for (std::size_t e = 0; e < record.trees.size(); ++e) {
    const std::string prefix = ensemble_prefix(e);
    add_draws(out, prefix, record.trees[e].trees);
    out[(prefix + "leaf_code").c_str()] = copy_to_numpy(record.trees[e].leaf_code);
  }
  const std::vector<Field> fields = state.fields();
  for (std::size_t k = 0; k < fields.size(); ++k)
    out[fields[k].name.c_str()] = to_python(record.values[k]);
  return out;
}

ChainRecord record_from_dict(ChainState& state, const nb::dict& values) {
  ChainRecord record;
  for (const Field& field : state.fields()) record.values.push_back(from_python(field, values));
  for (std::size_t e = 0; e < state.ensembles.size(); ++e) {
    const Data& data = state.ensembles[e].data;
    const std::string prefix = ensemble_prefix(e);
    record.trees.push_back(
        {draws_from_dict(values, prefix, data.p_cont_of_table(), data.n_levels()),
         from_numpy<std::uint8_t>(values, prefix + "leaf_code")});
  }
  require_known(state, values);
  return record;
}

std::int64_t count_state_rows(const nb::dict& values) {
  return static_cast<std::int64_t>(from_numpy<float>(values, "residual").size());
}

}  // namespace obart
