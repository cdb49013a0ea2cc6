// Arithmetic with about 32 digits. Plain IEEE operations (Dekker, Knuth), none fused: the same bits
// on any machine.
#pragma once

namespace obart {

// Unevaluated sum of two doubles.
struct DoubleDouble {
  double hi = 0.0;
  double lo = 0.0;
  DoubleDouble() = default;
  DoubleDouble(double high, double low = 0.0) : hi(high), lo(low) {}
};

inline DoubleDouble quick_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double t = sum - a;
  return {sum, (a - (sum - t)) + (b - t)};
}
inline DoubleDouble two_product(double a, double b) {
  constexpr double splitter = 134217729.0;  // 2^27 + 1
  const double product = a * b;
  const double ta = splitter * a, tb = splitter * b;
  const double a_hi = ta - (ta - a), b_hi = tb - (tb - b);
  const double a_lo = a - a_hi, b_lo = b - b_hi;
  return {product, ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}
inline DoubleDouble operator-(DoubleDouble a) { return {-a.hi, -a.lo}; }
inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble s = two_sum(a.hi, b.hi), t = two_sum(a.lo, b.lo);
  const DoubleDouble r = quick_two_sum(s.hi, s.lo + t.hi);
  return quick_two_sum(r.hi, r.lo + t.lo);
}
inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + (-b); }
inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble p = two_product(a.hi, b.hi);
  return quick_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}
inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double q1 = a.hi / b.hi;
  DoubleDouble rest = a - b * q1;
  const double q2 = rest.hi / b.hi;
  rest = rest - b * q2;
  return quick_two_sum(q1, q2) + DoubleDouble(rest.hi / b.hi);
}
inline bool operator<(DoubleDouble a, DoubleDouble b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}
inline bool operator>(DoubleDouble a, DoubleDouble b) { return b < a; }

inline double to_double(double x) { return x; }
inline double to_double(DoubleDouble x) { return x.hi + x.lo; }
template <class Real>
Real absolute(Real x) {
  return x < Real(0.0) ? -x : x;
}

}  // namespace obart
