// From the outputs of the trees to the scale of the user: their sum f itself, or a probability.
#pragma once

#include <cstdint>
#include <string>

namespace obart {

struct Link {
  const char* name;
  float (*term)(float output);                            // what is summed, or null: the outputs
  void (*apply)(float* f, float offset, std::int64_t n);  // or null: f as it is
};

// Throws std::invalid_argument, listing the known names, if there is none of this name.
const Link& find_link(const std::string& name);

}  // namespace obart
