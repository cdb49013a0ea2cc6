// What Python asks of graphics cards.
#pragma once

#include <nanobind/nanobind.h>

namespace obart {

void bind_card(nanobind::module_& m);

}  // namespace obart
