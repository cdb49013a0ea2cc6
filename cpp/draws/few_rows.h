// Prediction of few rows. The kernels work on 64 rows at a time; for fewer, going through the trees
// row by row takes a fraction of the time, and reading the draws from memory is most of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "draws/draws.h"
#include "draws/program.h"
#include "model/data.h"

namespace obart {

inline constexpr std::int64_t kFewRows = 8;

// Up to kFewRows rows. The same float operations in the same order as the kernels.
class FewRows {
 public:
  FewRows(const Draws& draws, const Program& program)
      : draws_(draws),
        program_(program),
        current_(static_cast<std::size_t>(draws.n_trees())),
        code_(static_cast<std::size_t>(draws.n_trees() * kFewRows)) {}

  void start(const Data& data, std::int64_t first_row, std::int64_t n_rows) {
    n_rows_ = n_rows;
    std::fill(current_.begin(), current_.end(), kNoStructure);
    cont_.resize(static_cast<std::size_t>(n_rows * data.p_cont()));
    cat_.resize(static_cast<std::size_t>(n_rows * data.p_cat()));
    for (std::int64_t i = 0; i < n_rows; ++i) {
      for (std::int64_t j = 0; j < data.p_cont(); ++j)
        cont_[static_cast<std::size_t>(i * data.p_cont() + j)] = data.cont(j)[first_row + i];
      for (std::int64_t j = 0; j < data.p_cat(); ++j)
        cat_[static_cast<std::size_t>(i * data.p_cat() + j)] = data.cat(j)[first_row + i];
    }
  }

  // f += the trees of draws first..first+n, kFewRows values for each draw. `term` maps outputs, or
  // is null. Draw by draw, so that memory is read in order.
  void add_trees(std::int64_t first, std::int64_t n, float (*term)(float), float* f) {
    for (std::int64_t d = first; d < first + n; ++d, f += kFewRows)
      for (std::int64_t m = 0; m < draws_.n_trees(); ++m) {
        std::uint8_t* code = code_.data() + m * kFewRows;
        update_codes(draws_.structure(d, m), current_[static_cast<std::size_t>(m)], code);
        const float* output = draws_.first_output(d, m);
        for (std::int64_t i = 0; i < n_rows_; ++i)
          f[i] += term == nullptr ? output[code[i]] : term(output[code[i]]);
      }
  }

 private:
  void update_codes(std::uint32_t structure, std::uint32_t& current, std::uint8_t* code) const {
    if (structure == current) return;
    current = structure;
    for (std::int64_t i = 0; i < n_rows_; ++i) code[i] = leaf(structure, i);
  }

  // Trees differ, so the processor cannot guess which way a branch goes: there are few of them.
  std::uint8_t leaf(std::uint32_t structure, std::int64_t i) const {
    std::uint32_t code = 0;
    for (const Step& step : program_.steps(structure)) {
      const std::uint32_t change = step.right_code ^ code;
      const bool moves = (step.left_code == code) & goes_right(step, i);
      code ^= change & (0U - static_cast<std::uint32_t>(moves));
    }
    return static_cast<std::uint8_t>(code);
  }

  bool goes_right(const Step& step, std::int64_t i) const {
    if (step.kind == RuleKind::categorical) {
      const std::uint32_t level =
          cat_[static_cast<std::size_t>(i) * draws_.n_levels().size() + step.column];
      return ((program_.words(step)[level / 32] >> (level % 32)) & 1U) != 0;
    }
    if (step.n_items == 0) return false;
    const float score = score_of(step, cont_.data() + i * draws_.p_cont());
    // A missing value makes the score NaN.
    const bool is_missing = score != score;
    return (score >= step.cut) | (is_missing & step.missing_right);
  }

  float score_of(const Step& step, const float* x) const {
    const std::uint32_t* column = draws_.arrays().phi_column.data() + step.first;
    const float* value = draws_.arrays().phi_value.data() + step.first;
    const std::size_t has_second = step.n_items > 1 ? 1 : 0;
    const float first = value[0] * x[column[0]];
    const float both[2] = {first, first + value[has_second] * x[column[has_second]]};
    float score = both[has_second];
    for (std::uint32_t k = 2; k < step.n_items; ++k) score += value[k] * x[column[k]];
    return score;
  }

  const Draws& draws_;
  const Program& program_;
  std::int64_t n_rows_ = 0;
  std::vector<std::uint32_t> current_;  // structure of each tree
  std::vector<std::uint8_t> code_;      // of each tree and row
  std::vector<float> cont_;             // by row
  std::vector<std::uint32_t> cat_;
};

}  // namespace obart
