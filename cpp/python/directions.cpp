#include "python/directions.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>

namespace obart {
namespace {

// Calls visit(name, member) for the members that a component of this kind has.
template <class Settings, class Visit>
void visit_members(Settings& d, const Visit& visit) {
  visit("concentration", d.concentration);
  if (d.kind == DirectionKind::groups) {
    visit("groups", d.groups);
    visit("inclusion", d.inclusion);
    return;
  }
  visit("columns", d.columns);
  if (d.kind != DirectionKind::patch) return;
  visit("shape", d.shape);
  visit("least", d.least);
  visit("most", d.most);
  visit("length_scale", d.length_scale);
}

template <class Kind, std::size_t N>
Kind named(const char* const (&names)[N], const nb::dict& values, const char* key) {
  const std::string name = values.contains(key) ? nb::cast<std::string>(values[key]) : names[0];
  const auto at = std::find(std::begin(names), std::end(names), name);
  if (at == std::end(names))
    throw nb::value_error(("directions: unknown " + std::string(key) + " " + name).c_str());
  return static_cast<Kind>(at - std::begin(names));
}

}  // namespace

nb::list directions_to_list(const Directions& directions) {
  nb::list out;
  for (const DirectionSettings& direction : directions) {
    nb::dict values;
    values["kind"] = kDirectionNames[static_cast<std::size_t>(direction.kind)];
    if (direction.kind == DirectionKind::patch)
      values["values"] = kPatchValueNames[static_cast<std::size_t>(direction.values)];
    visit_members(direction,
                  [&](const char* name, const auto& member) { values[name] = nb::cast(member); });
    out.append(values);
  }
  return out;
}

Directions directions_from_list(const nb::list& list) {
  Directions out;
  for (const nb::handle item : list) {
    if (!nb::isinstance<nb::dict>(item)) throw nb::type_error("directions must be dictionaries");
    const auto values = nb::cast<nb::dict>(item);
    DirectionSettings direction;
    direction.kind = named<DirectionKind>(kDirectionNames, values, "kind");
    std::size_t n_known = values.contains("kind") ? 1 : 0;
    if (direction.kind == DirectionKind::patch) {
      direction.values = named<PatchValues>(kPatchValueNames, values, "values");
      n_known += values.contains("values") ? 1 : 0;
    }
    visit_members(direction, [&]<class T>(const char* name, T& member) {
      if (!values.contains(name)) return;
      ++n_known;
      if (!nb::try_cast(values[name], member))
        throw nb::type_error(("directions: " + std::string(name) + " has the wrong type").c_str());
    });
    if (n_known != values.size())
      throw nb::value_error("directions: a component has a value that its kind does not have");
    out.push_back(std::move(direction));
  }
  return out;
}

}  // namespace obart
