// The instruction sets that loops over rows are compiled for, and the one that is used here.
#pragma once

#include <vector>

namespace obart {

enum class Simd { baseline, avx2, avx512 };

const char* simd_name(Simd level);
// Those that this machine can run, best first.
std::vector<Simd> available_simd();
// The best of them, or the one that the environment variable OBLIQUEBART_SIMD names.
Simd chosen_simd();

}  // namespace obart
