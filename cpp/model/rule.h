// Decision rules, and the pools that hold their variable-length parts without allocating in a
// sweep.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace obart {

enum class RuleKind : std::uint8_t { continuous, categorical };

struct PhiEntry {
  std::uint32_t column;
  float value;
};

// Spans of power-of-two capacity carved from one vector; freed spans are reused. Spans are named by
// their offset, since the vector may move when it grows (during warm-up).
template <class T>
class SpanPool {
 public:
  void reserve(std::size_t items, std::size_t spans) {
    items_.reserve(items);
    for (auto& list : free_) list.reserve(spans);
  }
  std::uint32_t allocate(std::uint32_t count) {
    const auto size_class = class_of(count);
    auto& list = free_[size_class];
    if (!list.empty()) {
      const std::uint32_t offset = list.back();
      list.pop_back();
      return offset;
    }
    const auto offset = static_cast<std::uint32_t>(items_.size());
    items_.resize(items_.size() + (std::size_t{1} << size_class));
    return offset;
  }
  void release(std::uint32_t offset, std::uint32_t count) {
    free_[class_of(count)].push_back(offset);
  }
  T* at(std::uint32_t offset) { return items_.data() + offset; }
  const T* at(std::uint32_t offset) const { return items_.data() + offset; }

 private:
  static std::size_t class_of(std::uint32_t count) {
    return static_cast<std::size_t>(std::bit_width(count == 0 ? 0U : count - 1U));
  }
  std::vector<T> items_;
  std::array<std::vector<std::uint32_t>, 33> free_;
};

// Continuous: phi'x < cut goes left; phi lies in the phi pool; n_items = 0 is the zero rule (all
// left). A soft rule shares out the rows near its cut (model/gate.h). Categorical: the level's bit
// says right; the words lie in the level pool.
struct Rule {
  RuleKind kind = RuleKind::continuous;
  bool missing_right = false;  // the side of rows with a missing value in any of the rule's columns
  std::uint8_t component = 0;  // of the prior of directions that a continuous rule is from
  float cut = 0.0F;
  float width = 0.0F;        // half of a soft rule's transition, in units of phi'x; 0: a hard rule
  std::uint32_t column = 0;  // categorical column
  std::uint32_t offset = 0;  // of the span in its pool
  std::uint32_t n_items = 0;
  // Log of the prior probability that a rule of this kind, here, is not trivial: log(1 -
  // (1-theta)^p) depends on the current theta and is not kept; this is the categorical log(1 -
  // 2^(1-L)).
  double log_subset_mass = 0.0;
};

struct RulePools {
  SpanPool<PhiEntry> phi;
  SpanPool<std::uint32_t> levels;

  void release(const Rule& rule) {
    if (rule.kind == RuleKind::continuous)
      phi.release(rule.offset, rule.n_items);
    else
      levels.release(rule.offset, rule.n_items);
  }
};

}  // namespace obart
