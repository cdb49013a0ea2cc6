// Sums over rows of what the trees leave of the target, in the fixed order of blocks.
#pragma once

#include "backend/tasks.h"
#include "base/row_sums.h"

namespace obart {

// What a row adds to the sums.
struct AddSquares {
  const FitRows& rows;
  void operator()(std::size_t row, int l, double (&lane)[1][kLanes]) const {
    const auto r = static_cast<double>(rows.residual[row]);
    lane[0][l] += rows.weight != nullptr ? static_cast<double>(rows.weight[row]) * r * r : r * r;
  }
};
struct AddFit {
  const FitRows& rows;
  void operator()(std::size_t row, int l, double (&lane)[2][kLanes]) const {
    const double w = rows.weight != nullptr ? static_cast<double>(rows.weight[row]) : 1.0;
    const double f = rows.target[row] - static_cast<double>(rows.residual[row]);
    lane[0][l] += w * rows.target[row] * f;
    lane[1][l] += w * f * f;
  }
};

inline double sum_weighted_squares(const FitRows& rows, std::int64_t n_padded) {
  double total[1] = {};
  sum_rows(n_padded, total, AddSquares{rows});
  return total[0];
}

inline FitSums sum_fit(const FitRows& rows, std::int64_t n_padded) {
  double total[2] = {};
  sum_rows(n_padded, total, AddFit{rows});
  return {total[0], total[1]};
}

}  // namespace obart
