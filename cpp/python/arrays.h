// NumPy arrays to C++ and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <utility>
#include <vector>

namespace obart {

namespace nb = nanobind;

template <class T, int Dim>
using In = nb::ndarray<const T, nb::ndim<Dim>, nb::c_contig, nb::device::cpu>;
using DoubleVector = In<double, 1>;

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T>&& values, std::vector<std::size_t> shape = {}) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (shape.empty()) shape = {owned->size()};
  return nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class T>
nb::ndarray<nb::numpy, T> copy_to_numpy(const std::vector<T>& values,
                                        std::vector<std::size_t> shape = {}) {
  return to_numpy(std::vector<T>(values), std::move(shape));
}

// An array of a dictionary, of exactly this type and number of dimensions.
template <class T>
std::vector<T> from_numpy(const nb::dict& arrays, const std::string& name, std::size_t n_dim = 1) {
  if (!arrays.contains(name.c_str()))
    throw nb::value_error(("array " + name + " is missing").c_str());
  nb::ndarray<const T, nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(arrays[name.c_str()], array, false))
    throw nb::value_error(("array " + name + " has the wrong type").c_str());
  if (array.ndim() != n_dim)
    throw nb::value_error(("array " + name + " has the wrong shape").c_str());
  return std::vector<T>(array.data(), array.data() + array.size());
}

}  // namespace obart
