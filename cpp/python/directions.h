// The components of a mixture of directions as dictionaries of plain values.
#pragma once

#include <nanobind/nanobind.h>

#include "model/directions.h"

namespace obart {

namespace nb = nanobind;

nb::list directions_to_list(const Directions& directions);
// Raises ValueError for a name that no component has, TypeError for a value of another type.
Directions directions_from_list(const nb::list& values);

}  // namespace obart
