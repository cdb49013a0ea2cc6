// What the outcome is, given the sum of the trees: normal given some latents. Before the trees of
// an ensemble are updated a likelihood writes what they are to explain; after them it draws its
// scales. A new likelihood is one file that defines make_NAME and its name in the list below.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.h"
#include "base/random.h"
#include "ensemble/ensemble.h"
#include "model/settings.h"

#define OBART_LIKELIHOODS(X) \
  X(gaussian)                \
  X(student_t)               \
  X(learned_t)               \
  X(probit)                  \
  X(weighted_probit)         \
  X(ordinal)                 \
  X(logit)                   \
  X(softmax)                 \
  X(varying_noise)           \
  X(poisson)                 \
  X(negative_binomial)       \
  X(log_normal)              \
  X(log_logistic)            \
  X(causal_gaussian)         \
  X(causal_student_t)        \
  X(causal_learned_t)        \
  X(causal_varying_noise)    \
  X(causal_probit)           \
  X(causal_weighted_probit)  \
  X(none)

namespace obart {

inline constexpr const char* kLikelihoodNames[] = {
#define OBART_LIKELIHOOD(name) #name,
    OBART_LIKELIHOODS(OBART_LIKELIHOOD)
#undef OBART_LIKELIHOOD
};

// A scale that is drawn, which the trace has under its name.
struct NamedScale {
  std::string name;
  double value;
};

class Likelihood {
 public:
  explicit Likelihood(const LikelihoodSettings& settings) : settings_(settings) {}
  virtual ~Likelihood() = default;

  // How many ensembles a chain needs.
  virtual std::size_t n_ensembles() const { return 1; }

  // The standard deviation of the noise of a row of weight one, given latents: where it starts, and
  // a draw from its prior.
  virtual double first_sigma() const { return settings_.sigma; }
  virtual double draw_prior_sigma(Rng& rng) const;

  // The weights that the user gave to the rows. With several ensembles there is no one meaning: a
  // likelihood that has one says so.
  virtual void set_weights(const double* weights, Ensembles& ensembles);

  // Whether it can have some rows of a table while other workers have the others: it must then draw
  // what they draw.
  virtual bool works_on_parts() const { return false; }

  // How many numbers an outcome has, such as the two limits of an interval.
  virtual std::size_t n_columns() const { return 1; }

  // Other outcomes, column after column. Writes the target of every ensemble; where latents start
  // does not matter.
  virtual void set_y(const double* y, Ensembles& ensembles) = 0;

  // Before the trees of ensemble e are updated: writes its target and its residual, and its weights
  // if the likelihood has its own. Here latents are drawn.
  virtual void prepare(Ensembles&, std::size_t /*e*/, double /*sigma*/, Rng&) {}

  // Whether it reads or writes rows itself, in this machine's memory, during a sweep.
  virtual bool reads_rows() const { return true; }

  // Whether `prepare` draws the target of the first ensemble; otherwise that is the outcome.
  virtual bool draws_target() const { return false; }

  // Brings the weights of the first ensemble up to date, where they depend on another.
  virtual void write_weights(Ensembles&) const {}

  // After the trees of all ensembles: draws sigma, and scales of its own.
  virtual void draw_scales(Ensembles& ensembles, double& sigma, Rng& rng) = 0;

  // Draws the scales of its own from their prior.
  virtual void draw_prior_scales(Rng&) {}

  // A sampled leaf_sd is scaled together with all outputs of its ensemble; then f becomes factor
  // times f. begin_scaling reads the rows once, log_scaled gives the log likelihood of a factor, up
  // to a constant. By default latents stay what they are, and it is quadratic in the factor.
  struct Scaling {
    std::int64_t many_rows;  // above this, not in every sweep
    double width;            // of the steps of the slice sampler, in log factor
  };
  // With several ensembles, others may have moved since the target of e was written; a likelihood
  // whose begin_scaling takes care of that says so.
  virtual bool can_scale(std::size_t /*e*/) const { return n_ensembles() == 1; }
  virtual Scaling scaling() const { return {8192, 0.1}; }
  virtual void begin_scaling(const Ensembles& ensembles, std::size_t e, double sigma);
  virtual double log_scaled(double factor) const;
  // All outputs have been multiplied by this factor; so are scales that log_scaled has scaled too.
  virtual void end_scaling(double /*factor*/) {}

  // The float residual drifts by rounding; it is computed anew after so many sweeps. Large targets
  // need that more often.
  virtual std::int64_t refresh_sweeps(std::size_t /*e*/) const { return 64; }

  // What the likelihood has of its own: scales to be traced, and fields of the state (scales, and
  // latents that a sweep does not draw before it uses them).
  virtual std::vector<NamedScale> scales() const { return {}; }
  virtual void add_fields(std::vector<Field>&) {}

 protected:
  const LikelihoodSettings& settings() const { return settings_; }
  // sigma^2 given so many rows with this sum of w r^2, by its conjugate prior, whose scale may be
  // in another unit.
  double draw_sigma(double n_rows, double squares, Rng& rng, double unit = 1.0) const;

 private:
  const LikelihoodSettings& settings_;
  FitSums fit_sums_;  // of the last begin_scaling
  double inv_sigma2_ = 1.0;
};

// Throws std::invalid_argument, listing the known names, if there is none of this name, or if the
// chain has not as many ensembles as it needs.
std::unique_ptr<Likelihood> make_likelihood(const Data& data, const Settings& settings);

#define OBART_LIKELIHOOD(name) \
  std::unique_ptr<Likelihood> make_##name(const Data& data, const Settings& settings);
OBART_LIKELIHOODS(OBART_LIKELIHOOD)
#undef OBART_LIKELIHOOD

}  // namespace obart
