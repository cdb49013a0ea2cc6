#include "model/rule_prior.h"

#include <cmath>
#include <limits>

#include "base/planted_bugs.h"

namespace obart {
namespace {

// Products of probabilities below it would soon underflow.
constexpr double kLeastRun = 1e-250;

// log(1 + x) without cancellation, from det_log.
double log_one_plus(double x) {
  const double u = 1.0 + x;
  return u == 1.0 ? x : det_log(u) * (x / (u - 1.0));
}

// How many values at the front of a sorted array satisfy the condition, without a branch that
// depends on the values: halves while there are many, then looks at all that are left.
template <class Condition>
std::size_t count_while(const double* values, std::size_t n, const Condition& holds) {
  const double* from = values;
  while (n > 16) {
    const std::size_t half = n / 2;
    from += half * static_cast<std::size_t>(holds(from[half - 1]));
    n -= half;
  }
  auto count = static_cast<std::size_t>(from - values);
  for (std::size_t i = 0; i < n; ++i) count += static_cast<std::size_t>(holds(from[i]));
  return count;
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

double log_proper_mass(std::uint32_t n_levels) {
  if (OBART_BUG(subset_factor_missing)) return 0.0;
  // The power underflows harmlessly for many levels.
  return log_one_plus(-std::ldexp(1.0, 1 - static_cast<int>(std::min(n_levels, 1000U))));
}

RulePrior::RulePrior(const Data& data, const EnsembleSettings& settings)
    : data_(data),
      axis_rules_(settings.rules.axis_rules),
      zero_is_legal_(settings.min_samples_leaf == 0) {
  phi_.reserve(static_cast<std::size_t>(data.p_cont()));
  slab_.resize(static_cast<std::size_t>(data.p_cont()));
  available_.resize(most_level_words(data.n_levels()));
  for (std::int64_t j = 0; j < data.p_cont(); ++j) any_missing_ |= data.has_missing(j);
  theta_.reserve(static_cast<std::size_t>(data.p_cont()));
  zero_run_.reserve(static_cast<std::size_t>(data.p_cont()));
  nonzero_run_.reserve(static_cast<std::size_t>(data.p_cont()));
  column_cdf_.reserve(static_cast<std::size_t>(data.p_cont()));
  set_theta({settings.rules.theta});
}

void RulePrior::set_theta(const std::vector<double>& theta) {
  const auto p = static_cast<std::size_t>(data_.p_cont());
  log_nonzero_mass_ = 0.0;
  if (p == 0) return;
  if (axis_rules_) {
    column_cdf_.clear();
    if (theta.size() < p) return;
    double total = 0.0;
    for (const double weight : theta) column_cdf_.push_back(total += weight);
    return;
  }
  all_columns_ = theta.size() == 1 && theta[0] >= 1.0;
  theta_ = theta;
  nonzero_mass_ = 1.0;
  if (all_columns_) return;
  zero_run_.resize(p);
  nonzero_run_.resize(p);
  double zero = 1.0;
  double nonzero = 0.0;  // by sums: exact to the last digits however small theta is
  for (std::size_t j = 0; j < p; ++j) {
    const double here = theta[theta.size() == 1 ? 0 : j];
    nonzero_run_[j] = nonzero += zero * here;
    zero_run_[j] = zero *= 1.0 - here;
  }
  nonzero_mass_ = std::min(nonzero, 1.0);
  if (!zero_is_legal_ && nonzero_mass_ > 0.0 && !OBART_BUG(nonzero_factor_missing))
    log_nonzero_mass_ = det_log(nonzero_mass_);
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

// Columns of the support in increasing order, by skips to the next one instead of p coin flips:
// after column j, the next is the first k whose run of zeros is less likely than a uniform.
void RulePrior::draw_support(bool given_nonzero, Rng& rng) {
  phi_.clear();
  const auto p = static_cast<std::size_t>(data_.p_cont());
  const auto take = [&](std::size_t j) { phi_.push_back({static_cast<std::uint32_t>(j), 0.0F}); };
  if (all_columns_) {
    for (std::size_t j = 0; j < p; ++j) take(j);
    return;
  }
  if (!(nonzero_mass_ > 0.0)) return;
  const double u = rng.uniform();
  const double level = given_nonzero ? u * nonzero_mass_ : 1.0 - u;
  std::size_t j = count_while(nonzero_run_.data(), p, [=](double run) { return run < level; });
  // With one theta a run is as likely wherever it begins.
  const bool by_column = theta_.size() > 1;
  while (j < p) {
    take(j);
    if (by_column && zero_run_[j] < kLeastRun) break;
    const double longest = (by_column ? zero_run_[j] : 1.0) * rng.uniform();
    const double* const run = zero_run_.data() + (by_column ? j + 1 : 0);
    const std::size_t n_left = p - 1 - j;
    if (n_left == 0 || run[n_left - 1] > longest) return;
    j += 1 + count_while(run, n_left - 1, [=](double r) { return r > longest; });
  }
  for (++j; j < p; ++j)
    if (rng.uniform() < theta_[j]) take(j);
}

std::uint32_t RulePrior::draw_axis(Rng& rng) const {
  const auto p = static_cast<std::uint32_t>(data_.p_cont());
  if (column_cdf_.empty()) return rng.below(p);
  const double level = rng.uniform() * column_cdf_.back();
  const auto at = std::upper_bound(column_cdf_.begin(), column_cdf_.end(), level);
  return std::min(static_cast<std::uint32_t>(at - column_cdf_.begin()), p - 1);
}

// A normal draw on the support, scaled to length 1; false where it is 0.
bool RulePrior::draw_direction(Rng& rng) {
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

bool RulePrior::draw_continuous(DrawMode mode, Rng& rng, RulePools& pools, CellGeometry& geometry,
                                const Tree& tree, int node, Rule& rule) {
  rule.kind = RuleKind::continuous;
  if (axis_rules_) {
    phi_.assign(1, {draw_axis(rng), 1.0F});
  } else {
    draw_support(mode == DrawMode::non_trivial && !zero_is_legal_, rng);
    if (phi_.empty()) {
      if (!zero_is_legal_) return false;
      rule.cut = 1.0F;
      rule.offset = pools.phi.allocate(0);
      return true;
    }
    if (!draw_direction(rng)) return false;
  }
  const Range range = geometry.range(pools, tree, node, phi_);
  if (!range.valid || !place_cut(range, rng.uniform(), rule.cut)) return false;
  rule.n_items = static_cast<std::uint32_t>(phi_.size());
  rule.offset = pools.phi.allocate(rule.n_items);
  PhiEntry* const phi = pools.phi.at(rule.offset);
  phi[0] = phi_[0];
  for (std::size_t k = 1; k < phi_.size(); ++k) phi[k] = phi_[k];
  if (any_missing_ && has_missing(pools, rule))
    rule.missing_right = rng.coin() && !OBART_BUG(missing_side_fixed);
  return true;
}

}  // namespace obart
