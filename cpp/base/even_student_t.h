// Student's t with an even number of degrees of freedom, whose distribution function is a
// polynomial: with df = 2 m, r = sqrt(df + z^2) and p = (1 - z / r) / 2,
//   P(T > z) = p^m sum_{i < m} C(m - 1 + i, i) (1 - p)^i,
// and the density is that at 0 times (4 p (1 - p))^(m + 1/2).
#pragma once

#include <cmath>
#include <stdexcept>

namespace obart {

inline constexpr int kSmallestDf = 4, kLargestDf = 30;

// Throws std::invalid_argument if there is no such distribution here.
inline int even_df(double df) {
  if (!(df >= kSmallestDf && df <= kLargestDf && std::fmod(df, 2.0) == 0.0))
    throw std::invalid_argument("df must be an even number from 4 to 30");
  return static_cast<int>(df);
}

struct EvenStudentT {
  explicit EvenStudentT(int df) : half_df(df / 2), density_at_zero(0.5 / std::sqrt(df)) {
    double binomial = 1.0;
    for (int i = 0; i < half_df; ++i) {
      if (i > 0) {
        binomial *= (half_df - 1.0 + i) / i;
        density_at_zero *= (i + 0.5) / i;
      }
      coefficient[i] = static_cast<float>(binomial);
    }
    // Here the tail is about 1e-30: p is about df / z^2 / 4.
    largest = static_cast<float>(std::sqrt(0.25 * df * std::pow(10.0, 30.0 / half_df)));
  }

  double sd() const { return std::sqrt(half_df / (half_df - 1.0)); }

  int half_df;
  double density_at_zero;
  float coefficient[kLargestDf / 2] = {};  // the binomial ones
  float largest;                           // |z| beyond it is taken for it
};

}  // namespace obart
