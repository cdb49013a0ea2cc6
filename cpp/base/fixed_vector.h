// A vector with room for N entries and no more, which never allocates.
#pragma once

#include <array>
#include <cstddef>

namespace obart {

template <class T, std::size_t N>
class FixedVector {
 public:
  std::size_t size() const { return size_; }
  void resize(std::size_t size) { size_ = size; }
  void clear() { size_ = 0; }
  void push_back(const T& value) { items_[size_++] = value; }
  void pop_back() { --size_; }
  T* data() { return items_.data(); }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::size_t size_ = 0;
  std::array<T, N> items_;
};

}  // namespace obart
