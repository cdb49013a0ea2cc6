// Bounded-variable dual simplex with bound flipping. The best vertex of the box is dual feasible,
// so there is no first phase, and cells of a few half-spaces need a pivot or two.
// No answer is returned on trust. From the original data: an optimum needs a point in the cell and
// multipliers that close the duality gap; infeasibility needs multipliers >= 0 under which the rows
// contradict the box. Where doubles do not give a clear certificate, double-doubles decide.
#include "model/lp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace obart {
namespace lp_detail {

// Relative to the scale of the variable or row, except `pivot`: to the largest coefficient.
template <class Real>
struct Tolerance;
template <>
struct Tolerance<double> {
  static constexpr double feasible = 4e-15;  // while pivoting
  static constexpr double pivot = 1e-11;
  static constexpr double infeasible = 1e-12;  // least contradiction that counts
  static constexpr double violation = 1e-12;   // of the certificate
  static constexpr double gap = 1e-12;
  // A row moved by its rounding error moves the value by the multiplier times that.
  static constexpr double multiplier = 1e3;
};
template <>
struct Tolerance<DoubleDouble> {
  static constexpr double feasible = 1e-27;
  static constexpr double pivot = 1e-24;
  static constexpr double infeasible = 1e-13;
  static constexpr double violation = 1e-18;
  static constexpr double gap = 1e-13;
  static constexpr double multiplier = 1e16;
};
// What a caller may rely on at the very least; the last resort for cells of no thickness.
constexpr double accepted_violation = 1e-10;
constexpr double accepted_gap = 1e-11;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr LpResult infeasible_result{LpStatus::infeasible, nan};
constexpr LpResult failed_result{LpStatus::failed, nan};

struct Certificate {
  double value = 0.0;
  double violation = infinity;   // of rows and box, scaled
  double gap = infinity;         // scaled by the objective
  double multiplier = infinity;  // sum of the scaled multipliers
};

enum class End { optimal, infeasible, stuck };

struct Leaving {
  int row = -1;
  bool below = true;  // its lower bound is violated, else the upper one
};

template <class Real>
class DualSimplex {
 public:
  DualSimplex(const LpProblem& problem, const std::vector<double>& scale, double cost_scale,
              Buffers<Real>& buffers)
      : p_(problem),
        n_(problem.n_cols),
        m_(problem.n_rows),
        scale_(scale.data()),
        cost_scale_(cost_scale),
        w_(buffers) {
    const auto n = static_cast<std::size_t>(n_), m = static_cast<std::size_t>(m_);
    if (w_.at_upper.size() < n || w_.basic.size() < m || w_.tableau.size() < n * m) w_.grow(n, m);
    tableau_ = w_.tableau.data();
    cost_ = w_.cost.data();
    basic_value_ = w_.basic_value.data();
    point_ = w_.point.data();
    multiplier_ = w_.multiplier.data();
    basic_ = w_.basic.data();
    nonbasic_ = w_.nonbasic.data();
    at_upper_ = w_.at_upper.data();
  }

  End solve(const unsigned char* at_upper) {
    start(at_upper);
    const int steepest_after = 4;
    const int bland_after = 200 + 10 * (m_ + n_);
    const int last = 3 * bland_after;
    for (int pivot = 0; pivot < last; ++pivot) {
      const bool bland = pivot >= bland_after;
      leaving_ = choose_leaving(bland, pivot >= steepest_after);
      if (leaving_.row < 0) return End::optimal;
      const int entering = choose_entering(bland);
      if (entering < 0) return End::infeasible;
      exchange(entering);
    }
    return End::stuck;
  }

  // Everything here is computed from the original data but the basic part of the point and the
  // multipliers, which may be any numbers >= 0: the duality gap judges both.
  Certificate certify_optimum() {
    for (int k = 0; k < n_; ++k)
      if (nonbasic_[k] < n_) point_[nonbasic_[k]] = bound(nonbasic_[k], at_upper_[k] != 0);
    for (int i = 0; i < m_; ++i) {
      multiplier_[i] = Real(0.0);
      if (basic_[i] < n_) point_[basic_[i]] = basic_value_[i];
    }
    for (int k = 0; k < n_; ++k)
      if (nonbasic_[k] >= n_ && cost_[k] < Real(0.0)) multiplier_[nonbasic_[k] - n_] = -cost_[k];

    Certificate result;
    result.violation = result.multiplier = 0.0;
    Real gap(0.0), value(0.0);
    for (int i = 0; i < m_; ++i) {
      Real slack(p_.b[i]);
      const double* row = p_.a + offset(i);
      for (int j = 0; j < n_; ++j) slack = slack - Real(row[j]) * point_[j];
      violate(result, -slack, scale_[n_ + i]);
      gap = gap + multiplier_[i] * absolute(slack);
      result.multiplier += to_double(multiplier_[i]) * scale_[n_ + i];
    }
    for (int j = 0; j < n_; ++j) {
      Real reduced(p_.objective[j]);
      for (int i = 0; i < m_; ++i) reduced = reduced - multiplier_[i] * Real(p_.a[offset(i) + j]);
      const Real above = point_[j] - Real(p_.upper[j]), below = Real(p_.lower[j]) - point_[j];
      violate(result, above > below ? above : below, scale_[j]);
      gap = gap + absolute(reduced * (reduced > Real(0.0) ? above : below));
      value = value + Real(p_.objective[j]) * point_[j];
    }
    result.value = to_double(value);
    result.gap = cost_scale_ > 0.0 ? to_double(gap) / cost_scale_ : 0.0;
    if (cost_scale_ > 0.0) result.multiplier /= cost_scale_;
    return result;
  }

  // The row of the tableau without a pivot is a combination of the original rows. Returns by how
  // much it contradicts the box, scaled; > 0 proves that the cell is empty.
  double contradiction() {
    for (int i = 0; i < m_; ++i) multiplier_[i] = Real(0.0);
    const Real* row = tableau_ + offset(leaving_.row);
    for (int k = 0; k < n_; ++k) {
      const Real weight = leaving_.below ? row[k] : -row[k];
      if (nonbasic_[k] >= n_ && weight > Real(0.0)) multiplier_[nonbasic_[k] - n_] = weight;
    }
    if (basic_[leaving_.row] >= n_) multiplier_[basic_[leaving_.row] - n_] = Real(1.0);

    Real excess(0.0);
    double size = 0.0;
    for (int i = 0; i < m_; ++i) {
      excess = excess - multiplier_[i] * Real(p_.b[i]);
      size += to_double(multiplier_[i]) * scale_[n_ + i];
    }
    for (int j = 0; j < n_; ++j) {
      Real coefficient(0.0);
      for (int i = 0; i < m_; ++i)
        coefficient = coefficient + multiplier_[i] * Real(p_.a[offset(i) + j]);
      excess = excess + coefficient * Real(coefficient > Real(0.0) ? p_.lower[j] : p_.upper[j]);
    }
    return size > 0.0 ? to_double(excess) / size : -infinity;
  }

 private:
  std::ptrdiff_t offset(int row) const { return static_cast<std::ptrdiff_t>(row) * n_; }
  double bound(int variable, bool upper) const {
    if (variable >= n_) return upper ? infinity : 0.0;
    return upper ? p_.upper[variable] : p_.lower[variable];
  }
  double range(int variable) const {
    return variable >= n_ ? infinity : p_.upper[variable] - p_.lower[variable];
  }

  static void violate(Certificate& c, Real excess, double scale) {
    if (excess > Real(0.0)) c.violation = std::max(c.violation, to_double(excess) / scale);
  }

  void start(const unsigned char* at_upper) {
    double largest = 0.0;
    for (int i = 0; i < m_; ++i) {
      const double* row = p_.a + offset(i);
      Real slack(p_.b[i]);
      for (int j = 0; j < n_; ++j) {
        tableau_[offset(i) + j] = Real(row[j]);
        largest = std::max(largest, std::fabs(row[j]));
        slack = slack - Real(row[j]) * Real(at_upper[j] ? p_.upper[j] : p_.lower[j]);
      }
      basic_[i] = n_ + i;
      basic_value_[i] = slack;
    }
    for (int j = 0; j < n_; ++j) {
      cost_[j] = Real(p_.objective[j]);
      nonbasic_[j] = j;
      at_upper_[j] = at_upper[j];
    }
    least_pivot_ = Tolerance<Real>::pivot * largest;
  }

  // The largest violation: cheap, and good for the few pivots of a usual cell. Then the dual
  // steepest edge, which a thin cell of many rows needs; under Bland's rule the variable of lowest
  // number.
  Leaving choose_leaving(bool bland, bool steepest) const {
    Leaving best;
    Real worst(0.0);
    for (int i = 0; i < m_; ++i) {
      const int variable = basic_[i];
      Real excess = -basic_value_[i];
      bool below = true;
      if (variable < n_) {
        excess = Real(p_.lower[variable]) + excess;
        const Real above = basic_value_[i] - Real(p_.upper[variable]);
        if (above > excess) {
          excess = above;
          below = false;
        }
      }
      if (!(excess > Real(Tolerance<Real>::feasible * scale_[variable]))) continue;
      if (steepest && !bland) excess = excess * excess / squared_edge(i);
      const bool better = best.row < 0 || (bland ? variable < basic_[best.row] : excess > worst);
      if (better) {
        best = {i, below};
        worst = excess;
      }
    }
    return best;
  }

  Real squared_edge(int row) const {
    Real sum(1.0);
    for (int k = 0; k < n_; ++k) {
      const Real t = tableau_[offset(row) + k];
      sum = sum + t * t;
    }
    return sum;
  }

  // Nonbasic variables that can repair the leaving row, in the order in which their reduced costs
  // change sign. Those that go through their whole range before the row is repaired are flipped.
  int choose_entering(bool bland) {
    const int r = leaving_.row;
    const Real* row = tableau_ + offset(r);
    auto* const first = w_.candidates.data();
    auto* last = first;
    for (int k = 0; k < n_; ++k) {
      const bool upper = at_upper_[k] != 0;
      const Real alpha = upper == leaving_.below ? row[k] : -row[k];
      if (!(alpha > Real(least_pivot_)) || !(range(nonbasic_[k]) > 0.0)) continue;
      const Real slope = upper ? cost_[k] : -cost_[k];
      *last++ = {slope > Real(0.0) ? slope / alpha : Real(0.0), alpha, k};
    }
    const auto later = [&](const Candidate<Real>& s, const Candidate<Real>& t) {
      if (s.ratio > t.ratio || t.ratio > s.ratio) return s.ratio > t.ratio;
      if (bland) return nonbasic_[s.k] > nonbasic_[t.k];
      if (s.alpha > t.alpha || t.alpha > s.alpha) return s.alpha < t.alpha;
      return s.k > t.k;
    };
    const double target = bound(basic_[r], !leaving_.below);
    Real rest = absolute(basic_value_[r] - Real(target));
    const Real negligible(Tolerance<Real>::feasible * scale_[basic_[r]]);
    int n_flips = 0, entering = -1;
    std::make_heap(first, last, later);
    while (last != first) {
      std::pop_heap(first, last, later);
      --last;
      const double width = range(nonbasic_[last->k]);
      const Real after = width < infinity ? rest - last->alpha * Real(width) : Real(-1.0);
      // The last resort may overshoot its bound by rounding.
      if (bland || !(after > Real(0.0)) || (last == first && !(after > negligible))) {
        entering = last->k;
        break;
      }
      rest = after;
      w_.flips[static_cast<std::size_t>(n_flips++)] = last->k;
    }
    if (entering >= 0)
      for (int f = 0; f < n_flips; ++f) flip(w_.flips[static_cast<std::size_t>(f)]);
    return entering;
  }

  void flip(int k) {
    const double width = range(nonbasic_[k]);
    const Real step(at_upper_[k] ? -width : width);
    for (int i = 0; i < m_; ++i) basic_value_[i] = basic_value_[i] - tableau_[offset(i) + k] * step;
    at_upper_[k] ^= 1U;
  }

  void exchange(int e) {
    const int r = leaving_.row;
    Real* const pivot_row = tableau_ + offset(r);
    const Real inverse = Real(1.0) / pivot_row[e];
    const double target = bound(basic_[r], !leaving_.below);
    const Real step = (basic_value_[r] - Real(target)) * inverse;
    for (int k = 0; k < n_; ++k) pivot_row[k] = pivot_row[k] * inverse;
    pivot_row[e] = inverse;
    for (int i = 0; i < m_; ++i) {
      Real* const row = tableau_ + offset(i);
      if (i == r || !(absolute(row[e]) > Real(0.0))) continue;
      basic_value_[i] = basic_value_[i] - row[e] * step;
      eliminate(row, e, pivot_row);
    }
    eliminate(cost_, e, pivot_row);
    basic_value_[r] = Real(bound(nonbasic_[e], at_upper_[e] != 0)) + step;
    std::swap(basic_[r], nonbasic_[e]);
    at_upper_[e] = leaving_.below ? 0 : 1;
  }

  void eliminate(Real* row, int e, const Real* pivot_row) const {
    const Real factor = row[e];
    row[e] = Real(0.0);
    for (int k = 0; k < n_; ++k) row[k] = row[k] - factor * pivot_row[k];
  }

  const LpProblem& p_;
  const int n_, m_;
  const double* scale_;
  const double cost_scale_;
  Buffers<Real>& w_;
  Real *tableau_, *cost_, *basic_value_, *point_, *multiplier_;
  int *basic_, *nonbasic_;
  unsigned char* at_upper_;
  double least_pivot_ = 0.0;
  Leaving leaving_;
};

template <class Real>
static bool clear(const Certificate& c) {
  return c.violation <= Tolerance<Real>::violation && c.gap <= Tolerance<Real>::gap &&
         c.multiplier <= Tolerance<Real>::multiplier;
}

// At the best vertex of the box; a free choice goes to the side that the first row likes.
static bool goes_up(double c, double a) { return (c > 0.0) | ((c == 0.0) & (a < 0.0)); }

static LpResult optimal(double value) { return {LpStatus::optimal, value}; }

static LpResult solve_precisely(const LpProblem& p, double cost_scale, LpWorkspace& w,
                                const Certificate& from_doubles) {
  DualSimplex<DoubleDouble> simplex(p, w.scale, cost_scale, w.precise);
  const End end = simplex.solve(w.at_upper.data());
  if (end == End::optimal) {
    const Certificate c = simplex.certify_optimum();
    if (clear<DoubleDouble>(c)) return optimal(c.value);
  }
  const double excess = end == End::infeasible ? simplex.contradiction() : 0.0;
  if (excess > Tolerance<DoubleDouble>::infeasible) return infeasible_result;
  // Empty by no more than the rounding of its data: then the point found in doubles may stand.
  if (from_doubles.violation <= accepted_violation && from_doubles.gap <= accepted_gap)
    return optimal(from_doubles.value);
  return excess > 0.0 ? infeasible_result : failed_result;
}

static LpResult solve_general(const LpProblem& p, double cost_scale, LpWorkspace& w) {
  DualSimplex<double> simplex(p, w.scale, cost_scale, w.fast);
  const End end = simplex.solve(w.at_upper.data());
  Certificate c;
  if (end == End::optimal) {
    c = simplex.certify_optimum();
    if (clear<double>(c)) return optimal(c.value);
  } else if (end == End::infeasible) {
    if (simplex.contradiction() > Tolerance<double>::infeasible) return infeasible_result;
  }
  return solve_precisely(p, cost_scale, w, c);
}

// One row and sign times the objective: a continuous knapsack. Where the box optimum violates the
// row, the variables that can repair it do so in the order of what it costs. Nothing is returned
// where there is no clear certificate. Signs are as good as random, so bounds are chosen by index,
// not by branches.
static std::optional<LpResult> try_one_row(const LpProblem& p, double sign, LpWorkspace& w) {
  const int n = p.n_cols;
  const double* const side[2] = {p.lower, p.upper};
  double value = 0.0, cost_scale = 0.0, total_scale = 0.0;
  double activity = 0.0, row_scale = std::fabs(p.b[0]);
  bool empty_box = false;
  for (int j = 0; j < n; ++j) {
    const double c = sign * p.objective[j], a = p.a[j];
    const double x = side[goes_up(c, a)][j];
    const double scale = std::fabs(p.lower[j]) + std::fabs(p.upper[j]);
    value += c * x;
    activity += a * x;
    cost_scale += std::fabs(c) * scale;
    row_scale += std::fabs(a) * scale;
    total_scale += scale;
    empty_box |= p.lower[j] > p.upper[j];
  }
  if (!std::isfinite(total_scale + cost_scale + row_scale)) return failed_result;
  if (empty_box) return infeasible_result;
  double rest = activity - p.b[0];
  if (rest <= Tolerance<double>::feasible * row_scale) return optimal(value);

  auto& candidates = w.fast.candidates;
  if (candidates.size() < static_cast<std::size_t>(n))
    candidates.resize(static_cast<std::size_t>(n));
  auto* const first = candidates.data();
  auto* last = first;
  for (int j = 0; j < n; ++j) {
    const double c = sign * p.objective[j];
    const double alpha = goes_up(c, p.a[j]) ? p.a[j] : -p.a[j];
    if (alpha > 0.0) *last++ = {std::fabs(c) / alpha, alpha, j};
  }
  const auto later = [](const Candidate<double>& s, const Candidate<double>& t) {
    return s.ratio > t.ratio || (s.ratio == t.ratio && s.k > t.k);
  };
  double price = 0.0;
  std::make_heap(first, last, later);
  while (last != first && rest > 0.0) {
    std::pop_heap(first, last, later);
    --last;
    const double gain = last->alpha * (p.upper[last->k] - p.lower[last->k]);
    const double used = std::min(rest, gain);
    price = last->ratio;
    value -= price * used;
    rest -= gain;
  }
  if (rest > Tolerance<double>::infeasible * row_scale) return infeasible_result;
  if (!(rest <= 0.0 && price * row_scale <= Tolerance<double>::multiplier * cost_scale)) return {};
  double dual = price * p.b[0];
  for (int j = 0; j < n; ++j) {
    const double reduced = sign * p.objective[j] - price * p.a[j];
    dual += reduced * side[reduced > 0.0][j];
  }
  if (!(std::fabs(dual - value) <= Tolerance<double>::gap * cost_scale)) return {};
  return optimal(value);
}

// One column: the intersection of intervals.
static LpResult solve_one_column(const LpProblem& p, double scale) {
  double lower = p.lower[0], upper = p.upper[0];
  for (int i = 0; i < p.n_rows; ++i) {
    const double a = p.a[i], b = p.b[i];
    if (a > 0.0) {
      upper = std::min(upper, b / a);
    } else if (a < 0.0) {
      lower = std::max(lower, b / a);
    } else if (b < 0.0) {
      return infeasible_result;
    }
  }
  if (lower - upper > Tolerance<double>::infeasible * scale) return infeasible_result;
  return optimal(p.objective[0] * (p.objective[0] > 0.0 ? upper : lower));
}

}  // namespace lp_detail

LpResult lp_maximise(const LpProblem& p, LpWorkspace& w) {
  using namespace lp_detail;
  const auto n = static_cast<std::size_t>(p.n_cols), m = static_cast<std::size_t>(p.n_rows);
  if (m == 1 && n > 1)
    if (const auto result = try_one_row(p, 1.0, w)) return *result;
  if (w.scale.size() < n + m) w.scale.resize(n + m);
  if (w.at_upper.size() < n) w.at_upper.resize(n);

  double value = 0.0, cost_scale = 0.0;
  bool empty_box = false;
  for (std::size_t j = 0; j < n; ++j) {
    const double c = p.objective[j];
    const bool upper = goes_up(c, m > 0 ? p.a[j] : 0.0);
    w.at_upper[j] = upper ? 1 : 0;
    w.scale[j] = std::fabs(p.lower[j]) + std::fabs(p.upper[j]);
    value += c * (upper ? p.upper[j] : p.lower[j]);
    cost_scale += std::fabs(c) * w.scale[j];
    empty_box |= p.lower[j] > p.upper[j];
  }
  // Not finite as soon as one number of the input is not.
  double total_scale = cost_scale;
  bool inside = true;
  for (std::size_t i = 0; i < m; ++i) {
    double activity = 0.0, scale = std::fabs(p.b[i]);
    for (std::size_t j = 0; j < n; ++j) {
      const double a = p.a[i * n + j];
      activity += a * (w.at_upper[j] ? p.upper[j] : p.lower[j]);
      scale += std::fabs(a) * w.scale[j];
    }
    w.scale[n + i] = scale;
    total_scale += scale;
    inside &= activity - p.b[i] <= Tolerance<double>::feasible * scale;
  }
  for (std::size_t j = 0; j < n; ++j) total_scale += w.scale[j];
  if (!std::isfinite(total_scale)) return failed_result;
  if (empty_box) return infeasible_result;
  if (inside) return optimal(value);
  if (n == 1) return solve_one_column(p, w.scale[0]);
  return solve_general(p, cost_scale, w);
}

LpExtremes lp_extremes(const LpProblem& p, LpWorkspace& w) {
  if (p.n_rows == 1 && p.n_cols > 1) {
    const auto highest = lp_detail::try_one_row(p, 1.0, w);
    const auto lowest = lp_detail::try_one_row(p, -1.0, w);
    if (highest && lowest) return {*lowest, *highest};
  }
  const auto n = static_cast<std::size_t>(p.n_cols);
  if (w.negated.size() < n) w.negated.resize(n);
  for (std::size_t j = 0; j < n; ++j) w.negated[j] = -p.objective[j];
  LpProblem downwards = p;
  downwards.objective = w.negated.data();
  const LpResult highest = lp_maximise(p, w);
  return {lp_maximise(downwards, w), highest};
}

}  // namespace obart
