// Loops over the rows of soft trees, by whole registers. Included by one source file per
// instruction set.
#pragma once

#include "backend/cpu/registers.h"
#include "backend/cpu/soft_kernels.h"
#include "backend/cpu/soft_products.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions here are inlined: no ABI is crossed

namespace obart {
namespace {

using registers::kPieceLanes;
using registers::VFloat;

// phi'x of a piece, in the order of terms of all other kernels. NaN where a value is missing.
OBART_INLINE VFloat score_of(const RouteTask& rule, std::int64_t row) {
  VFloat score = rule.terms[0].value * registers::load(rule.terms[0].column + row);
  for (std::uint32_t k = 1; k < rule.n_terms; ++k)
    score = score + rule.terms[k].value * registers::load(rule.terms[k].column + row);
  return score;
}

// The shares that go left: share_at of base/soft_share.h, or all or nothing.
OBART_INLINE VFloat share_of(const SoftGate& gate, std::int64_t row) {
  const VFloat score = score_of(gate.rule, row);
  const VFloat one = VFloat{} + 1.0F;
  VFloat share;
  if (gate.inverse_width > 0.0F) {
    VFloat z = (gate.rule.cut - score) * gate.inverse_width;
    z = z > one ? one : z;
    z = z < -one ? -one : z;
    share = 0.5F + z * (0.75F - 0.25F * (z * z));
  } else {
    share = score < gate.rule.cut ? one : VFloat{};
  }
  const VFloat of_missing = gate.rule.missing_right ? VFloat{} : one;
  return score == score ? share : of_missing;
}

template <class ShareOf>
OBART_INLINE void divide_with(const ShareOf& share_of_row, std::int64_t n, const float* from,
                              float* left, float* right) {
  for (std::int64_t row = 0; row < n; row += kPieceLanes) {
    const VFloat all = registers::load(from + row);
    const VFloat part = all * share_of_row(row);
    registers::store(left + row, part);
    registers::store(right + row, all - part);
  }
}

// `left` may be `from`.
void divide(const SoftGate& gate, std::int64_t first_row, std::int64_t n, const float* from,
            float* left, float* right) {
  const RouteTask& rule = gate.rule;
  if (rule.is_categorical)
    divide_with(
        [&](std::int64_t row) {
          float share[kPieceLanes];
          for (int i = 0; i < kPieceLanes; ++i) {
            const std::uint32_t level = rule.column[first_row + row + i];
            share[i] = ((rule.words[level / 32] >> (level % 32)) & 1U) != 0 ? 0.0F : 1.0F;
          }
          return registers::load(share);
        },
        n, from, left, right);
  else if (rule.n_terms == 0)
    divide_with([](std::int64_t) { return VFloat{} + 1.0F; }, n, from, left, right);
  else
    divide_with([&](std::int64_t row) { return share_of(gate, first_row + row); }, n, from, left,
                right);
}

void add(float* to, const float* share, float output, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kPieceLanes)
    registers::store(to + i, registers::load(to + i) + output * registers::load(share + i));
}

void add_double(double* to, const float* share, float output, std::int64_t n) {
  const auto value = static_cast<double>(output);
  for (std::int64_t i = 0; i < n; ++i) to[i] += value * static_cast<double>(share[i]);
}

}  // namespace
}  // namespace obart

#pragma GCC diagnostic pop
