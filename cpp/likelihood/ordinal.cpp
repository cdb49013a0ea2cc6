// Ordered classes: y = k if cut_k < z <= cut_(k+1), z ~ N(f, 1), with the first cut at minus
// infinity and the last at infinity. The shares of the classes at f = 0 have a Dirichlet prior.
//
// Latents would hold the cuts where they are, so these are drawn with the latents integrated out.
// And if all cuts and all of f move by the same number, no probability changes: a step of its own
// draws this number, which single cuts and trees would change slowly.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/normal_kernels.h"
#include "base/planted_bugs.h"
#include "base/slice.h"
#include "likelihood/likelihood.h"

namespace obart {
namespace {

constexpr std::int64_t kMostClasses = 100;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The number that a standard normal is below with odds below : above. By bisection, for the start
// and the prior only.
double normal_quantile(double below, double above) {
  if (below > above) return -normal_quantile(above, below);
  const float zero = 0.0F;
  const double wanted = det_log(below / (below + above));
  double low = -40.0;
  double high = 1.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    const double log_below = normal_kernels().log_interval(&zero, 1.0F, -kInfinity, middle, 1);
    (log_below < wanted ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

class Ordinal final : public Likelihood {
 public:
  Ordinal(const Data& data, const Settings& settings)
      : Likelihood(settings.likelihood),
        concentration_(settings.likelihood.required("concentration")),
        class_of_(static_cast<std::size_t>(data.n_rows())),
        place_(class_of_.size()),
        fit_(class_of_.size()) {
    const double n_classes = settings.likelihood.required("n_classes");
    if (!(n_classes >= 3.0 && n_classes <= kMostClasses && std::floor(n_classes) == n_classes))
      throw std::invalid_argument("n_classes must be a whole number from 3 to 100");
    if (!(concentration_ > 0.0 && concentration_ <= 1e6))
      throw std::invalid_argument("concentration must be positive and at most 1e6");
    const auto n = static_cast<std::size_t>(n_classes);
    begin_.assign(n + 1, 0);
    cut_.assign(n + 1, -kInfinity);
    cut_.back() = kInfinity;
    for (std::size_t k = 1; k < n; ++k)
      cut_[k] = normal_quantile(static_cast<double>(k), static_cast<double>(n - k));
  }

  double first_sigma() const override { return 1.0; }
  double draw_prior_sigma(Rng&) const override { return 1.0; }

  void set_weights(const double*, Ensembles&) override {
    throw std::invalid_argument("the likelihood ordinal takes no weights");
  }

  void set_y(const double* y, Ensembles& ensembles) override {
    std::fill(begin_.begin(), begin_.end(), 0);
    for (std::size_t row = 0; row < class_of_.size(); ++row) {
      if (!(y[row] >= 0.0 && y[row] < static_cast<double>(n_classes())))
        throw std::invalid_argument("classes must be numbers from 0 to n_classes - 1");
      class_of_[row] = static_cast<std::uint8_t>(y[row]);
      ++begin_[class_of_[row] + 1U];
      ensembles[0].target[row] = 0.0;
    }
    for (std::size_t k = 0; k < n_classes(); ++k) begin_[k + 1] += begin_[k];
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t row = 0; row < class_of_.size(); ++row) place_[row] = next[class_of_[row]]++;
  }

  // Latents z between the cuts of their class. The residual z - f is the truncated noise itself.
  void prepare(Ensembles& ensembles, std::size_t, double, Rng& rng) override {
    double* target = ensembles[0].target.data();
    float* residual = ensembles[0].residual.data();
    for (std::size_t row = 0; row < class_of_.size(); ++row) {
      const double f = target[row] - static_cast<double>(residual[row]);
      const std::size_t k = class_of_[row];
      const double high = OBART_BUG(ordinal_latents_unbounded) ? kInfinity : cut_[k + 1];
      const double noise = rng.normal_between(cut_[k] - f, high - f);
      target[row] = f + noise;
      residual[row] = static_cast<float>(noise);
    }
  }

  // All that follows the trees is drawn without the latents, which the next sweep draws anew.
  void draw_scales(Ensembles& ensembles, double&, Rng& rng) override {
    sort_fit(ensembles[0]);
    for (std::size_t k = 1; k < n_classes(); ++k) draw_cut(k, rng);
    draw_level(ensembles[0], rng);
  }

  void draw_prior_scales(Rng& rng) override {
    std::vector<double> share(n_classes());
    for (double& one : share) one = rng.gamma(concentration_);
    // Both sums from the ends, so that neither is a small difference.
    std::vector<double> above(share);
    for (std::size_t k = n_classes() - 1; k > 0; --k) above[k - 1] += above[k];
    double below = 0.0;
    for (std::size_t k = 1; k < n_classes(); ++k)
      cut_[k] = normal_quantile(below += share[k - 1], above[k]);
  }

  // f and the cuts are scaled together: where classes are far apart, both must grow.
  Scaling scaling() const override { return {1024, 0.5}; }
  void begin_scaling(const Ensembles& ensembles, std::size_t, double) override {
    sort_fit(ensembles[0]);
  }
  double log_scaled(double factor) const override {
    double total = log_prior(factor, 0.0);
    if (!OBART_BUG(ordinal_scaling_jacobian))
      total += static_cast<double>(n_classes() - 1) * det_log(factor);
    for (std::size_t k = 0; k < n_classes(); ++k)
      total += log_class(k, factor * cut_[k], factor * cut_[k + 1], factor);
    return total;
  }
  void end_scaling(double factor) override {
    for (std::size_t k = 1; k < n_classes(); ++k) cut_[k] *= factor;
  }

  std::vector<NamedScale> scales() const override {
    std::vector<NamedScale> out;
    for (std::size_t k = 1; k < n_classes(); ++k)
      out.push_back({"cut." + std::to_string(k), cut_[k]});
    return out;
  }
  void add_fields(std::vector<Field>& fields) override {
    for (std::size_t k = 1; k < n_classes(); ++k)
      fields.push_back({"cut." + std::to_string(k), &cut_[k]});
  }

 private:
  std::size_t n_classes() const { return begin_.size() - 1; }

  // f of the rows, class by class.
  void sort_fit(const Ensemble& ensemble) {
    for (std::size_t row = 0; row < place_.size(); ++row)
      fit_[place_[row]] =
          static_cast<float>(ensemble.target[row] - static_cast<double>(ensemble.residual[row]));
  }

  // The log likelihood of the rows of a class, with f times a factor.
  double log_class(std::size_t k, double low, double high, double factor = 1.0) const {
    return normal_kernels().log_interval(fit_.data() + begin_[k], static_cast<float>(factor), low,
                                         high,
                                         static_cast<std::int64_t>(begin_[k + 1] - begin_[k]));
  }
  // The prior of a class's share at f = 0, and of a cut given the shares.
  double log_share(double low, double high) const {
    const float zero = 0.0F;
    if (concentration_ == 1.0) return 0.0;
    return (concentration_ - 1.0) * normal_kernels().log_interval(&zero, 1.0F, low, high, 1);
  }
  static double log_slope(double cut) {
    return OBART_BUG(ordinal_prior_flat) ? 0.0 : -0.5 * cut * cut;
  }
  // Of all cuts, times a factor and moved.
  double log_prior(double factor, double shift) const {
    double total = 0.0;
    for (std::size_t k = 0; k < n_classes(); ++k) {
      const double low = factor * cut_[k] + shift;
      if (k > 0) total += log_slope(low);
      total += log_share(low, factor * cut_[k + 1] + shift);
    }
    return total;
  }

  void draw_cut(std::size_t k, Rng& rng) {
    const double low = cut_[k - 1];
    const double high = cut_[k + 1];
    const auto n_rows = static_cast<double>(begin_[k + 1] - begin_[k - 1]);
    const auto log_density = [&](double u) {
      const double cut = cut_[k] + u;
      if (!(cut > low && cut < high)) return -kInfinity;
      const double prior = log_slope(cut) + log_share(low, cut) + log_share(cut, high);
      const double above = OBART_BUG(ordinal_cut_one_side) ? 0.0 : log_class(k, cut, high);
      return prior + log_class(k - 1, low, cut) + above;
    };
    const double width = std::min(high - low, 2.0) * 2.0 / std::sqrt(n_rows + 2.0);
    cut_[k] += slice_step(log_density, width, rng);
  }

  // The outputs' prior and that of the cuts are all that changes if f and the cuts move together.
  void draw_level(Ensemble& ensemble, Rng& rng) {
    double sum = 0.0;
    double n_leaves = 0.0;
    for (std::size_t m = 0; m < ensemble.trees.size(); ++m) {
      const Tree& tree = ensemble.trees[m];
      const double scale = OBART_BUG(ordinal_level_tree_scales) ? 1.0 : ensemble.tree_scale(m);
      const double weight = 1.0 / (scale * scale);
      n_leaves += weight * tree.n_leaves();
      for (int c = 0; c < tree.n_leaves(); ++c)
        sum += weight * static_cast<double>(tree.leaf_node(c).output);
    }
    const double unit = 1.0 / (static_cast<double>(ensemble.trees.size()) * ensemble.leaf_sd);
    const auto log_density = [&](double shift) {
      const double part = shift * unit;
      const double outputs = -part * (sum / ensemble.leaf_sd + 0.5 * n_leaves * part);
      return (OBART_BUG(ordinal_level_prior) ? 0.0 : outputs) + log_prior(1.0, shift);
    };
    const double shift = slice_step(log_density, 1.0, rng);
    for (std::size_t k = 1; k < n_classes(); ++k) cut_[k] += shift;
    ensemble.shift_outputs(shift);
  }

  double concentration_;
  std::vector<std::uint8_t> class_of_;  // of each row
  std::vector<std::size_t> begin_;      // of each class among the rows sorted by class
  std::vector<std::size_t> place_;      // of each row among these
  std::vector<float> fit_;              // f, in this order
  std::vector<double> cut_;             // with the infinite ones
};

}  // namespace

std::unique_ptr<Likelihood> make_ordinal(const Data& data, const Settings& settings) {
  return std::make_unique<Ordinal>(data, settings);
}

}  // namespace obart
