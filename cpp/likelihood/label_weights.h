// Labels with weights: the likelihood of a row is p^w, where p is the probability of its label.
//
// A whole w is the row w times. A fraction is rounded up to the next whole k and divided by the
// excess, p^w = p^k p^-a with a = k - w in (0, 1). With q = 1 - p,
//   p^-a = sum over j of c_j q^j,  c_j = Gamma(j + a) / (Gamma(a) j!) >= 0:
// the row is there j times more with the other label, where j has a negative binomial distribution
// given p.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace obart {

class LabelWeights {
 public:
  explicit LabelWeights(std::size_t n_rows)
      : given_(n_rows, 1.0F), n_own_(n_rows, 1), excess_(n_rows, 0.0) {}

  // Throws std::invalid_argument if a weight is not positive, or very large.
  void set(const double* weights);

  const float* given() const { return given_.data(); }
  // The whole weight that all rows have, or 0.
  std::int64_t of_all() const { return of_all_; }
  // How often the row is there with its label.
  std::int64_t n_own(std::size_t row) const { return n_own_[row]; }
  bool is_whole(std::size_t row) const { return excess_[row] == 0.0; }
  // Draws how often it is there with the other label, given the probability of its own.
  std::int64_t draw_others(std::size_t row, double p, Rng& rng) const;

 private:
  std::int64_t of_all_ = 1;
  std::vector<float> given_;  // by the user
  std::vector<std::int32_t> n_own_;
  std::vector<double> excess_;  // of n_own_ over the weight
};

}  // namespace obart
