// A fixed-size array on a cache-line boundary: what the kernels read and write.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace obart {

inline constexpr std::size_t kAlignment = 64;

template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size, T fill = T{}) : size_(size), data_(allocate(size)) {
    for (std::size_t i = 0; i < size; ++i) data_.get()[i] = fill;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete(p, std::align_val_t{kAlignment}); }
  };
  static T* allocate(std::size_t size) {
    const std::size_t bytes = (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return static_cast<T*>(
        ::operator new(bytes == 0 ? kAlignment : bytes, std::align_val_t{kAlignment}));
  }

  std::size_t size_ = 0;
  std::unique_ptr<T, Free> data_;
};

}  // namespace obart
