// The prior of a patch: a direction whose support is a box of cells of a grid of columns.
//
// The box is uniform among all that fit the grid and the limits of its sizes. Values z are normal
// with mean 0 and scaled to length 1. Smooth values have the correlation rho^(distance) along each
// axis, rho = exp(-1 / length_scale); the whole covariance is the product over the axes, a process
// of order one along each. A difference has no z: it is the mean of the cells before a split of one
// axis less the mean of the cells after it, or the reverse.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "model/directions.h"
#include "model/rule.h"

namespace obart {

class PatchPrior {
 public:
  explicit PatchPrior(const DirectionSettings& settings);

  void draw(Rng& rng, std::vector<PhiEntry>& phi);
  // Another patch near this one: its box is shifted or resized by one cell, or its values move.
  // Returns the log of what the ratio of acceptance gets besides the likelihood's; nothing where
  // there is no such patch.
  std::optional<double> perturb(double angle, Rng& rng, std::vector<PhiEntry>& phi);
  bool contains(std::span<const PhiEntry> phi) const;
  // Patches at near places have columns in common.
  std::uint64_t place(std::span<const PhiEntry> phi) const { return place_[phi.front().column]; }

 private:
  using Sizes = std::array<std::uint32_t, kMostAxes>;
  struct Box {
    Sizes start{}, size{1, 1, 1, 1};
    std::uint32_t n_cells() const { return size[0] * size[1] * size[2] * size[3]; }
    // Cells between neighbours along an axis.
    std::uint32_t stride(std::size_t axis) const;
  };
  struct Edge {
    std::size_t axis = 0;
    std::uint32_t split = 1;  // cells before it
    bool is_negative = false;
  };
  enum class Step : std::uint8_t { shift, resize, values };

  Box draw_box(Rng& rng) const;
  Edge draw_edge(const Box& box, Rng& rng) const;
  double log_edge(const Box& box, const Edge& edge) const;
  std::optional<Box> find_box(std::span<const PhiEntry> phi) const;
  std::optional<Edge> find_edge(const Box& box, std::span<const PhiEntry> phi) const;
  bool shift(Box& box, Rng& rng) const;
  std::optional<double> perturb_edge(const Box& box, Step step, Rng& rng,
                                     std::vector<PhiEntry>& phi);
  // One end of an axis by one cell; false where there is none.
  struct Resized {
    Box box;
    std::size_t axis;
    bool at_start, grows;
  };
  std::optional<Resized> resize(const Box& box, Rng& rng) const;

  // z and the independent normals that it is made of, of the cells of a box. `skipped` is an axis
  // along which cells are left as they are.
  void correlate(const Box& box, std::vector<double>& z, std::size_t skipped = kMostAxes) const;
  void whiten(const Box& box, std::vector<double>& z) const;
  // z of a direction, its length drawn given the direction.
  void draw_length(const Box& box, Rng& rng, std::span<const PhiEntry> phi);
  void resize_values(const Box& from, const Resized& to, Rng& rng);
  bool place(const Box& box, std::vector<PhiEntry>& phi) const;
  void place_edge(const Box& box, const Edge& edge, std::vector<PhiEntry>& phi) const;
  template <class Visit>
  void for_each_cell(const Box& box, const Visit& visit) const;

  std::vector<std::uint32_t> columns_;
  std::vector<std::int64_t> cell_of_;  // of each column up to the last, -1: none
  std::vector<std::uint64_t> place_;   // of a patch that begins there
  std::size_t n_axes_;
  Sizes shape_{1, 1, 1, 1}, least_{1, 1, 1, 1}, most_{1, 1, 1, 1};
  PatchValues values_;
  double rho_ = 0.0, innovation_ = 1.0;  // sqrt(1 - rho^2)
  std::array<std::uint32_t, kMostAxes> n_placements_{1, 1, 1, 1};
  std::vector<std::size_t> long_axes_, flexible_axes_;  // where a box can move, change its size
  std::vector<Step> steps_;
  std::vector<double> z_, other_;  // scratch, by cell of a box
};

}  // namespace obart
