// Loops over the rows of soft trees, by whole registers. Included by one source file per
// instruction set.
#pragma once

#include <algorithm>
#include <cstring>

#include "backend/cpu/registers.h"
#include "backend/cpu/soft_kernels.h"
#include "base/lanes.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions here are inlined: no ABI is crossed

namespace obart {
namespace {

using registers::kPieceLanes;
using registers::VFloat;

// ---- shares ------------------------------------------------------------------------------------

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

// ---- products ----------------------------------------------------------------------------------

// In doubles: where noise is small and shares are nearly collinear, the products over the variance
// of the noise must be right to what the prior of the outputs adds to them. The product of two
// floats is a double without rounding.
constexpr int kSumLanes = 8;
#if defined(__AVX512F__)
constexpr int kDoubleLanes = 8;
#else
constexpr int kDoubleLanes = kPieceLanes / 2;
#endif
constexpr int kDoublePieces = kSumLanes / kDoubleLanes;
using VDouble = double __attribute__((vector_size(8 * kDoubleLanes)));
using VHalf = float __attribute__((vector_size(4 * kDoubleLanes)));

OBART_INLINE VDouble load_doubles(const float* p) {
  VHalf v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_convertvector(v, VDouble);
}
OBART_INLINE VDouble load_doubles(const double* p) {
  VDouble v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
OBART_INLINE void store_doubles(double* p, VDouble v) { std::memcpy(p, &v, sizeof(v)); }

// Lanes to one sum, always in this order.
OBART_INLINE double add_lanes(double (&lane)[kSumLanes]) {
  for (int width = kSumLanes / 2; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  return lane[0];
}

// Columns that are multiplied by the same one side by side, as one alone would wait for its
// additions: as many as there are registers for.
constexpr int kTogether = kPieceLanes == 8 ? 4 : 2;

template <int N>
OBART_INLINE void dots(const double* a, const float* const* columns, std::int64_t n,
                       double* const* out) {
  VDouble sum[N][kDoublePieces] = {};
  for (std::int64_t row = 0; row < n; row += kSumLanes)
    for (int p = 0; p < kDoublePieces; ++p) {
      const std::int64_t at = row + p * kDoubleLanes;
      const VDouble here = load_doubles(a + at);
      for (int k = 0; k < N; ++k) sum[k][p] = sum[k][p] + here * load_doubles(columns[k] + at);
    }
  for (int k = 0; k < N; ++k) {
    double lane[kSumLanes];
    for (int p = 0; p < kDoublePieces; ++p) store_doubles(lane + p * kDoubleLanes, sum[k][p]);
    *out[k] = add_lanes(lane);
  }
}

// What a column is to be multiplied by, some at a time.
struct Waiting {
  const double* a;
  std::int64_t n_rows;
  const float* other[kTogether];
  double* to[kTogether];
  int n = 0;

  OBART_INLINE void add(const float* column, double* out) {
    other[n] = column;
    to[n++] = out;
    if (n == kTogether) flush();
  }
  OBART_INLINE void flush() {
    if (n == 1) dots<1>(a, other, n_rows, to);
    if (n == 2) dots<2>(a, other, n_rows, to);
    if constexpr (kTogether == 4) {
      if (n == 3) dots<3>(a, other, n_rows, to);
      if (n == 4) dots<4>(a, other, n_rows, to);
    }
    n = 0;
  }
};

void products(const SoftColumns& columns, const float* residual, const float* weight,
              std::int64_t n, double* out) {
  alignas(64) double a[kBlockRows];
  double* const with_residual = out + columns.n * (columns.n + 1) / 2;
  for (std::int64_t i = 0; i < columns.n; ++i) {
    const float* const column = columns.at[i];
    for (std::int64_t row = 0; row < n; row += kDoubleLanes) {
      const VDouble value = load_doubles(column + row);
      store_doubles(a + row, weight != nullptr ? value * load_doubles(weight + row) : value);
    }
    Waiting waiting{a, n, {}, {}};
    waiting.add(residual, with_residual + i);
    for (std::int64_t j = 0; j <= i; ++j)
      if (!columns.never_together(i, j)) waiting.add(columns.at[j], out + i * (i + 1) / 2 + j);
    waiting.flush();
  }
}

}  // namespace
}  // namespace obart

#pragma GCC diagnostic pop
