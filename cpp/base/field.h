// A named value of a state: where it lives, and what it may be. Saving, restoring and checking a
// state all follow from its list of fields.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace obart {

using FieldValue =
    std::variant<double, std::int64_t, std::vector<double>, std::vector<float>,
                 std::vector<std::uint8_t>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

struct Field {
  using Place =
      std::variant<double*, std::int64_t*, std::span<double>, std::span<float>,
                   std::span<std::uint8_t>, std::span<std::int64_t>, std::span<std::uint64_t>>;

  std::string name;
  Place place;
  // Every entry is finite and between these. Outcomes are standardised, so that numbers beyond the
  // default are of a damaged file; they would overflow when the chain goes on.
  double low = -1e15;
  double high = 1e15;
  bool may_be_all_zero = true;
  bool may_be_shorter = false;  // what is not there is zero

  void save(FieldValue& value) const {
    std::visit(
        [&](auto at) {
          if constexpr (std::is_pointer_v<decltype(at)>) {
            value = *at;
          } else {
            using Values = std::vector<typename decltype(at)::value_type>;
            if (!std::holds_alternative<Values>(value)) value = Values();
            std::get<Values>(value).assign(at.begin(), at.end());
          }
        },
        place);
  }

  // Throws std::invalid_argument that says what is wrong.
  void check(const FieldValue& value) const {
    std::visit(
        [&](auto at) {
          if constexpr (std::is_pointer_v<decltype(at)>) {
            using Number = std::remove_pointer_t<decltype(at)>;
            check_values(std::span(&typed<Number>(value), 1));
          } else {
            const auto& values = typed<std::vector<typename decltype(at)::value_type>>(value);
            if (may_be_shorter ? values.size() > at.size() : values.size() != at.size())
              refuse("has the wrong length");
            check_values(std::span(values));
          }
        },
        place);
  }

  void restore(const FieldValue& value) const {
    std::visit(
        [&](auto at) {
          if constexpr (std::is_pointer_v<decltype(at)>) {
            *at = typed<std::remove_pointer_t<decltype(at)>>(value);
          } else {
            const auto& values = typed<std::vector<typename decltype(at)::value_type>>(value);
            std::fill(std::copy(values.begin(), values.end(), at.begin()), at.end(), 0);
          }
        },
        place);
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    throw std::invalid_argument(name + " " + what);
  }
  template <class T>
  const T& typed(const FieldValue& value) const {
    if (const T* held = std::get_if<T>(&value)) return *held;
    refuse("has the wrong type");
  }
  template <class T>
  void check_values(std::span<const T> values) const {
    bool any = false;
    for (const T entry : values) {
      any |= entry != T{};
      if constexpr (std::is_floating_point_v<T>)
        if (!std::isfinite(entry)) refuse("is not finite");
      const auto number = static_cast<double>(entry);
      if (number < low || number > high) refuse("is out of range");
    }
    if (!any && !may_be_all_zero) refuse("must not be all zeros");
  }
};

}  // namespace obart
