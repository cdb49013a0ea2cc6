#include "model/patch.h"

#include <cmath>

#include "base/planted_bugs.h"

namespace obart {
namespace {

// How many boxes there are along an axis.
std::uint32_t count_placements(std::uint32_t length, std::uint32_t least, std::uint32_t most) {
  std::uint32_t n = 0;
  for (std::uint32_t size = least; size <= most; ++size) n += length - size + 1;
  return n;
}

// The cell's number on a curve that visits the quarters of a grid one after the other, and so on
// within each (Morton's order): the bits of its coordinates in turn.
std::uint64_t place_on_curve(std::size_t cell, std::span<const std::uint32_t> shape) {
  std::uint64_t place = 0;
  for (std::size_t a = shape.size(); a-- > 0; cell /= shape[a])
    for (std::uint64_t bits = cell % shape[a], k = a; bits != 0 && k < 64;
         bits >>= 1, k += shape.size())
      place |= (bits & 1) << k;
  return place;
}

}  // namespace

std::uint32_t PatchPrior::Box::stride(std::size_t axis) const {
  std::uint32_t n = 1;
  for (std::size_t a = axis + 1; a < kMostAxes; ++a) n *= size[a];
  return n;
}

PatchPrior::PatchPrior(const DirectionSettings& settings)
    : columns_(settings.columns), n_axes_(settings.shape.size()), values_(settings.values) {
  cell_of_.assign(columns_.back() + std::size_t{1}, -1);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    cell_of_[columns_[i]] = static_cast<std::int64_t>(i);
  std::size_t most_cells = 1;
  for (std::size_t a = 0; a < n_axes_; ++a) {
    shape_[a] = settings.shape[a];
    least_[a] = settings.least[a];
    most_[a] = settings.most[a];
    n_placements_[a] = count_placements(shape_[a], least_[a], most_[a]);
    if (least_[a] < shape_[a]) long_axes_.push_back(a);
    if (least_[a] < most_[a]) flexible_axes_.push_back(a);
    most_cells *= most_[a];
  }
  place_.assign(cell_of_.size(), 0);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    place_[columns_[i]] = place_on_curve(i, settings.shape);
  if (values_ == PatchValues::smooth) {
    rho_ = det_exp(-1.0 / settings.length_scale);
    innovation_ = std::sqrt(1.0 - rho_ * rho_);
  }
  if (!long_axes_.empty()) steps_.push_back(Step::shift);
  if (!flexible_axes_.empty()) steps_.push_back(Step::resize);
  steps_.push_back(Step::values);
  z_.reserve(most_cells);
  other_.reserve(most_cells);
}

// ---- boxes -------------------------------------------------------------------------------------

template <class Visit>
void PatchPrior::for_each_cell(const Box& box, const Visit& visit) const {
  std::size_t k = 0;
  Sizes at{};
  for (at[0] = 0; at[0] < box.size[0]; ++at[0])
    for (at[1] = 0; at[1] < box.size[1]; ++at[1])
      for (at[2] = 0; at[2] < box.size[2]; ++at[2])
        for (at[3] = 0; at[3] < box.size[3]; ++at[3]) {
          std::size_t cell = 0;
          for (std::size_t a = 0; a < kMostAxes; ++a)
            cell = cell * shape_[a] + box.start[a] + at[a];
          visit(k++, columns_[cell], at);
        }
}

PatchPrior::Box PatchPrior::draw_box(Rng& rng) const {
  Box box;
  for (std::size_t a = 0; a < n_axes_; ++a) {
    std::uint32_t size = least_[a];
    if (OBART_BUG(patch_size_uniform)) {
      size += rng.below(most_[a] - least_[a] + 1);
      box.start[a] = rng.below(shape_[a] - size + 1);
    } else {
      std::uint32_t k = rng.below(n_placements_[a]);
      for (; k >= shape_[a] - size + 1; ++size) k -= shape_[a] - size + 1;
      box.start[a] = k;
    }
    box.size[a] = size;
  }
  return box;
}

// From the first and the last column, which are opposite corners.
std::optional<PatchPrior::Box> PatchPrior::find_box(std::span<const PhiEntry> phi) const {
  if (phi.empty()) return {};
  const auto cell_of = [&](std::uint32_t column) {
    return column < cell_of_.size() ? cell_of_[column] : std::int64_t{-1};
  };
  std::int64_t first = cell_of(phi.front().column);
  std::int64_t last = cell_of(phi.back().column);
  if (first < 0 || last < 0) return {};
  Box box;
  for (std::size_t a = kMostAxes; a-- > 0;) {
    const auto length = static_cast<std::int64_t>(shape_[a]);
    const std::int64_t from = first % length;
    const std::int64_t to = last % length;
    first /= length;
    last /= length;
    if (to < from) return {};
    box.start[a] = static_cast<std::uint32_t>(from);
    box.size[a] = static_cast<std::uint32_t>(to - from + 1);
    if (box.size[a] < least_[a] || box.size[a] > most_[a]) return {};
  }
  if (box.n_cells() != phi.size()) return {};
  return box;
}

bool PatchPrior::contains(std::span<const PhiEntry> phi) const {
  const std::optional<Box> box = find_box(phi);
  if (!box) return false;
  bool is_box = true;
  for_each_cell(*box, [&](std::size_t k, std::uint32_t column, const Sizes&) {
    is_box &= phi[k].column == column && phi[k].value != 0.0F;
  });
  return is_box && (values_ != PatchValues::difference || find_edge(*box, phi));
}

// ---- values ------------------------------------------------------------------------------------

void PatchPrior::correlate(const Box& box, std::vector<double>& z, std::size_t skipped) const {
  if (rho_ == 0.0) return;
  for (std::size_t a = 0; a < n_axes_; ++a) {
    if (a == skipped || box.size[a] == 1) continue;
    const std::size_t stride = box.stride(a);
    for (std::size_t k = 0; k < z.size(); ++k)
      if (k / stride % box.size[a] > 0) z[k] = rho_ * z[k - stride] + innovation_ * z[k];
  }
}

void PatchPrior::whiten(const Box& box, std::vector<double>& z) const {
  if (rho_ == 0.0) return;
  for (std::size_t a = n_axes_; a-- > 0;) {
    if (box.size[a] == 1) continue;
    const std::size_t stride = box.stride(a);
    for (std::size_t k = z.size(); k-- > 0;)
      if (k / stride % box.size[a] > 0) z[k] = (z[k] - rho_ * z[k - stride]) / innovation_;
  }
}

// Scales z_ to length 1; false where it is 0, or an entry would be.
bool PatchPrior::place(const Box& box, std::vector<PhiEntry>& phi) const {
  double norm = 0.0;
  for (const double value : z_) norm += value * value;
  norm = OBART_BUG(patch_not_normalised) ? 1.0 : std::sqrt(norm);
  if (!(norm > 0.0)) return false;
  phi.resize(z_.size());
  bool ok = true;
  for_each_cell(box, [&](std::size_t k, std::uint32_t column, const Sizes&) {
    phi[k] = {column, static_cast<float>(z_[k] / norm)};
    ok &= phi[k].value != 0.0F;
  });
  return ok;
}

// Under the prior the length of z given its direction phi is that of a chi variable with as many
// degrees of freedom as there are cells, in units in which phi, whitened, has length 1.
void PatchPrior::draw_length(const Box& box, Rng& rng, std::span<const PhiEntry> phi) {
  other_.clear();
  for (const PhiEntry& entry : phi) other_.push_back(static_cast<double>(entry.value));
  z_ = other_;
  whiten(box, other_);
  double square = 0.0;
  for (const double value : other_) square += value * value;
  const double length = std::sqrt(2.0 * rng.gamma(0.5 * static_cast<double>(phi.size())) / square);
  for (double& value : z_) value *= OBART_BUG(patch_length_fixed) ? 1.0 : length;
}

// What is left of z, or new cells from their conditional distribution given those next to them.
void PatchPrior::resize_values(const Box& from, const Resized& to, Rng& rng) {
  const std::size_t stride = from.stride(to.axis);
  const std::size_t n_old = from.size[to.axis];
  const std::size_t n_new = to.box.size[to.axis];
  const std::size_t n_outer = z_.size() / (stride * n_old);
  other_.assign(n_outer * n_new * stride, 0.0);
  if (to.grows)
    for (std::size_t o = 0; o < n_outer; ++o)
      for (std::size_t s = 0; s < stride; ++s)
        other_[(o * n_new + (to.at_start ? 0 : n_old)) * stride + s] = rng.normal();
  // All other cells are 0 here, and stay so along the other axes.
  correlate(to.box, other_, to.axis);
  const std::size_t first_new = to.at_start && to.grows ? 1 : 0;
  const std::size_t first_old = to.at_start && !to.grows ? 1 : 0;
  const std::size_t n_kept = std::min(n_old, n_new);
  const double rho = OBART_BUG(patch_new_cells_apart) ? 0.0 : rho_;
  for (std::size_t o = 0; o < n_outer; ++o) {
    for (std::size_t i = 0; i < n_kept; ++i)
      for (std::size_t s = 0; s < stride; ++s)
        other_[(o * n_new + first_new + i) * stride + s] =
            z_[(o * n_old + first_old + i) * stride + s];
    if (!to.grows) continue;
    const std::size_t fresh = to.at_start ? 0 : n_old;
    const std::size_t next = to.at_start ? 1 : n_old - 1;
    for (std::size_t s = 0; s < stride; ++s) {
      double& value = other_[(o * n_new + fresh) * stride + s];
      value = rho * other_[(o * n_new + next) * stride + s] + innovation_ * value;
    }
  }
  std::swap(z_, other_);
}

// ---- edges -------------------------------------------------------------------------------------

PatchPrior::Edge PatchPrior::draw_edge(const Box& box, Rng& rng) const {
  std::array<std::size_t, kMostAxes> axes{};
  std::uint32_t n = 0;
  for (std::size_t a = 0; a < n_axes_; ++a)
    if (box.size[a] >= 2) axes[n++] = a;
  Edge edge;
  edge.axis = axes[rng.below(n)];
  edge.split = 1 + rng.below(box.size[edge.axis] - 1);
  edge.is_negative = rng.coin();
  return edge;
}

// Log of its prior probability in this box, up to a constant.
double PatchPrior::log_edge(const Box& box, const Edge& edge) const {
  int n = 0;
  for (std::size_t a = 0; a < n_axes_; ++a) n += box.size[a] >= 2 ? 1 : 0;
  return -det_log(static_cast<double>(n)) - det_log(static_cast<double>(box.size[edge.axis] - 1));
}

void PatchPrior::place_edge(const Box& box, const Edge& edge, std::vector<PhiEntry>& phi) const {
  const double n_slice = static_cast<double>(box.n_cells() / box.size[edge.axis]);
  const double n_before = n_slice * static_cast<double>(edge.split);
  const double n_after = n_slice * static_cast<double>(box.size[edge.axis] - edge.split);
  const double norm = std::sqrt(1.0 / n_before + 1.0 / n_after);
  const double sign = edge.is_negative ? -1.0 : 1.0;
  const auto before = static_cast<float>(sign / (n_before * norm));
  const auto after = static_cast<float>(-sign / (n_after * norm));
  phi.resize(box.n_cells());
  for_each_cell(box, [&](std::size_t k, std::uint32_t column, const Sizes& at) {
    phi[k] = {column, at[edge.axis] < edge.split ? before : after};
  });
}

// By the signs, which change once along one axis.
std::optional<PatchPrior::Edge> PatchPrior::find_edge(const Box& box,
                                                      std::span<const PhiEntry> phi) const {
  Edge edge;
  edge.is_negative = phi[0].value < 0.0F;
  const auto is_after = [&](std::size_t k) { return (phi[k].value < 0.0F) != edge.is_negative; };
  bool found = false;
  for (std::size_t a = 0; a < n_axes_ && !found; ++a)
    for (std::uint32_t i = 1; i < box.size[a] && !found; ++i)
      if (is_after(i * box.stride(a))) {
        edge.axis = a;
        edge.split = i;
        found = true;
      }
  if (!found) return {};
  bool ok = true;
  for_each_cell(box, [&](std::size_t k, std::uint32_t, const Sizes& at) {
    ok &= is_after(k) == (at[edge.axis] >= edge.split);
  });
  if (!ok) return {};
  return edge;
}

// ---- moves -------------------------------------------------------------------------------------

void PatchPrior::draw(Rng& rng, std::vector<PhiEntry>& phi) {
  const Box box = draw_box(rng);
  if (values_ == PatchValues::difference) {
    place_edge(box, draw_edge(box, rng), phi);
    return;
  }
  do {
    z_.resize(box.n_cells());
    for (double& value : z_) value = rng.normal();
    correlate(box, z_);
  } while (!place(box, phi));
}

bool PatchPrior::shift(Box& box, Rng& rng) const {
  const std::size_t a = long_axes_[rng.below(static_cast<std::uint32_t>(long_axes_.size()))];
  const bool is_up = rng.coin();
  if (is_up ? box.start[a] + box.size[a] >= shape_[a] : box.start[a] == 0) {
    if (!OBART_BUG(patch_shift_wraps)) return false;
    // As if it were a torus for one end only: the way back has another probability.
    if (is_up) box.start[a] -= std::min(box.start[a], 1U);
    return is_up;
  }
  box.start[a] += is_up ? 1U : ~0U;
  return true;
}

std::optional<PatchPrior::Resized> PatchPrior::resize(const Box& box, Rng& rng) const {
  Resized out{box, 0, false, false};
  const auto n = static_cast<std::uint32_t>(flexible_axes_.size());
  const std::size_t a = out.axis = flexible_axes_[rng.below(n)];
  out.at_start = rng.coin();
  out.grows = rng.coin();
  if (out.grows) {
    const bool has_room = out.at_start ? box.start[a] > 0 : box.start[a] + box.size[a] < shape_[a];
    if (!has_room || box.size[a] == most_[a]) return {};
    ++out.box.size[a];
    if (out.at_start) --out.box.start[a];
  } else {
    if (box.size[a] == least_[a]) return {};
    --out.box.size[a];
    if (out.at_start) ++out.box.start[a];
  }
  return out;
}

// A step to each neighbour is as likely as the step back, so the ratio is that of the prior.
std::optional<double> PatchPrior::perturb_edge(const Box& box, Step step, Rng& rng,
                                               std::vector<PhiEntry>& phi) {
  const std::optional<Edge> found = find_edge(box, phi);
  if (!found) return {};
  Edge edge = *found;
  Box to = box;
  if (step == Step::shift) {
    if (!shift(to, rng)) return {};
  } else if (step == Step::resize) {
    const std::optional<Resized> resized = resize(box, rng);
    if (!resized) return {};
    to = resized->box;
    // The edge stays where it is in the grid.
    if (resized->axis == edge.axis && resized->at_start) edge.split += resized->grows ? 1U : ~0U;
  } else {
    edge.split += rng.coin() ? 1U : ~0U;
  }
  if (edge.split == 0 || edge.split >= to.size[edge.axis]) return {};
  place_edge(to, edge, phi);
  if (OBART_BUG(patch_edge_ratio_missing)) return 0.0;
  return log_edge(to, edge) - log_edge(box, *found);
}

// Given its direction z gets a length; steps in z are reversible under its prior, given the box and
// across boxes; then the length is forgotten. So what is left of the ratio is the likelihood's. The
// step of the values is so up to a factor 1 / sqrt(1 + angle^2), which the direction forgets too.
std::optional<double> PatchPrior::perturb(double angle, Rng& rng, std::vector<PhiEntry>& phi) {
  const std::optional<Box> box = find_box(phi);
  if (!box) return {};
  const Step step = steps_[rng.below(static_cast<std::uint32_t>(steps_.size()))];
  if (values_ == PatchValues::difference) return perturb_edge(*box, step, rng, phi);
  Box to = *box;
  if (step == Step::shift) {
    if (!shift(to, rng)) return {};
    for_each_cell(
        to, [&](std::size_t k, std::uint32_t column, const Sizes&) { phi[k].column = column; });
    return 0.0;
  }
  if (step == Step::resize) {
    const std::optional<Resized> resized = resize(*box, rng);
    if (!resized) return {};
    draw_length(*box, rng, phi);
    resize_values(*box, *resized, rng);
    to = resized->box;
  } else {
    draw_length(*box, rng, phi);
    whiten(*box, z_);
    for (double& value : z_) value += angle * rng.normal();
    correlate(*box, z_);
  }
  if (!place(to, phi)) return {};
  return 0.0;
}

}  // namespace obart
