// Labels with P(1) = logistic(offset + f), where each row may have an offset of its own: what two
// classes are, and one class among several given the others.
#pragma once

#include <algorithm>
#include <vector>

#include "ensemble/ensemble.h"
#include "likelihood/label_weights.h"

namespace obart {

class LogisticRows {
 public:
  LogisticRows(const Data& data, bool can_scale);

  // Targets are up to some forty times as large as f.
  static constexpr std::int64_t kRefreshSweeps = 16;

  std::size_t size() const { return size_; }
  void set_weights(const double* weights) { weights_.set(weights); }
  // Room for the weights of the latents; then any target will do.
  void begin(Ensemble& ensemble) const;

  // Given a latent omega ~ PG(1, offset + f) the label is a normal outcome of precision omega. A
  // row that is there n times has PG(n, offset + f). Writes target, residual and weight. Labels and
  // offsets are functions of the row.
  template <class Label, class Offset>
  void draw_latents(Ensemble& ensemble, const Label& label, const Offset& offset, Rng& rng) const {
    Block block;
    for (block.first = 0; block.first < size_; block.first += kBlockRows) {
      block.n = std::min(kBlockRows, size_ - block.first);
      for (std::size_t i = 0; i < block.n; ++i) {
        block.sign[i] = label(block.first + i) * 2.0 - 1.0;
        block.offset[i] = offset(block.first + i);
      }
      draw_block(ensemble, block, rng);
    }
  }

  // The likelihood of the labels as a function of a factor of f, without the latents, which would
  // hold f where it is. First each row is kept.
  void keep(const Ensemble& ensemble, std::size_t row, bool label, double offset);
  double log_scaled(double factor) const;

  static double fit(const Ensemble& ensemble, std::size_t row) {
    return ensemble.target[row] - static_cast<double>(ensemble.residual[row]);
  }

 private:
  static constexpr std::size_t kBlockRows = 256;
  struct Block {
    std::size_t first, n;
    double sign[kBlockRows];  // 1 or -1, by label
    double offset[kBlockRows];
  };
  void draw_block(Ensemble& ensemble, const Block& block, Rng& rng) const;

  // Gives a factor exp(kappa psi - omega psi^2 / 2), psi with the sign of the label.
  struct Latent {
    double kappa, omega;
  };
  Latent draw_weighted(std::size_t row, double sign, double psi, Rng& rng) const;

  std::size_t size_;
  LabelWeights weights_;
  std::vector<float> fit_, offset_;  // with the sign of the label: 1 or -1
};

}  // namespace obart
