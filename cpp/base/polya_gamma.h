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

// exp(x^2) erfc(x) for x >= 0, relative error below 1e-14: a polynomial of t = (x - 3) / (x + 3),
// divided by 1 + 2 x. Even and odd powers are separate sums, which a processor adds at once.
inline double scaled_erfc(double x) {
  constexpr double even[] = {
      1.25300805826972850e+00,  -4.75622943530632294e-02, -1.19273663431597995e-01,
      -2.37705146549061185e-02, 1.88868817965214897e-03,  -1.05149313903671562e-04,
      4.91796601724792320e-06,  -6.70179522229912478e-07, 2.78861207300343359e-07,
      -7.79077523254607622e-08, 1.01118956854243675e-08};
  constexpr double odd[] = {-1.35621106124419938e-01, 1.29645158690829432e-01,
                            6.83080276030899186e-02,  2.52938923153237611e-03,
                            -7.79818056908900383e-04, 1.25052143378299178e-04,
                            -2.00016409841870576e-05, 3.34007160975009409e-06,
                            -5.05849314774744872e-07, 4.74789503626308538e-08};
  const double t = (x - 3.0) / (x + 3.0);
  const double square = t * t;
  double even_sum = even[10];
  double odd_sum = odd[9];
  for (int i = 9; i >= 0; --i) even_sum = even_sum * square + even[i];
  for (int i = 8; i >= 0; --i) odd_sum = odd_sum * square + odd[i];
  return (even_sum + t * odd_sum) / (1.0 + 2.0 * x);
}

// Left of here the series of an inverse Gaussian is used, right of it that of an exponential.
inline constexpr double kSplit = 0.64;
inline constexpr double kPi = 3.14159265358979323846;

// Whether u lies below the alternating sum of the density's terms, divided by the first of them.
// Term i is (2 i + 1) exp(-i (i + 1) q) times it, with an exponent that is at least 3.125 near the
// split and more elsewhere: the second term is below 0.006, and few draws need more.
inline bool is_below_series(double u, double x) {
  constexpr double always = 0.994;
  if (u < always) return true;
  const double q = x > kSplit ? 0.5 * kPi * kPi * x : 2.0 / x;
  double sum = 1.0;
  for (int i = 1;; ++i) {
    const double k = static_cast<double>(i);
    const double term = (2.0 * k + 1.0) * det_exp(-k * (k + 1.0) * q);
    if (i % 2 == 1) {
      sum -= term;
      if (u <= sum) return true;
    } else {
      sum += term;
      if (u > sum) return false;
    }
  }
}

// The inverse Gaussian of mean 1 / c and shape 1, given that it is below the split.
inline double inverse_gaussian_below(double c, Rng& rng) {
  if (c * kSplit < 1.0) {  // the mean is above the split: propose from c = 0, 1 / chi^2
    constexpr double smallest = 1.25;
    static_assert(smallest * smallest * kSplit == 1.0);
    for (;;) {
      const double z = rng.normal_above(smallest);
      const double x = 1.0 / (z * z);
      const double exponent = 0.5 * c * c * x;
      const double u = rng.uniform();
      // 1 - h <= exp(-h) saves most calls of det_exp.
      if (u < 1.0 - exponent || u < det_exp(-exponent)) return x;
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
      if (is_below_series(rng.uniform(), x)) return 0.25 * x;
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
