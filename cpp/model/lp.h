// The range of a direction over a cell: a small dense linear programme, solved with a certificate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/double_double.h"

namespace obart {

// max objective'x  subject to  a x <= b,  lower <= x <= upper.
struct LpProblem {
  int n_rows;
  int n_cols;
  const double* a;  // row-major, n_rows x n_cols
  const double* b;
  const double* lower;
  const double* upper;
  const double* objective;
};

// failed: no certificate was found, or the input is not finite.
enum class LpStatus { optimal, infeasible, failed };

struct LpResult {
  LpStatus status;
  double value;  // NaN unless optimal
};

namespace lp_detail {

template <class Real>
struct Candidate {
  Real ratio;
  Real alpha;  // size of the pivot
  int k;
};

// Basic variables are functions of the nonbasic ones, which sit at a bound:
// basic + tableau * nonbasic = const,  objective'x = const + cost' nonbasic.
// Variable j < n_cols is x_j, variable n_cols + i the slack of row i.
template <class Real>
struct Buffers {
  std::vector<Real> tableau, cost, basic_value, point, multiplier;
  std::vector<Candidate<Real>> candidates;
  std::vector<int> basic, nonbasic, flips;
  std::vector<unsigned char> at_upper;

  // Room for n columns and m rows, at least what there is already.
  void grow(std::size_t n, std::size_t m) {
    n = std::max(n, at_upper.size());
    m = std::max(m, basic.size());
    tableau.resize(n * m);
    cost.resize(n);
    basic_value.resize(m);
    point.resize(n);
    multiplier.resize(m);
    candidates.resize(n);
    basic.resize(m);
    nonbasic.resize(n);
    flips.resize(n);
    at_upper.resize(n);
  }
};

}  // namespace lp_detail

// Reusable buffers: they grow when a larger problem comes and never shrink.
class LpWorkspace {
 public:
  std::vector<double> scale;            // of x_j, then of the rows
  std::vector<unsigned char> at_upper;  // the vertex of the box where the objective is largest
  std::vector<double> negated;          // objective
  lp_detail::Buffers<double> fast;
  lp_detail::Buffers<DoubleDouble> precise;

  // Problems of this size will need no memory.
  void reserve(std::size_t n_rows, std::size_t n_cols) {
    scale.resize(std::max(scale.size(), n_rows + n_cols));
    at_upper.resize(std::max(at_upper.size(), n_cols));
    negated.resize(std::max(negated.size(), n_cols));
    fast.grow(n_cols, n_rows);
    precise.grow(n_cols, n_rows);
  }
};

LpResult lp_maximise(const LpProblem& problem, LpWorkspace& workspace);

// The largest values of -objective'x and of objective'x.
struct LpExtremes {
  LpResult lowest, highest;
};
LpExtremes lp_extremes(const LpProblem& problem, LpWorkspace& workspace);

}  // namespace obart
