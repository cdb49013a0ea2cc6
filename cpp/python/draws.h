// Kept draws: their arrays, predictions, and what becomes of these if a column changes.
#pragma once

#include <nanobind/nanobind.h>

namespace obart {

void bind_draws(nanobind::module_& m);
void bind_replacements(nanobind::module_& m);

}  // namespace obart
