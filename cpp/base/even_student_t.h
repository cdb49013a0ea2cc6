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
  explicit EvenStudentT(int degrees)
      : df(degrees),
        density_at_zero(0.5 / std::sqrt(degrees)),
        largest(static_cast<float>(std::sqrt(0.25 * degrees * std::pow(10.0, 60.0 / degrees)))) {
    for (int i = 1; i < df / 2; ++i) density_at_zero *= (i + 0.5) / i;
  }

  double sd() const { return std::sqrt(df / (df - 2.0)); }
  double below(double z) const {
    const double q = 0.5 * (1.0 + z / std::sqrt(df + z * z));
    double term = std::pow(1.0 - q, df / 2);
    double above = term;
    for (int i = 1; i < df / 2; ++i) above += term *= q * (df / 2 - 1 + i) / i;
    return 1.0 - above;
  }

  int df;
  double density_at_zero;
  float largest;  // |z| beyond it is taken for it: the tail is 1e-30 or less, with p = df / z^2 / 4
};

}  // namespace obart
