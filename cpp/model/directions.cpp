#include "model/directions.h"

#include <algorithm>
#include <stdexcept>

#include "base/planted_bugs.h"

namespace obart {
namespace {

constexpr double kMostPlacements = 0x1p31;
// Of a patch or a group; wide directions beyond this would make proposals very slow.
constexpr double kMostCells = 4096.0;

void require(bool ok, const char* what) {
  if (!ok) throw std::invalid_argument(std::string("settings: directions: ") + what);
}

bool increases(const std::vector<std::uint32_t>& columns) {
  return std::adjacent_find(columns.begin(), columns.end(), std::greater_equal<>()) ==
         columns.end();
}

void verify_patch(const DirectionSettings& patch) {
  const std::size_t n_axes = patch.shape.size();
  require(n_axes >= 1 && n_axes <= kMostAxes, "a grid has one to four axes");
  require(patch.least.size() == n_axes && patch.most.size() == n_axes,
          "a patch needs a least and a largest size for each axis");
  double n_columns = 1.0;
  double n_cells = 1.0;
  bool has_edge = false;
  for (std::size_t a = 0; a < n_axes; ++a) {
    require(
        patch.least[a] >= 1 && patch.least[a] <= patch.most[a] && patch.most[a] <= patch.shape[a],
        "sizes of a patch must be at least 1, in order, and fit the grid");
    n_columns *= patch.shape[a];
    n_cells *= patch.most[a];
    require(static_cast<double>(patch.shape[a]) * patch.most[a] < kMostPlacements,
            "a grid is too large");
    has_edge |= patch.least[a] >= 2;
  }
  require(n_columns == static_cast<double>(patch.columns.size()),
          "a patch needs as many columns as its grid has cells");
  require(n_cells <= kMostCells, "a patch has at most 4096 cells");
  require(patch.values != PatchValues::difference || has_edge,
          "differences need a least size of 2 along one axis");
  require(patch.length_scale > 0.0 && patch.length_scale <= 1e6,
          "length_scale must be positive and finite");
}

}  // namespace

void DirectionSettings::verify() const {
  require(concentration > 0.0 && concentration <= 1e12,
          "a concentration must be positive and finite");
  require(increases(columns), "columns must increase");
  if (kind == DirectionKind::groups) {
    require(!groups.empty(), "there must be a group");
    for (const auto& group : groups)
      require(!group.empty() && increases(group), "the columns of a group must increase");
    require(inclusion > 0.0 && inclusion <= 1.0, "inclusion must be in (0, 1]");
  }
  if (kind == DirectionKind::patch) verify_patch(*this);
}

void verify_directions(const Directions& directions) {
  require(directions.size() <= kMostComponents, "there are at most 16 components");
  for (const DirectionSettings& direction : directions) direction.verify();
}

void require_columns(const Directions& directions, std::int64_t p_cont) {
  const auto fits = [&](const std::vector<std::uint32_t>& columns) {
    return columns.empty() || static_cast<std::int64_t>(columns.back()) < p_cont;
  };
  for (const DirectionSettings& direction : directions) {
    require(fits(direction.columns), "a column is out of range");
    for (const auto& group : direction.groups) require(fits(group), "a column is out of range");
  }
}

std::size_t n_direction_weights(const Directions& directions) {
  return directions.size() > 1 ? directions.size() : 0;
}

std::vector<double> first_direction_weights(const Directions& directions) {
  std::vector<double> weights(n_direction_weights(directions));
  double total = 0.0;
  for (std::size_t c = 0; c < weights.size(); ++c)
    total += weights[c] = directions[c].concentration;
  for (double& weight : weights) weight /= total;
  return weights;
}

void draw_direction_weights(const Directions& directions, std::span<const std::int64_t> n_rules,
                            Rng& rng, std::vector<double>& weights) {
  double total = 0.0;
  for (std::size_t c = 0; c < weights.size(); ++c) {
    const auto n = static_cast<double>(
        n_rules.empty() || OBART_BUG(direction_counts_missing) ? 0 : n_rules[c]);
    total += weights[c] = rng.gamma(directions[c].concentration + n);
  }
  for (double& weight : weights) weight /= total;
}

}  // namespace obart
