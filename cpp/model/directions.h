// Which directions phi a continuous rule may have: components of a mixture, each a prior of its
// own for the support and the values of phi.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"

namespace obart {

// sparse: each column with probability theta, normal values. axis: one column. signs: as sparse,
// but all values are equal up to their sign. groups: the columns of one group, each with a fixed
// probability, normal values. patch: a box of neighbouring cells of a grid.
enum class DirectionKind : std::uint8_t { sparse, axis, signs, groups, patch };
inline constexpr const char* kDirectionNames[] = {"sparse", "axis", "signs", "groups", "patch"};

// Whether columns are in a direction with probability theta.
inline bool uses_theta(DirectionKind kind) {
  return kind == DirectionKind::sparse || kind == DirectionKind::signs;
}

// Inside a patch. smooth: neighbours are alike. difference: the mean of one part less that of the
// rest, which is an edge.
enum class PatchValues : std::uint8_t { normal, smooth, difference };
inline constexpr const char* kPatchValueNames[] = {"normal", "smooth", "difference"};

// A draw keeps the number of a rule's component in four bits.
inline constexpr std::size_t kMostComponents = 16;
inline constexpr std::size_t kMostAxes = 4;

struct DirectionSettings {
  DirectionKind kind = DirectionKind::sparse;
  double concentration = 1.0;  // of its weight in the Dirichlet prior
  // Continuous columns in increasing order; none are all of them. Those of a patch are the cells
  // of its grid, the last axis fastest.
  std::vector<std::uint32_t> columns;
  std::vector<std::vector<std::uint32_t>> groups;
  double inclusion = 0.5;                         // of a group's columns
  std::vector<std::uint32_t> shape, least, most;  // of the grid, and of a patch, by axis
  PatchValues values = PatchValues::normal;
  double length_scale = 2.0;  // of smooth values, in cells

  void verify() const;  // throws std::invalid_argument that says what is wrong
};

using Directions = std::vector<DirectionSettings>;

void verify_directions(const Directions& directions);
// Throws std::invalid_argument where a table of so many continuous columns has not all of them.
void require_columns(const Directions& directions, std::int64_t p_cont);

// The weights of a mixture, none where there is nothing to weigh.
std::size_t n_direction_weights(const Directions& directions);
std::vector<double> first_direction_weights(const Directions& directions);
// From Dirichlet(concentration + number of rules): the conjugate update, or the prior without
// rules.
void draw_direction_weights(const Directions& directions, std::span<const std::int64_t> n_rules,
                            Rng& rng, std::vector<double>& weights);

}  // namespace obart
