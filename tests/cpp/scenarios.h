// Chains to measure, one for each kind of sweep that there is. No Python, no files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/sampler.h"

namespace obart::testing {

// A table of uniform columns with Friedman's function and unit noise as the outcome, standardised.
struct Table {
  std::shared_ptr<const Data> data;
  std::vector<double> y;        // and doses after all outcomes
  std::vector<double> weights;  // empty: none
};

struct Shape {
  std::int64_t p_cont = 10;
  std::vector<std::uint32_t> n_levels{};  // of the categorical columns
  bool weighted = false;
  bool missing = false;  // one value in fifty
  bool binary = false;
  bool treated = false;  // half of the rows, by chance: outcomes have a dose
};

Table make_table(std::int64_t n_rows, const Shape& shape);

struct Scenario {
  std::string name;
  Shape shape;
  std::function<void(Settings&)> adjust;  // from the settings that suit Friedman's function
};

const std::vector<Scenario>& scenarios();
const Scenario& scenario(std::string_view name);  // throws std::invalid_argument for others

Settings make_settings(const Scenario& scenario);
std::unique_ptr<Sampler> make_sampler(const Table& table, const Settings& settings,
                                      std::uint64_t chain = 0);

}  // namespace obart::testing
