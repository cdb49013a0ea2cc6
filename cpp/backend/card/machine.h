// What a kernel sees of the machine: blocks of threads, warps of 32 lanes, and what they exchange.
// On a card a thread is one lane of one warp. Compiled as plain C++, lanes and warps are loops that
// run one after the other, so a kernel keeps in a PerLane what a lane remembers within a warp, and
// in the shared memory what outlives a step of the block.
#pragma once

#include <cstdint>

#include "base/planted_bugs.h"

namespace obart::card {

inline constexpr int kWarpLanes = 32;

#ifdef __CUDACC__

#define OBART_UNROLLED _Pragma("unroll")
#define OBART_ROLLED _Pragma("unroll 1")

template <class T>
class PerLane {
 public:
  T& operator[](int) { return value_; }

 private:
  T value_;
};

struct Warp {
  int index;
  // Afterwards all lanes see what each has written to the memory.
  template <class Work>
  void lanes(const Work& work) const {
    work(static_cast<int>(threadIdx.x) % kWarpLanes);
    __syncwarp();
  }
  // The same for work on what lanes keep to themselves.
  template <class Work>
  void registers(const Work& work) const {
    work(static_cast<int>(threadIdx.x) % kWarpLanes);
  }
  // to[lane] = from[lane ^ mask]
  bool all(PerLane<bool>& value) const { return __all_sync(0xffffffffU, value[0]) != 0; }
  template <class T>
  void swap(PerLane<T>& from, int mask, PerLane<T>& to) const {
    to[0] = __shfl_xor_sync(0xffffffffU, from[0], mask);
  }
};

struct ThreadBlock {
  int index, row;  // in the grid
  int n_warps;
  // Afterwards all warps see what each has written to the memory.
  template <class Work>
  void warps(const Work& work) const {
    freely(work);
    __syncthreads();
  }
  // Without waiting for each other.
  template <class Work>
  void freely(const Work& work) const {
    work(Warp{static_cast<int>(threadIdx.x) / kWarpLanes});
  }
};

inline void add_count(std::uint32_t* to, std::uint32_t n) { atomicAdd(to, n); }

// Words that blocks send each other while they run.
inline void send(std::uint64_t* to, std::uint64_t first, std::uint64_t second) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second)
               : "memory");
}
inline void receive(const std::uint64_t* from, std::uint64_t& first, std::uint64_t& second) {
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(first), "=l"(second)
               : "l"(from)
               : "memory");
}

// Soon to be read.
inline void expect(const void* address) { asm volatile("prefetch.global.L1 [%0];" ::"l"(address)); }

inline int count_bits(std::uint32_t x) { return __popc(x); }
inline std::uint64_t bits_of(double x) {
  return static_cast<std::uint64_t>(__double_as_longlong(x));
}
inline double of_bits(std::uint64_t x) { return __longlong_as_double(static_cast<long long>(x)); }
inline double root(double x) { return __dsqrt_rn(x); }

#else

#define OBART_UNROLLED
#define OBART_ROLLED

template <class T>
class PerLane {
 public:
  T& operator[](int lane) { return value_[lane]; }

 private:
  T value_[kWarpLanes];
};

struct Warp {
  int index;
  template <class Work>
  void lanes(const Work& work) const {
    for (int lane = 0; lane < kWarpLanes; ++lane) work(lane);
  }
  template <class Work>
  void registers(const Work& work) const {
    lanes(work);
  }
  bool all(PerLane<bool>& value) const {
    bool is_so = true;
    for (int lane = 0; lane < kWarpLanes; ++lane) is_so = is_so && value[lane];
    return is_so;
  }
  template <class T>
  void swap(PerLane<T>& from, int mask, PerLane<T>& to) const {
    for (int lane = 0; lane < kWarpLanes; ++lane) to[lane] = from[lane ^ mask];
  }
};

struct ThreadBlock {
  int index, row;
  int n_warps;
  template <class Work>
  void warps(const Work& work) const {
    for (int w = 0; w < n_warps; ++w) work(Warp{w});
  }
  template <class Work>
  void freely(const Work& work) const {
    warps(work);
  }
};

inline void add_count(std::uint32_t* to, std::uint32_t n) { *to += n; }
inline void send(std::uint64_t* to, std::uint64_t first, std::uint64_t second) {
  to[0] = first;
  to[1] = second;
}
inline void receive(const std::uint64_t* from, std::uint64_t& first, std::uint64_t& second) {
  first = from[0];
  second = from[1];
}
inline void expect(const void*) {}
inline int count_bits(std::uint32_t x) { return __builtin_popcount(x); }
inline std::uint64_t bits_of(double x) { return __builtin_bit_cast(std::uint64_t, x); }
inline double of_bits(std::uint64_t x) { return __builtin_bit_cast(double, x); }
inline double root(double x) { return __builtin_sqrt(x); }

#endif

}  // namespace obart::card
