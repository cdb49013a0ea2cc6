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

#if defined(__AVX512F__)
constexpr int kShareLanes = 16;
#else
constexpr int kShareLanes = registers::kPieceLanes;
#endif
using VShare = float __attribute__((vector_size(4 * kShareLanes)));
using VLevels = std::int32_t __attribute__((vector_size(4 * kShareLanes)));

OBART_INLINE VShare load_shares(const float* p) {
  VShare v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
OBART_INLINE void store_shares(float* p, VShare v) { std::memcpy(p, &v, sizeof(v)); }

// a < b ? a : b, and a > b ? a : b: b where one is NaN. One instruction, which GCC does not find.
OBART_INLINE VShare lower(VShare a, VShare b) {
#if defined(__AVX512F__)
  return reinterpret_cast<VShare>(_mm512_maskz_min_ps(0xffff, a, b));
#elif defined(__AVX2__)
  return reinterpret_cast<VShare>(_mm256_min_ps(a, b));
#elif defined(__SSE2__)
  return reinterpret_cast<VShare>(_mm_min_ps(a, b));
#else
  return a < b ? a : b;
#endif
}
OBART_INLINE VShare higher(VShare a, VShare b) {
#if defined(__AVX512F__)
  return reinterpret_cast<VShare>(_mm512_maskz_max_ps(0xffff, a, b));
#elif defined(__AVX2__)
  return reinterpret_cast<VShare>(_mm256_max_ps(a, b));
#elif defined(__SSE2__)
  return reinterpret_cast<VShare>(_mm_max_ps(a, b));
#else
  return a > b ? a : b;
#endif
}

// ---- shares ------------------------------------------------------------------------------------

// phi'x of a piece, in the order of terms of all other kernels. NaN where a value is missing. The
// first few terms are kept here: what is stored by the loop could change those of the task.
template <int N>
class Score {
 public:
  Score(const RouteTask& rule, std::int64_t first_row) : rule_(rule), first_row_(first_row) {
    for (int k = 0; k < N; ++k) term_[k] = {rule.terms[k].column + first_row, rule.terms[k].value};
  }
  OBART_INLINE VShare at(std::int64_t row) const {
    VShare score = term_[0].value * load_shares(term_[0].column + row);
    for (int k = 1; k < N; ++k) score = score + term_[k].value * load_shares(term_[k].column + row);
    if constexpr (N == kFewTerms)
      for (std::uint32_t k = N; k < rule_.n_terms; ++k)
        score =
            score + rule_.terms[k].value * load_shares(rule_.terms[k].column + first_row_ + row);
    return score;
  }
  static constexpr int kFewTerms = 3;

 private:
  const RouteTask& rule_;
  const std::int64_t first_row_;
  RouteTask::Term term_[N];
};

template <class ShareOf>
OBART_INLINE void divide_with(const ShareOf& share_of_row, std::int64_t n, const float* from,
                              float* left, float* right) {
  for (std::int64_t row = 0; row < n; row += kShareLanes) {
    const VShare all = load_shares(from + row);
    const VShare part = all * share_of_row(row);
    store_shares(left + row, part);
    store_shares(right + row, all - part);
  }
}

// share_at of base/soft_share.h. A missing value ends up at the limit that is compared with first.
template <bool MissingRight>
OBART_INLINE VShare soft_share(VShare z) {
  const VShare one = VShare{} + 1.0F;
  z = MissingRight ? lower(one, higher(z, -one)) : higher(-one, lower(z, one));
  return 0.5F + z * (0.75F - 0.25F * (z * z));
}

template <bool MissingRight, int N>
void divide_by(const Score<N>& score, const SoftGate& gate, std::int64_t n, const float* from,
               float* left, float* right) {
  const float cut = gate.rule.cut;
  const float inverse_width = gate.inverse_width;
  if (inverse_width > 0.0F)
    divide_with(
        [=](std::int64_t row) {
          return soft_share<MissingRight>((cut - score.at(row)) * inverse_width);
        },
        n, from, left, right);
  else
    divide_with(
        [=](std::int64_t row) {
          const VShare at = score.at(row);
          const VShare one = VShare{} + 1.0F;
          return MissingRight ? (at < cut ? one : VShare{}) : (at >= cut ? VShare{} : one);
        },
        n, from, left, right);
}

// Finds the number of terms.
template <int N = 1>
void divide_by_score(const SoftGate& gate, std::int64_t first_row, std::int64_t n,
                     const float* from, float* left, float* right) {
  if constexpr (N < Score<N>::kFewTerms)
    if (gate.rule.n_terms > N) return divide_by_score<N + 1>(gate, first_row, n, from, left, right);
  const Score<N> score(gate.rule, first_row);
  if (gate.rule.missing_right)
    divide_by<true>(score, gate, n, from, left, right);
  else
    divide_by<false>(score, gate, n, from, left, right);
}

// `left` may be `from`.
void divide(const SoftGate& gate, std::int64_t first_row, std::int64_t n, const float* from,
            float* left, float* right) {
  const RouteTask& rule = gate.rule;
  if (rule.is_categorical && rule.n_words == 1)
    divide_with(
        [word = static_cast<std::int32_t>(rule.words[0]),
         level = rule.column + first_row](std::int64_t row) {
          VLevels here;
          std::memcpy(&here, level + row, sizeof(here));
          return __builtin_convertvector(1 - (((VLevels{} + word) >> here) & 1), VShare);
        },
        n, from, left, right);
  else if (rule.is_categorical)
    divide_with(
        [&](std::int64_t row) {
          float share[kShareLanes];
          for (int i = 0; i < kShareLanes; ++i) {
            const std::uint32_t level = rule.column[first_row + row + i];
            share[i] = ((rule.words[level / 32] >> (level % 32)) & 1U) != 0 ? 0.0F : 1.0F;
          }
          return load_shares(share);
        },
        n, from, left, right);
  else if (rule.n_terms == 0)
    divide_with([](std::int64_t) { return VShare{} + 1.0F; }, n, from, left, right);
  else
    divide_by_score(gate, first_row, n, from, left, right);
}

// ---- outputs -----------------------------------------------------------------------------------

// Some registers side by side, as one alone would wait for its additions.
void add(float* to, const float* from, std::span<const SharedOutput> terms, std::int64_t n) {
  constexpr int kSideBySide = 4;
  for (std::int64_t row = 0; row < n; row += kSideBySide * kShareLanes) {
    VShare sum[kSideBySide];
    for (int k = 0; k < kSideBySide; ++k) sum[k] = load_shares(from + row + k * kShareLanes);
    for (const SharedOutput& term : terms)
      for (int k = 0; k < kSideBySide; ++k)
        sum[k] = sum[k] + term.output * load_shares(term.share + row + k * kShareLanes);
    for (int k = 0; k < kSideBySide; ++k) store_shares(to + row + k * kShareLanes, sum[k]);
  }
}

void add_double(double* to, const float* share, float output, std::int64_t n) {
  const auto value = static_cast<double>(output);
  for (std::int64_t i = 0; i < n; ++i) to[i] += value * static_cast<double>(share[i]);
}

}  // namespace
}  // namespace obart

#pragma GCC diagnostic pop
