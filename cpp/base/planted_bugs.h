// Planted bugs: conditions that are `false` in every normal build, and chosen by the environment
// variable OBLIQUEBART_BUG in a build with OBART_PLANTED_BUGS. The tests must catch each of them.
#pragma once

#ifdef OBART_PLANTED_BUGS

#include <cstdlib>
#include <cstring>

namespace obart {
inline bool planted(const char* name) {
  static const char* const chosen = std::getenv("OBLIQUEBART_BUG");
  return chosen != nullptr && std::strcmp(chosen, name) == 0;
}
}  // namespace obart
#define OBART_BUG(name) (::obart::planted(#name))

#else
#define OBART_BUG(name) false
#endif
