// The few operations of kernels_generic.h that depend on the instruction set. Sixteen lanes are
// held as pieces of one register each (two with AVX2, four with SSE2 or NEON): GCC takes wider
// vectors apart lane by lane.
#pragma once

#include <bit>
#include <cstring>

#include "backend/cpu/cells.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // all functions here are inlined: no ABI is crossed

// Internal linkage on purpose, see base/lanes.h.
namespace obart {
namespace {
namespace registers {

#define OBART_INLINE inline __attribute__((always_inline))

#if defined(__AVX2__)
inline constexpr int kPieceLanes = 8;
#else
inline constexpr int kPieceLanes = 4;
#endif
inline constexpr int kPieces = kLanes / kPieceLanes;

using VFloat = float __attribute__((vector_size(4 * kPieceLanes)));
using VInt = std::int32_t __attribute__((vector_size(4 * kPieceLanes)));

template <class T>
OBART_INLINE VFloat load(const T* p) {
  VFloat v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
OBART_INLINE void store(float* p, VFloat v) { std::memcpy(p, &v, sizeof(v)); }

OBART_INLINE VFloat keep(VFloat value, VInt mask) {
  return reinterpret_cast<VFloat>(reinterpret_cast<VInt>(value) & mask);
}

// ---- bytes -------------------------------------------------------------------------------------

#if defined(__AVX2__)

OBART_INLINE VInt widen(const std::uint8_t* p) {
  return reinterpret_cast<VInt>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

// Bit i is the sign of lane i.
OBART_INLINE std::uint64_t signs(VInt mask) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
}

OBART_INLINE __m256i load_bytes(const std::uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
OBART_INLINE void store_bytes(std::uint8_t* p, __m256i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}

// 255 in the bytes whose bit is set.
OBART_INLINE __m256i expand_bytes(std::uint32_t bits) {
  const __m256i which =
      _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bit = _mm256_set1_epi64x(static_cast<std::int64_t>(0x8040201008040201U));
  const __m256i spread =
      _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<std::int32_t>(bits)), which);
  return _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
}

// A bit per row of the group: its code is this one.
OBART_INLINE std::uint64_t rows_with(const std::uint8_t* code, std::uint8_t wanted) {
  const __m256i value = _mm256_set1_epi8(static_cast<char>(wanted));
  const auto half = [&](int h) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(load_bytes(code + 32 * h), value))));
  };
  return half(0) | half(1) << 32;
}

// key = code, plus 128 where the bit is set.
OBART_INLINE void keys_of_group(std::uint8_t* key, const std::uint8_t* code, std::uint64_t bits) {
  const __m256i top = _mm256_set1_epi8(static_cast<char>(0x80));
  for (int h = 0; h < 2; ++h)
    store_bytes(
        key + 32 * h,
        _mm256_or_si256(
            load_bytes(code + 32 * h),
            _mm256_and_si256(top, expand_bytes(static_cast<std::uint32_t>(bits >> (32 * h))))));
}

// A bit for each of the codes 0 to 15 that occur in the groups.
inline constexpr bool kFindsCodes = true;
inline std::uint32_t codes_present(const std::uint8_t* code, std::int64_t n_groups) {
  const auto bits = static_cast<std::int64_t>(0x8040201008040201U);
  const __m256i low = _mm256_setr_epi64x(bits, 0, bits, 0);
  const __m256i high = _mm256_setr_epi64x(0, bits, 0, bits);
  __m256i any_low = _mm256_setzero_si256();
  __m256i any_high = _mm256_setzero_si256();
  for (std::int64_t i = 0; i < n_groups * kGroupRows; i += 32) {
    const __m256i codes = load_bytes(code + i);
    any_low = _mm256_or_si256(any_low, _mm256_shuffle_epi8(low, codes));
    any_high = _mm256_or_si256(any_high, _mm256_shuffle_epi8(high, codes));
  }
  alignas(32) std::uint8_t byte[2][32];
  _mm256_store_si256(reinterpret_cast<__m256i*>(byte[0]), any_low);
  _mm256_store_si256(reinterpret_cast<__m256i*>(byte[1]), any_high);
  std::uint32_t present = 0;
  for (int i = 0; i < 32; ++i) present |= byte[0][i] | static_cast<std::uint32_t>(byte[1][i]) << 8;
  return present;
}

OBART_INLINE void assign_group(std::uint8_t* code, std::uint64_t bits, std::uint8_t value) {
  const __m256i values = _mm256_set1_epi8(static_cast<char>(value));
  for (int h = 0; h < 2; ++h)
    store_bytes(code + 32 * h,
                _mm256_blendv_epi8(load_bytes(code + 32 * h), values,
                                   expand_bytes(static_cast<std::uint32_t>(bits >> (32 * h)))));
}

#else

OBART_INLINE VInt widen(const std::uint8_t* p) {
#if defined(__SSE2__)
  std::int32_t word;
  std::memcpy(&word, p, sizeof(word));
  const __m128i zero = _mm_setzero_si128();
  return reinterpret_cast<VInt>(
      _mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(word), zero), zero));
#else
  return VInt{p[0], p[1], p[2], p[3]};
#endif
}

OBART_INLINE std::uint64_t signs(VInt mask) {
#if defined(__SSE2__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(reinterpret_cast<__m128>(mask)));
#else
  const VInt bit = mask & VInt{1, 2, 4, 8};
  return static_cast<std::uint64_t>(bit[0] | bit[1] | bit[2] | bit[3]);
#endif
}

// Eight bytes in an integer; byte i holds row i on little-endian machines only.
static_assert(std::endian::native == std::endian::little);

// 128 in the bytes whose bit is set: no byte of the sum carries into the next.
OBART_INLINE std::uint64_t expand_top(std::uint64_t bits) {
  const std::uint64_t spread = ((bits & 0xffU) * 0x0101010101010101U) & 0x8040201008040201U;
  return (spread + 0x7f7f7f7f7f7f7f7fU) & 0x8080808080808080U;
}

template <class Change>
OBART_INLINE void change_group(std::uint8_t* to, const std::uint8_t* from, std::uint64_t bits,
                               const Change& change) {
  for (int i = 0; i < kGroupRows; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, from + i, sizeof(word));
    word = change(word, expand_top(bits >> i));
    std::memcpy(to + i, &word, sizeof(word));
  }
}

inline constexpr bool kFindsCodes = false;  // takes a byte shuffle to be quick
inline std::uint32_t codes_present(const std::uint8_t*, std::int64_t) { return ~0U; }

OBART_INLINE std::uint64_t rows_with(const std::uint8_t* code, std::uint8_t wanted) {
  std::uint64_t bits = 0;
#if defined(__SSE2__)
  const __m128i value = _mm_set1_epi8(static_cast<char>(wanted));
  for (int q = 0; q < 4; ++q) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(code + 16 * q));
    bits |= static_cast<std::uint64_t>(
                static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, value))))
            << (16 * q);
  }
#else
  for (int i = 0; i < kGroupRows; ++i) bits |= static_cast<std::uint64_t>(code[i] == wanted) << i;
#endif
  return bits;
}

OBART_INLINE void keys_of_group(std::uint8_t* key, const std::uint8_t* code, std::uint64_t bits) {
  change_group(key, code, bits, [](std::uint64_t word, std::uint64_t top) { return word | top; });
}

OBART_INLINE void assign_group(std::uint8_t* code, std::uint64_t bits, std::uint8_t value) {
  const std::uint64_t values = value * std::uint64_t{0x0101010101010101U};
  change_group(code, code, bits, [&](std::uint64_t word, std::uint64_t top) {
    return word ^ ((word ^ values) & ((top >> 7) * 0xffU));
  });
}

#endif

// ---- tables ------------------------------------------------------------------------------------

OBART_INLINE VFloat wide_at(const float* table, const std::uint8_t* code) {
#if defined(__AVX2__)
  return VFloat{table[code[0]], table[code[1]], table[code[2]], table[code[3]],
                table[code[4]], table[code[5]], table[code[6]], table[code[7]]};
#else
  return VFloat{table[code[0]], table[code[1]], table[code[2]], table[code[3]]};
#endif
}

// Values for the rows of a piece. `key` is a code, or with Split a code plus 128 for rows that find
// theirs in the right table. A narrow table fits registers: the low four bits of a code choose the
// entry; padding rows (255) find entry 15.
template <bool Split>
class NarrowTable {
 public:
#if defined(__AVX2__)
  NarrowTable(const float* left, const float* right) {
    for (int h = 0; h < 2; ++h) {
      left_[h] = _mm256_loadu_ps(left + 8 * h);
      if constexpr (Split) right_[h] = _mm256_loadu_ps(right + 8 * h);
    }
  }
  OBART_INLINE VFloat at(const std::uint8_t* key) const {
    const __m256i index = reinterpret_cast<__m256i>(widen(key));
    const __m256 is_high = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    const auto find = [&](const __m256* table) {
      return _mm256_blendv_ps(_mm256_permutevar8x32_ps(table[0], index),
                              _mm256_permutevar8x32_ps(table[1], index), is_high);
    };
    if constexpr (!Split) return find(left_);
    const __m256 is_right = _mm256_castsi256_ps(_mm256_slli_epi32(index, 24));
    return _mm256_blendv_ps(find(left_), find(right_), is_right);
  }

 private:
  __m256 left_[2], right_[Split ? 2 : 1];
#else
  NarrowTable(const float* left, const float* right) : table_(left) {
    if constexpr (Split) {
      std::copy_n(left, kNarrowCodes + 1, both_);
      std::copy_n(right, kNarrowCodes + 1, both_ + 128);
      both_[kTableSize - 1] = left[kNarrowCodes];
      table_ = both_;
    }
  }
  OBART_INLINE VFloat at(const std::uint8_t* key) const { return wide_at(table_, key); }

 private:
  const float* table_;
  float both_[Split ? kTableSize : 1];
#endif
};

// A bit per row of the piece: bit `level` of the words.
OBART_INLINE std::uint64_t level_bits(const std::uint32_t* level, const std::uint32_t* words) {
#if defined(__AVX2__)
  const __m256i l = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(level));
  const __m256i index = _mm256_srli_epi32(l, 5);
  const auto* w = reinterpret_cast<const int*>(words);
  const __m256i word = _mm256_i32gather_epi32(w, index, 4);
  const __m256i shift = _mm256_andnot_si256(l, _mm256_set1_epi32(31));  // bit to the sign
  return signs(reinterpret_cast<VInt>(_mm256_sllv_epi32(word, shift)));
#else
  std::uint64_t bits = 0;
  for (int i = 0; i < kPieceLanes; ++i)
    bits |= static_cast<std::uint64_t>((words[level[i] / 32] >> (level[i] % 32)) & 1U) << i;
  return bits;
#endif
}

}  // namespace registers
}  // namespace
}  // namespace obart

#pragma GCC diagnostic pop
