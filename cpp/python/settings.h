// The settings of a chain and of its ensembles, by flat names.
#pragma once

#include <nanobind/nanobind.h>

namespace obart {

void bind_settings(nanobind::module_& m);

}  // namespace obart
