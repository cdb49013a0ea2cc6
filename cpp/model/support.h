// The support of a sparse direction: each column is in it with probability theta.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "model/rule.h"

namespace obart {

class SupportPrior {
 public:
  // Over these columns, in increasing order; or over the first n.
  explicit SupportPrior(std::vector<std::uint32_t> columns);
  explicit SupportPrior(std::size_t n_columns);

  // One probability for all columns of a table (a vector of length 1), or one for each.
  void set_theta(const std::vector<double>& theta);
  // Columns in increasing order, values 0. None where none was drawn, which given that there is
  // one happens only if all probabilities are 0.
  void draw(bool given_nonzero, Rng& rng, std::vector<PhiEntry>& phi) const;
  // That there is a column at all.
  double nonzero_mass() const { return nonzero_mass_; }

 private:
  void take(std::size_t j, std::vector<PhiEntry>& phi) const {
    phi.push_back({columns_.empty() ? static_cast<std::uint32_t>(j) : columns_[j], 0.0F});
  }

  std::size_t n_;
  std::vector<std::uint32_t> columns_;  // empty: the first n_
  bool all_columns_ = false;            // theta is 1
  std::vector<double> theta_;           // of all columns, or of each
  std::vector<double> zero_run_;        // probability that none of columns 0..j is in the support
  std::vector<double> nonzero_run_;     // its complement
  double nonzero_mass_ = 1.0;           // 1 - product of (1 - theta_j)
};

}  // namespace obart
