// P(y = k) proportional to exp(offset_k + f_k), one ensemble per class. Given the other classes,
// class e is logistic: P(y = e) = logistic(offset_e + f_e - C), C = log sum over j != e of
// exp(offset_j + f_j). So each class in turn has Pólya-Gamma latents (Polson, Scott and Windle
// 2013). A function added to all f_k changes nothing but the prior, which holds it at zero.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/normal_kernels.h"
#include "base/planted_bugs.h"
#include "likelihood/likelihood.h"
#include "likelihood/logistic_rows.h"

namespace obart {
namespace {

bool samples_a_scale(const Settings& settings) {
  return std::ranges::any_of(settings.ensembles,
                             [](const auto& ensemble) { return !ensemble.leaf.leaf_sd_fixed; });
}

// C of one class after the other: the classes before it as they are now, those after it as they
// were when the round began, which is also how they are now. No term is ever subtracted, so a class
// that outweighs all others does not hide them; and all sums are logarithms, so scores may be of
// any size.
class OtherClasses {
 public:
  OtherClasses(std::size_t n_rows, std::vector<double> offsets)
      : n_rows_(n_rows),
        offset_(std::move(offsets)),
        score_(n_rows),
        before_(n_rows),
        after_(n_rows * offset_.size()),
        both_(n_rows) {}

  // Goes on to class e; a round begins with the first class.
  void go_to(const Ensembles& ensembles, std::size_t e) {
    if (e == 0 || e < class_) begin_round(ensembles);
    for (; class_ < e; ++class_) {
      read_scores(ensembles, class_, class_ == 0 ? before_.data() : score_.data());
      if (class_ > 0) add(before_.data(), score_.data(), before_.data());
    }
    const bool is_last = e + 1 == offset_.size();
    if (e == 0)
      std::copy_n(after(0), n_rows_, both_.data());
    else if (is_last || OBART_BUG(softmax_later_classes_dropped))
      std::ranges::copy(before_, both_.begin());
    else
      add(before_.data(), after(e), both_.data());
  }

  // offset - C of the class that was gone to.
  double offset(std::size_t row) const { return offset_[class_] - static_cast<double>(both_[row]); }

 private:
  // Of the classes after k, which is not the last.
  float* after(std::size_t k) { return after_.data() + k * n_rows_; }

  void read_scores(const Ensembles& ensembles, std::size_t k, float* score) const {
    for (std::size_t row = 0; row < n_rows_; ++row)
      score[row] = static_cast<float>(offset_[k] + LogisticRows::fit(ensembles[k], row));
  }
  void add(const float* a, const float* b, float* out) const {
    normal_kernels().log_add_exp(a, b, out, static_cast<std::int64_t>(n_rows_));
  }

  void begin_round(const Ensembles& ensembles) {
    class_ = 0;
    const std::size_t last = offset_.size() - 1;
    read_scores(ensembles, last, after(last - 1));
    for (std::size_t k = last - 1; k > 0; --k) {
      read_scores(ensembles, k, score_.data());
      add(after(k), score_.data(), after(k - 1));
    }
  }

  // Logarithms of sums of exp(offset + f) are by row.
  std::size_t n_rows_;
  std::vector<double> offset_;  // by class
  std::size_t class_ = 0;
  std::vector<float> score_;   // offset + f of a class; scratch
  std::vector<float> before_;  // of the classes before this one
  std::vector<float> after_;   // of the classes after each class, by class and row
  std::vector<float> both_;    // C
};

std::vector<double> read_offsets(const Settings& settings) {
  std::vector<double> out;
  for (std::size_t k = 0; k < settings.ensembles.size(); ++k)
    out.push_back(settings.likelihood.required("offset." + std::to_string(k)));
  return out;
}

class Softmax final : public Likelihood {
 public:
  Softmax(const Data& data, const Settings& settings)
      : Likelihood(settings.likelihood),
        n_classes_(settings.ensembles.size()),
        rows_(data, samples_a_scale(settings)),
        others_(rows_.size(), read_offsets(settings)),
        class_(rows_.size()) {}

  std::size_t n_ensembles() const override { return std::max<std::size_t>(n_classes_, 2); }
  double first_sigma() const override { return 1.0; }
  double draw_prior_sigma(Rng&) const override { return 1.0; }
  void set_weights(const double* weights, Ensembles&) override { rows_.set_weights(weights); }

  void set_y(const double* y, Ensembles& ensembles) override {
    for (std::size_t row = 0; row < class_.size(); ++row) {
      const double k = y[row];
      if (!(k >= 0.0 && k < static_cast<double>(n_classes_) && k == std::floor(k)))
        throw std::invalid_argument("outcomes must be numbers of classes, from 0 on");
      class_[row] = static_cast<std::uint32_t>(k);
    }
    for (std::size_t e = 0; e < n_classes_; ++e) {
      rows_.begin(ensembles[e]);
      for (std::size_t row = 0; row < class_.size(); ++row)
        ensembles[e].target[row] = is_class(row, e) ? 2.0 : -2.0;
    }
  }

  void prepare(Ensembles& ensembles, std::size_t e, double, Rng& rng) override {
    if (!OBART_BUG(softmax_others_stale) || e == 0) others_.go_to(ensembles, e);
    rows_.draw_latents(
        ensembles[e], [&](std::size_t row) { return is_class(row, e); },
        [&](std::size_t row) { return others_.offset(row); }, rng);
  }

  void draw_scales(Ensembles&, double&, Rng&) override {}
  std::int64_t refresh_sweeps() const override { return LogisticRows::kRefreshSweeps; }

  // By the likelihood of the classes; all other classes are read as they are now.
  bool can_scale(std::size_t) const override { return true; }
  Scaling scaling() const override { return {1024, 0.5}; }
  void begin_scaling(const Ensembles& ensembles, std::size_t e, double) override {
    if (!OBART_BUG(softmax_scaling_stale)) others_.go_to(ensembles, e);
    for (std::size_t row = 0; row < class_.size(); ++row)
      rows_.keep(ensembles[e], row, is_class(row, e), others_.offset(row));
  }
  double log_scaled(double factor) const override { return rows_.log_scaled(factor); }

 private:
  bool is_class(std::size_t row, std::size_t e) const { return class_[row] == e; }

  std::size_t n_classes_;
  LogisticRows rows_;
  OtherClasses others_;
  std::vector<std::uint32_t> class_;  // of each row
};

}  // namespace

std::unique_ptr<Likelihood> make_softmax(const Data& data, const Settings& settings) {
  return std::make_unique<Softmax>(data, settings);
}

}  // namespace obart
