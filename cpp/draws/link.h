// From the outputs of the trees to the scale of the user: their sum f itself, or a probability.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace obart {

struct Link {
  const char* name;
  float (*term)(float output);                            // what is summed, or null: the outputs
  void (*apply)(float* f, float offset, std::int64_t n);  // or null: f as it is
  // Of several ensembles only differences matter, so that the largest may be taken from all.
  bool is_relative = false;

  // What the leaves of a tree add to the sum.
  void copy_terms(std::span<const float> outputs, float* terms) const {
    if (term == nullptr)
      std::copy(outputs.begin(), outputs.end(), terms);
    else
      std::transform(outputs.begin(), outputs.end(), terms, term);
  }
};

// Throws std::invalid_argument, listing the known names, if there is none of this name.
const Link& find_link(const std::string& name);

}  // namespace obart
