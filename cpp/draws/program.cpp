#include "draws/program.h"

namespace obart {

Program::Program(const Draws& draws) {
  first_step_.push_back(0);
  for (std::uint32_t s = 0; s < draws.n_structures(); ++s) {
    Draws::Begin at = draws.begin(s);
    compile(draws, at, 0);
    first_step_.push_back(steps_.size());
  }
}

std::uint8_t Program::compile(const Draws& draws, Draws::Begin& at, std::uint8_t code) {
  const std::uint64_t first_phi = at.phi;
  const StoredNode node = draws.read(at);
  if (node.is_leaf()) return 1;
  const std::size_t index = steps_.size();
  steps_.push_back({});
  if (draws.is_soft()) inverse_width_.push_back(node.width > 0.0F ? 1.0F / node.width : 0.0F);
  Step step{};
  step.left_code = code;
  if (node.is_continuous()) {
    step.kind = RuleKind::continuous;
    step.missing_right = node.missing_right();
    step.cut = node.cut;
    step.n_items = static_cast<std::uint32_t>(node.phi_column.size());
    step.first = first_phi;
  } else {
    step.kind = RuleKind::categorical;
    step.column = node.column;
    const std::uint32_t n_levels = draws.n_levels()[step.column];
    step.n_items = level_words(n_levels);
    step.first = words_.size();
    words_.insert(words_.end(), node.words.begin(), node.words.end());
    words_.resize(step.first + step.n_items, 0U);
    // The bit after the last level: levels unseen in training go where most rows went.
    if (node.majority_right()) words_.back() |= 1U << (n_levels % 32);
  }
  const std::uint8_t n_left = compile(draws, at, code);
  step.right_code = static_cast<std::uint8_t>(code + n_left);
  const std::uint8_t n_right = compile(draws, at, step.right_code);
  steps_[index] = step;
  return static_cast<std::uint8_t>(n_left + n_right);
}

}  // namespace obart
