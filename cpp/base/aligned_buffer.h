// A fixed-size array on a cache-line boundary, a large one on huge pages where the system has them:
// what the kernels read and write.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace obart {

inline constexpr std::size_t kAlignment = 64;
inline constexpr std::size_t kHugePage = std::size_t{1} << 21;

template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size, T fill = T{}) : size_(size), data_(allocate(size)) {
    for (std::size_t i = 0; i < size; ++i) data_.get()[i] = fill;
  }

  // Memory that costs nothing before it is written.
  static AlignedBuffer untouched(std::size_t size) {
    AlignedBuffer buffer;
    buffer.size_ = size;
    buffer.data_ = allocate(size);
    return buffer;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    std::align_val_t alignment{kAlignment};
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };
  using Owner = std::unique_ptr<T, Free>;

  static Owner allocate(std::size_t size) {
    const std::size_t bytes = (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    const bool large = bytes >= kHugePage;
    const std::align_val_t alignment{large ? kHugePage : kAlignment};
    void* p = ::operator new(bytes == 0 ? kAlignment : bytes, alignment);
#ifdef MADV_HUGEPAGE
    // Advice: what the system makes of it does not matter.
    if (large) static_cast<void>(madvise(p, bytes, MADV_HUGEPAGE));
#endif
    return Owner(static_cast<T*>(p), Free{alignment});
  }

  std::size_t size_ = 0;
  Owner data_;
};

}  // namespace obart
