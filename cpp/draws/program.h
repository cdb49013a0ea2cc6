// The structures of kept draws, compiled for prediction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "draws/draws.h"

namespace obart {

// A rule: rows with left_code that go right get right_code.
struct Step {
  std::uint64_t first;  // phi entry of the draws, or word of the program
  float cut;
  std::uint32_t n_items;
  std::uint32_t column;  // categorical
  std::uint8_t left_code;
  std::uint8_t right_code;
  RuleKind kind;
  bool missing_right;
};
static_assert(sizeof(Step) == 24);  // a prediction of one row reads all of them from memory

inline constexpr std::uint32_t kNoStructure = ~0U;

class Program {
 public:
  explicit Program(const Draws& draws);
  std::span<const Step> steps(std::uint32_t structure) const {
    return {steps_.data() + first_step_[structure],
            first_step_[structure + 1] - first_step_[structure]};
  }
  // 1 / width of the rules of a structure, as its steps; null if all are hard.
  const float* inverse_widths(std::uint32_t structure) const {
    return inverse_width_.empty() ? nullptr : inverse_width_.data() + first_step_[structure];
  }
  const std::uint32_t* words(const Step& step) const { return words_.data() + step.first; }

 private:
  // Returns the number of leaves of the subtree whose first leaf is `code`.
  std::uint8_t compile(const Draws& draws, Draws::Begin& at, std::uint8_t code);

  std::vector<Step> steps_;
  std::vector<float> inverse_width_;  // by step, of soft draws; 0: a hard rule
  std::vector<std::size_t> first_step_;
  std::vector<std::uint32_t> words_;
};

}  // namespace obart
