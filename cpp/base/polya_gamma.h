// The Pólya-Gamma distribution PG(1, z): exact, by Devroye's series method as in Polson, Scott and
// Windle (2013).
//
// PG(1, z) is a quarter of J, whose density is exp(-x c^2 / 2) times an alternating series, with
// c = |z| / 2. Partial sums of the series lie above and below the density in turn, so a draw from
// the first term is accepted or rejected after finitely many terms.
#pragma once

#include <cmath>

#include "base/math.h"
#include "base/random.h"

namespace obart {

namespace detail {

// exp(x^2) erfc(x) for x >= 0, relative error below 1e-14: a Chebyshev series of (1 + 2 x) times
// it, in (x - 3) / (x + 3).
inline double scaled_erfc(double x) {
  constexpr int n = 21;
  constexpr double coefficient[n] = {
      1.17756257419656007e+00,  5.35390453961568247e-03,  -9.37755034228421047e-02,
      5.43665255574432016e-02,  -1.89765967078451628e-02, 4.45342606146267861e-03,
      -6.33553171055773736e-04, 1.76617195231436005e-05,  1.28415328638168592e-05,
      -2.00722856612145827e-06, -1.80752279301046027e-07, 7.54982833320593482e-08,
      1.88566817764225600e-09,  -2.69951919931038278e-09, -1.46007608330244167e-11,
      1.03615924313845559e-10,  1.47568002625074136e-12,  -4.27740937121960940e-12,
      -2.08650771319114147e-13, 1.81117822123073020e-13,  1.92869104107367850e-14};
  const double t = (x - 3.0) / (x + 3.0);
  double last = 0.0;
  double before = 0.0;
  for (int i = n - 1; i >= 1; --i) {
    const double next = coefficient[i] + 2.0 * t * last - before;
    before = last;
    last = next;
  }
  return (coefficient[0] + t * last - before) / (1.0 + 2.0 * x);
}

// Left of here the series of an inverse Gaussian is used, right of it that of an exponential.
inline constexpr double kSplit = 0.64;
inline constexpr double kPi = 3.14159265358979323846;

// Term i of the series of the density of J for c = 0.
inline double series_term(int i, double x, double log_x) {
  const double k = (static_cast<double>(i) + 0.5) * kPi;
  if (x > kSplit) return k * det_exp(-0.5 * k * k * x);
  constexpr double log_half_pi = 0.45158270528945486473;
  const double m = static_cast<double>(i) + 0.5;
  return k * det_exp(-1.5 * (log_half_pi + log_x) - 2.0 * m * m / x);
}

// The inverse Gaussian of mean 1 / c and shape 1, given that it is below the split.
inline double inverse_gaussian_below(double c, Rng& rng) {
  if (c * kSplit < 1.0) {  // the mean is above the split: propose from c = 0, a scaled 1 / chi^2
    for (;;) {
      double e = rng.exponential();
      while (e * e > (2.0 / kSplit) * rng.exponential()) e = rng.exponential();
      const double root = 1.0 + kSplit * e;
      const double x = kSplit / (root * root);
      if (rng.uniform() < det_exp(-0.5 * c * c * x)) return x;
    }
  }
  const double mean = 1.0 / c;
  for (;;) {  // Michael, Schucany and Haas (1976)
    const double z = rng.normal();
    const double h = 0.5 * mean * z * z;
    double x = mean / (1.0 + h + std::sqrt(h * (2.0 + h)));
    if (rng.uniform() * (mean + x) > mean) x = mean * mean / x;
    if (x < kSplit) return x;
  }
}

}  // namespace detail

// The draws of one z share the weights of the two proposals.
class PolyaGamma {
 public:
  explicit PolyaGamma(double z) : c_(0.5 * std::abs(z)) {
    using namespace detail;
    rate_ = 0.125 * kPi * kPi + 0.5 * c_ * c_;
    // Of the inverse Gaussian's part to the exponential's, in which the exponents of the normal
    // distribution functions cancel but for a constant.
    constexpr double constant = det_exp(0.125 * kPi * kPi * kSplit - 0.5 / kSplit) * 2.0 / kPi;
    const double unit = 1.0 / std::sqrt(2.0 * kSplit);
    const double above = (1.0 + kSplit * c_) * unit;
    const double below = (1.0 - kSplit * c_) * unit;
    const double lower =
        below >= 0.0 ? scaled_erfc(below) : 2.0 * det_exp(below * below) - scaled_erfc(-below);
    right_share_ = 1.0 / (1.0 + rate_ * constant * (scaled_erfc(above) + lower));
  }

  double operator()(Rng& rng) const {
    using namespace detail;
    for (;;) {
      const double x = rng.uniform() < right_share_ ? kSplit + rng.exponential() / rate_
                                                    : inverse_gaussian_below(c_, rng);
      const double log_x = x > kSplit ? 0.0 : det_log(x);
      double sum = series_term(0, x, log_x);
      const double height = rng.uniform() * sum;
      for (int i = 1;; ++i) {
        if (i % 2 == 1) {
          sum -= series_term(i, x, log_x);
          if (height <= sum) return 0.25 * x;
        } else {
          sum += series_term(i, x, log_x);
          if (height > sum) break;
        }
      }
    }
  }

 private:
  double c_;
  double rate_;         // of the exponential
  double right_share_;  // of proposals from it
};

// A draw of PG(1, z).
inline double polya_gamma(double z, Rng& rng) { return PolyaGamma(z)(rng); }

}  // namespace obart
