// Draws and the state of a chain as Python dictionaries of arrays and numbers.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "draws/draws.h"
#include "sweep/chain_state.h"

namespace obart {

namespace nb = nanobind;

nb::dict draw_format();  // names of the draws' arrays -> NumPy's names of their types
nb::dict draws_to_dict(const Draws& draws);
Draws draws_from_dict(const nb::dict& arrays, const std::string& prefix, std::int64_t p_cont,
                      std::vector<std::uint32_t> n_levels);

nb::dict record_to_dict(ChainState& state);
// Reads what `state` has fields for; whether the values fit is for ChainState::check to say.
ChainRecord record_from_dict(ChainState& state, const nb::dict& values);
std::int64_t count_state_rows(const nb::dict& values);

}  // namespace obart
