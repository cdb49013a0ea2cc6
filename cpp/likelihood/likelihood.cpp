#include "likelihood/likelihood.h"

#include <cmath>
#include <stdexcept>

#include "base/planted_bugs.h"

namespace obart {
double Likelihood::draw_prior_sigma(Rng& rng) const {
  return settings_.sigma_fixed ? settings_.sigma : draw_sigma(0.0, 0.0, rng);
}

// sigma^2 | ... ~ Inv-Gamma((nu + n) / 2, (nu lambda + sum w r^2) / 2).
double Likelihood::draw_sigma(double n_rows, double squares, Rng& rng, double unit) const {
  double shape = 0.5 * settings_.nu;
  double rate = 0.5 * settings_.nu * settings_.lambda * (unit * unit);
  if (!OBART_BUG(sigma_shape_without_n)) shape += 0.5 * n_rows;
  rate += OBART_BUG(sigma_rate_half) ? squares : 0.5 * squares;
  return std::sqrt(rate / rng.gamma(shape));
}

void Likelihood::set_weights(const double* weights, Ensembles& ensembles) {
  if (n_ensembles() > 1)
    throw std::invalid_argument("the likelihood " + settings_.name + " takes no weights");
  ensembles[0].set_weights(weights);
}

void Likelihood::begin_scaling(const Ensembles& ensembles, std::size_t e, double sigma) {
  fit_sums_ = ensembles[e].fit_sums();
  inv_sigma2_ = 1.0 / (sigma * sigma);
}

double Likelihood::log_scaled(double factor) const {
  return inv_sigma2_ * factor * (fit_sums_.target_fit - 0.5 * factor * fit_sums_.fit_fit);
}

namespace {

std::unique_ptr<Likelihood> find_likelihood(const Data& data, const Settings& settings) {
  const std::string& name = settings.likelihood.name;
#define OBART_LIKELIHOOD(known) \
  if (name == #known) return make_##known(data, settings);
  OBART_LIKELIHOODS(OBART_LIKELIHOOD)
#undef OBART_LIKELIHOOD
  std::string names;
  for (const char* known : kLikelihoodNames)
    names += std::string(names.empty() ? "" : ", ") + known;
  throw std::invalid_argument("likelihood must be one of " + names);
}

}  // namespace

std::unique_ptr<Likelihood> make_likelihood(const Data& data, const Settings& settings) {
  std::unique_ptr<Likelihood> found = find_likelihood(data, settings);
  if (settings.ensembles.size() != found->n_ensembles())
    throw std::invalid_argument("a chain with the likelihood " + settings.likelihood.name +
                                " must have " + std::to_string(found->n_ensembles()) +
                                " ensembles, not " + std::to_string(settings.ensembles.size()));
  return found;
}

}  // namespace obart
