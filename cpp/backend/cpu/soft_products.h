// Sums of products of columns of shares: one pass over the rows for all products of a few columns.
// Included by soft_lanes.h.
#pragma once

#include <algorithm>
#include <cstring>

#include "backend/cpu/registers.h"
#include "backend/soft_tasks.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions here are inlined: no ABI is crossed

namespace obart {
namespace {

// In doubles: where noise is small and shares are nearly collinear, the products over the variance
// of the noise must be right to what the prior of the outputs adds to them. The product of two
// floats is a double without rounding. Row i is summed in lane i mod 8.
constexpr int kSumLanes = 8;
#if defined(__AVX512F__)
constexpr int kDoubleLanes = 8;
#else
constexpr int kDoubleLanes = registers::kPieceLanes / 2;
#endif
using VDouble = double __attribute__((vector_size(8 * kDoubleLanes)));

// Columns whose sums fit the registers, more or less: among themselves, and of two sets of columns.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kMostAmong = 7;
constexpr int kMostBetween = 4;
#else
constexpr int kMostAmong = 5;
constexpr int kMostBetween = 3;
#endif

// One instruction, which GCC would not find everywhere. (Of the plain form of the first, GCC 12
// says that it uses what was never set.)
OBART_INLINE VDouble load_doubles(const float* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<VDouble>(_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p)));
#elif defined(__AVX2__)
  return reinterpret_cast<VDouble>(_mm256_cvtps_pd(_mm_loadu_ps(p)));
#elif defined(__SSE2__)
  const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<VDouble>(_mm_cvtps_pd(_mm_castsi128_ps(two)));
#else
  float __attribute__((vector_size(4 * kDoubleLanes))) v;
  std::memcpy(&v, p, sizeof(v));
  return __builtin_convertvector(v, VDouble);
#endif
}

// A product of floats is exact, so one rounding or two are the same.
template <bool Exact>
OBART_INLINE void add_product(VDouble a, VDouble b, VDouble& sum) {
#if defined(__AVX512F__)
  if constexpr (Exact) {
    sum = reinterpret_cast<VDouble>(_mm512_fmadd_pd(a, b, sum));
    return;
  }
#elif defined(__FMA__)
  if constexpr (Exact) {
    sum = reinterpret_cast<VDouble>(_mm256_fmadd_pd(a, b, sum));
    return;
  }
#endif
  sum = sum + a * b;
}

// The rows of a block.
struct ProductRows {
  const float* residual;
  const float* weight;  // or null
  std::int64_t n;
};

// Each of N columns times the residual, then times itself and those before it. With Apart, the last
// two are not multiplied by the first two.
template <int N, bool Apart, bool Weighted>
struct Among {
  static constexpr int kSums = N * (N + 1) / 2 + N - (Apart ? 4 : 0);
  const float* const* columns;

  template <class Visit>
  static OBART_INLINE void for_each_pair(int i, const Visit& visit) {
#pragma GCC unroll 8
    for (int j = Apart && i >= N - 2 ? 2 : 0; j <= i; ++j) visit(j);
  }

  OBART_INLINE void add_piece(const ProductRows& rows, std::int64_t at, VDouble* sum) const {
    VDouble value[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) value[i] = load_doubles(columns[i] + at);
    const VDouble residual = load_doubles(rows.residual + at);
    VDouble weight{};
    if constexpr (Weighted) weight = load_doubles(rows.weight + at);
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      const VDouble a = Weighted ? weight * value[i] : value[i];
      add_product<!Weighted>(a, residual, *sum++);
      for_each_pair(i, [&](int j) { add_product<!Weighted>(a, value[j], *sum++); });
    }
  }
};

// Each column of one set times each of another.
template <bool Weighted>
struct Between {
  static constexpr int kSums = kMostBetween * kMostBetween;
  const float* const* columns;
  const float* const* others;

  OBART_INLINE void add_piece(const ProductRows& rows, std::int64_t at, VDouble* sum) const {
    VDouble value[kMostBetween];
#pragma GCC unroll 8
    for (int j = 0; j < kMostBetween; ++j) value[j] = load_doubles(others[j] + at);
    VDouble weight{};
    if constexpr (Weighted) weight = load_doubles(rows.weight + at);
#pragma GCC unroll 8
    for (int i = 0; i < kMostBetween; ++i) {
      VDouble a = load_doubles(columns[i] + at);
      if constexpr (Weighted) a = weight * a;
#pragma GCC unroll 8
      for (int j = 0; j < kMostBetween; ++j) add_product<!Weighted>(a, value[j], *sum++);
    }
  }
};

// Lanes to one sum, always in this order: those that are 4 apart, then 2, then 1.
OBART_INLINE double add_lanes(const double (&lane)[kSumLanes]) {
  using VPair = double __attribute__((vector_size(16)));
  VPair pair[kSumLanes / 2];
  std::memcpy(pair, lane, sizeof(lane));
  const VPair sum = (pair[0] + pair[2]) + (pair[1] + pair[3]);
  return sum[0] + sum[1];
}

template <class Pairs>
void sum_rows(const Pairs& pairs, const ProductRows& rows, double (&out)[Pairs::kSums]) {
  double lane[Pairs::kSums][kSumLanes];
  for (int first = 0; first < kSumLanes; first += kDoubleLanes) {
    VDouble sum[Pairs::kSums];
#pragma GCC unroll 64
    for (VDouble& one : sum) one = VDouble{};
    for (std::int64_t row = first; row < rows.n; row += kSumLanes) pairs.add_piece(rows, row, sum);
#pragma GCC unroll 64
    for (int k = 0; k < Pairs::kSums; ++k) std::memcpy(lane[k] + first, &sum[k], sizeof(VDouble));
  }
  for (int k = 0; k < Pairs::kSums; ++k) out[k] = add_lanes(lane[k]);
}

// Columns in an order in which those that are never together come first and last.
template <bool Weighted>
class ProductSums {
 public:
  ProductSums(const SoftColumns& columns, const ProductRows& rows, double* out)
      : rows_(rows), n_(columns.n), is_apart_(columns.n_first < columns.n), out_(out) {
    std::int64_t n = 0;
    const auto take = [&](std::int64_t i) {
      index_[n] = static_cast<std::size_t>(i);
      at_[n++] = columns.at[i];
    };
    if (is_apart_) {
      take(columns.left);
      take(columns.right);
    }
    for (std::int64_t i = 0; i < n_; ++i)
      if (!is_apart_ || (i != columns.left && i != columns.right)) take(i);
  }

  void run() {
    if (n_ > kMostAmong) return in_tiles();
    is_apart_ ? among<true>(0, n_) : among<false>(0, n_);
  }

 private:
  // Some that nobody needs among them.
  void in_tiles() {
    for (std::int64_t i = 0; i < n_; i += kMostBetween) {
      among<false>(i, std::min<std::int64_t>(kMostBetween, n_ - i));
      for (std::int64_t j = 0; j < i; j += kMostBetween) between(i, j);
    }
  }

  // Finds the N that is n.
  template <bool Apart, int N = Apart ? 4 : 1>
  void among(std::int64_t first, std::int64_t n) {
    if constexpr (N < kMostAmong)
      if (n > N) return among<Apart, N + 1>(first, n);
    using Pairs = Among<N, Apart, Weighted>;
    double sums[Pairs::kSums];
    sum_rows(Pairs{at_ + first}, rows_, sums);
    const double* sum = sums;
    for (int i = 0; i < N; ++i) {
      with_residual(first + i) = *sum++;
      Pairs::for_each_pair(i, [&](int j) { product(first + i, first + j) = *sum++; });
    }
  }

  // The last set may be short: its last column is taken several times.
  void between(std::int64_t first, std::int64_t other) {
    const float* columns[kMostBetween];
    for (std::int64_t i = 0; i < kMostBetween; ++i) columns[i] = at_[std::min(first + i, n_ - 1)];
    using Pairs = Between<Weighted>;
    double sums[Pairs::kSums];
    sum_rows(Pairs{columns, at_ + other}, rows_, sums);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(kMostBetween, n_ - first); ++i)
      for (std::int64_t j = 0; j < kMostBetween; ++j)
        product(first + i, other + j) = sums[i * kMostBetween + j];
  }

  double& product(std::int64_t i, std::int64_t j) {
    return out_[product_index(index_[i], index_[j])];
  }
  double& with_residual(std::int64_t i) {
    return out_[static_cast<std::size_t>(n_ * (n_ + 1) / 2) + index_[i]];
  }

  const ProductRows rows_;
  const std::int64_t n_;
  const bool is_apart_;
  double* const out_;
  const float* at_[kTableSize + 2];
  std::size_t index_[kTableSize + 2];
};

void products(const SoftColumns& columns, const float* residual, const float* weight,
              std::int64_t n, double* out) {
  if (weight != nullptr)
    ProductSums<true>(columns, {residual, weight, n}, out).run();
  else
    ProductSums<false>(columns, {residual, weight, n}, out).run();
}

}  // namespace
}  // namespace obart

#pragma GCC diagnostic pop
