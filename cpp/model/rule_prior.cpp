#include "model/rule_prior.h"

#include <cmath>
#include <limits>

#include "base/planted_bugs.h"
#include "model/gate.h"

namespace obart {
namespace {

// log(1 + x) without cancellation, from det_log.
double log_one_plus(double x) {
  const double u = 1.0 + x;
  return u == 1.0 ? x : det_log(u) * (x / (u - 1.0));
}

// Right of a zero rule there is nothing to split, not even by another zero rule.
bool in_empty_cell(const Tree& tree, int node) {
  for (int child = node, i = tree.node(node).parent; i != kNone;
       child = i, i = tree.node(i).parent) {
    const Node& ancestor = tree.node(i);
    if (ancestor.rule.kind == RuleKind::continuous && ancestor.rule.n_items == 0 &&
        ancestor.right == child)
      return true;
  }
  return false;
}

}  // namespace

DepthPrior::DepthPrior(const DepthSettings& settings) {
  const auto n = static_cast<std::size_t>(settings.max_depth) + 2;
  for (std::size_t d = 0; d < n; ++d) {
    double p = settings.alpha * det_exp(-settings.beta * det_log(1.0 + static_cast<double>(d)));
    if (static_cast<std::int64_t>(d) >= settings.max_depth) p = 0.0;
    split_.push_back(p);
    log_split_.push_back(p > 0.0 ? det_log(p) : -std::numeric_limits<double>::infinity());
    log_stay_.push_back(log_one_plus(-p));
  }
}

double reflect(double u) {
  u = std::abs(u);
  u -= 2.0 * std::floor(0.5 * u);
  return u > 1.0 ? 2.0 - u : u;
}

double log_proper_mass(std::uint32_t n_levels) {
  if (OBART_BUG(subset_factor_missing)) return 0.0;
  // The power underflows harmlessly for many levels.
  return log_one_plus(-std::ldexp(1.0, 1 - static_cast<int>(std::min(n_levels, 1000U))));
}

RulePrior::RulePrior(const Data& data, const EnsembleSettings& settings)
    : data_(data),
      is_soft_(settings.rules.soft),
      width_scale_(settings.rules.width_scale),
      zero_is_legal_(settings.min_samples_leaf == 0),
      components_(make_components(data, settings.rules)) {
  phi_.reserve(static_cast<std::size_t>(data.p_cont()));
  slab_.resize(static_cast<std::size_t>(data.p_cont()));
  available_.resize(most_level_words(data.n_levels()));
  for (std::int64_t j = 0; j < data.p_cont(); ++j) any_missing_ |= data.has_missing(j);
  for (const Component& component : components_)
    has_places_ |= component.kind == DirectionKind::patch;
  column_cdf_.reserve(static_cast<std::size_t>(data.p_cont()));
  set_theta({settings.rules.theta});
  set_direction_weights(first_direction_weights(settings.rules.directions));
}

std::vector<RulePrior::Component> RulePrior::make_components(const Data& data,
                                                             const RuleSettings& settings) {
  const auto p = static_cast<std::size_t>(data.p_cont());
  std::vector<Component> out;
  if (settings.directions.empty()) {
    Component all;
    if (settings.axis_rules)
      all.kind = DirectionKind::axis;
    else
      all.supports.emplace_back(p);
    out.push_back(std::move(all));
    return out;
  }
  require_columns(settings.directions, data.p_cont());
  for (const DirectionSettings& direction : settings.directions) {
    Component component;
    component.kind = direction.kind;
    if (direction.kind == DirectionKind::axis) {
      component.columns = direction.columns;
    } else if (direction.kind == DirectionKind::patch) {
      component.patch.emplace(direction);
    } else if (direction.kind == DirectionKind::groups) {
      for (const auto& group : direction.groups)
        component.supports.emplace_back(group).set_theta({direction.inclusion});
    } else if (direction.columns.empty()) {
      component.supports.emplace_back(p);
    } else {
      component.supports.emplace_back(direction.columns);
    }
    out.push_back(std::move(component));
  }
  return out;
}

void RulePrior::set_theta(const std::vector<double>& theta) {
  const auto p = static_cast<std::size_t>(data_.p_cont());
  if (p == 0) return;
  for (Component& component : components_) {
    if (component.kind == DirectionKind::axis && components_.size() == 1) {
      column_cdf_.clear();
      if (theta.size() < p) return;
      double total = 0.0;
      for (const double weight : theta) column_cdf_.push_back(total += weight);
      return;
    }
    if (!uses_theta(component.kind)) continue;
    SupportPrior& support = component.supports[0];
    support.set_theta(theta);
    component.log_mass = 0.0;
    if (!zero_is_legal_ && support.nonzero_mass() > 0.0 && !OBART_BUG(nonzero_factor_missing))
      component.log_mass = det_log(support.nonzero_mass());
  }
}

void RulePrior::set_direction_weights(const std::vector<double>& weights) {
  component_cdf_.clear();
  double total = 0.0;
  for (const double weight : weights) component_cdf_.push_back(total += weight);
}

bool RulePrior::place_cut(const Range& range, double u, float& cut) {
  cut = static_cast<float>(range.lo + u * (range.hi - range.lo));
  const auto rounded = static_cast<double>(cut);
  return range.lo < rounded && rounded < range.hi;
}

bool RulePrior::has_missing(const RulePools& pools, const Rule& rule) const {
  const PhiEntry* phi = pools.phi.at(rule.offset);
  for (std::uint32_t k = 0; k < rule.n_items; ++k)
    if (data_.has_missing(phi[k].column)) return true;
  return false;
}

bool RulePrior::draw(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry,
                     const Tree& tree, int node, Rule& rule) {
  rule = Rule{};
  if (zero_is_legal_ && in_empty_cell(tree, node)) return false;
  const auto p = static_cast<std::uint32_t>(data_.p_cont() + data_.p_cat());
  if (p == 0) return false;
  const bool continuous = rng.below(p) < static_cast<std::uint32_t>(data_.p_cont());
  return continuous ? draw_continuous(mode, rng, pools, geometry, tree, node, rule)
                    : draw_categorical(mode, rng, pools, geometry, tree, node, rule);
}

bool RulePrior::draw_categorical(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry,
                                 const Tree& tree, int node, Rule& rule) {
  rule.kind = RuleKind::categorical;
  rule.column = rng.below(static_cast<std::uint32_t>(data_.p_cat()));
  const std::uint32_t count =
      geometry.available_levels(pools, tree, node, rule.column, available_.data());
  const std::uint32_t n_words = level_words(data_.n_levels(rule.column));
  if (count < 2 && !OBART_BUG(empty_subset_allowed)) return false;
  rule.log_subset_mass = log_proper_mass(count);
  rule.offset = pools.levels.allocate(n_words);
  rule.n_items = n_words;
  std::uint32_t* right = pools.levels.at(rule.offset);
  for (;;) {
    bool any_left = false;
    bool any_right = false;
    for (std::uint32_t w = 0; w < n_words; ++w) {
      right[w] = static_cast<std::uint32_t>(rng.next() >> 32) & available_[w];
      any_right |= right[w] != 0;
      any_left |= right[w] != available_[w];
    }
    if (any_left && any_right) return true;
    if (OBART_BUG(empty_subset_allowed)) return true;
    if (mode == DrawMode::raw) {
      pools.release(rule);
      return false;
    }
  }
}

std::uint8_t RulePrior::draw_component(Rng& rng) const {
  if (component_cdf_.empty()) return 0;
  const double level = rng.uniform() * component_cdf_.back();
  const auto at = std::upper_bound(component_cdf_.begin(), component_cdf_.end(), level);
  return static_cast<std::uint8_t>(
      std::min<std::ptrdiff_t>(at - component_cdf_.begin(), std::ssize(component_cdf_) - 1));
}

std::uint32_t RulePrior::draw_axis(const Component& component, Rng& rng) const {
  if (!component.columns.empty())
    return component.columns[rng.below(static_cast<std::uint32_t>(component.columns.size()))];
  const auto p = static_cast<std::uint32_t>(data_.p_cont());
  if (column_cdf_.empty()) return rng.below(p);
  const double level = rng.uniform() * column_cdf_.back();
  const auto at = std::upper_bound(column_cdf_.begin(), column_cdf_.end(), level);
  return std::min(static_cast<std::uint32_t>(at - column_cdf_.begin()), p - 1);
}

// A normal draw on the support, scaled to length 1; false where it is 0.
bool RulePrior::draw_values(Rng& rng) {
  if (phi_.size() == 1) {
    const double value = rng.normal();
    phi_[0].value = std::copysign(1.0F, static_cast<float>(value));
    return value != 0.0;
  }
  const std::size_t n = phi_.size();
  double norm = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    slab_[k] = rng.normal();
    norm += slab_[k] * slab_[k];
  }
  norm = std::sqrt(norm);
  if (!(norm > 0.0)) return false;
  for (std::size_t k = 0; k < n; ++k) phi_[k].value = static_cast<float>(slab_[k] / norm);
  return true;
}

void RulePrior::draw_signs(Rng& rng) {
  const auto size = static_cast<float>(1.0 / std::sqrt(static_cast<double>(phi_.size())));
  for (PhiEntry& entry : phi_)
    entry.value = rng.coin() && !OBART_BUG(signs_all_positive) ? -size : size;
}

// Fills phi_, with nothing where phi is 0; false where the values are not valid.
bool RulePrior::draw_phi(Component& component, bool given_nonzero, Rng& rng) {
  switch (component.kind) {
    case DirectionKind::axis:
      phi_.assign(1, {draw_axis(component, rng), 1.0F});
      return true;
    case DirectionKind::patch:
      component.patch->draw(rng, phi_);
      return true;
    case DirectionKind::signs:
      component.supports[0].draw(given_nonzero, rng, phi_);
      draw_signs(rng);
      return true;
    case DirectionKind::groups: {
      const auto n = static_cast<std::uint32_t>(component.supports.size());
      const bool is_never_zero = !OBART_BUG(groups_zero_rejected);
      component.supports[rng.below(n)].draw(is_never_zero, rng, phi_);
      return draw_values(rng);
    }
    case DirectionKind::sparse:
      break;
  }
  component.supports[0].draw(given_nonzero, rng, phi_);
  return phi_.empty() || draw_values(rng);
}

bool RulePrior::draw_continuous(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry,
                                const Tree& tree, int node, Rule& rule) {
  rule.kind = RuleKind::continuous;
  rule.component = draw_component(rng);
  if (!draw_phi(components_[rule.component], mode == DrawMode::non_trivial && !zero_is_legal_, rng))
    return false;
  if (phi_.empty()) {
    if (!zero_is_legal_) return false;
    rule.cut = 1.0F;
    if (is_soft_) rule.width = 1.0F;  // without a meaning
    rule.offset = pools.phi.allocate(0);
    return true;
  }
  const Range range = geometry.range(pools, tree, node, phi_);
  if (!range.valid || !place_cut(range, rng.uniform(), rule.cut)) return false;
  if (is_soft_) {
    rule.width = static_cast<float>(width_at(rng.uniform()) * width_scale_ *
                                    (OBART_BUG(width_range_missing) ? 1.0 : half_range(phi_)));
    if (!is_valid_width(rule.width)) return false;
  }
  rule.n_items = static_cast<std::uint32_t>(phi_.size());
  rule.offset = pools.phi.allocate(rule.n_items);
  PhiEntry* const phi = pools.phi.at(rule.offset);
  phi[0] = phi_[0];
  for (std::size_t k = 1; k < phi_.size(); ++k) phi[k] = phi_[k];
  if (any_missing_ && has_missing(pools, rule))
    rule.missing_right = rng.coin() && !OBART_BUG(missing_side_fixed);
  return true;
}

// A symmetric step on the sphere of the support: normalising phi + angle z.
static bool rotate(double angle, Rng& rng, std::vector<PhiEntry>& phi,
                   std::vector<double>& direction) {
  double norm = 0.0;
  for (std::size_t k = 0; k < phi.size(); ++k) {
    const double value = static_cast<double>(phi[k].value) + angle * rng.normal();
    direction[k] = value;
    norm += value * value;
  }
  norm = std::sqrt(norm);
  if (!(norm > 0.0)) return false;
  for (std::size_t k = 0; k < phi.size(); ++k)
    phi[k].value = static_cast<float>(direction[k] / norm);
  return true;
}

std::optional<double> RulePrior::perturb_direction(std::uint8_t component, double angle, Rng& rng,
                                                   std::vector<PhiEntry>& phi) {
  const DirectionKind kind = components_[component].kind;
  if (kind == DirectionKind::patch) return components_[component].patch->perturb(angle, rng, phi);
  if (phi.size() == 1) return 0.0;
  if (kind == DirectionKind::signs) {
    float& value = phi[rng.below(static_cast<std::uint32_t>(phi.size()))].value;
    value = -value;
    return 0.0;
  }
  if (!rotate(angle, rng, phi, slab_)) return {};
  return 0.0;
}

void RulePrior::update_missing_side(const RulePools& pools, const Rule& old, Rule& rule,
                                    Rng& rng) const {
  if (!any_missing_ || components_[rule.component].kind != DirectionKind::patch) return;
  if (!has_missing(pools, rule))
    rule.missing_right = false;
  else if (!has_missing(pools, old))
    rule.missing_right = rng.coin();
}

// Under the prior the quantile u of a width is uniform; the step in u is symmetric.
bool RulePrior::perturb_width(const RulePools& pools, Rng& rng, Rule& rule) const {
  constexpr double step = 0.25;
  const double unit = width_scale_ * half_range({pools.phi.at(rule.offset), rule.n_items});
  double u = quantile_of_width(static_cast<double>(rule.width) / unit);
  u += step * (2.0 * rng.uniform() - 1.0);
  u = OBART_BUG(width_unreflected) ? std::clamp(u, 1e-3, 1.0) : reflect(u);
  rule.width = static_cast<float>(width_at(u) * unit);
  return is_valid_width(rule.width);
}

std::uint64_t RulePrior::place(const RulePools& pools, const Rule& rule) const {
  if (rule.kind != RuleKind::continuous || rule.n_items == 0) return 0;
  const Component& component = components_[rule.component];
  if (component.kind != DirectionKind::patch) return 0;
  return component.patch->place({pools.phi.at(rule.offset), rule.n_items});
}

bool RulePrior::is_member(const RulePools& pools, const Rule& rule) const {
  if (rule.component >= components_.size()) return false;
  const Component& component = components_[rule.component];
  const std::span<const PhiEntry> phi(pools.phi.at(rule.offset), rule.n_items);
  if (is_soft_ ? !is_valid_width(rule.width) : rule.width != 0.0F) return false;
  if (component.kind == DirectionKind::patch) return component.patch->contains(phi);
  return component.kind != DirectionKind::axis || phi.size() == 1;
}

}  // namespace obart
