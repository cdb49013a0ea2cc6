// Pólya-Gamma draws, which turn logistic likelihoods into normal ones (Polson, Scott and Windle
// 2013): logistic(psi)^y (1 - logistic(psi))^(1 - y) is proportional to the expectation of
// exp((y - 1/2) psi - omega psi^2 / 2) over omega ~ PG(1, 0), and omega given psi is PG(1, psi).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"

namespace obart {

// PG(1, z), exactly; the limit 0 where z is infinite.
double polya_gamma(double z, Rng& rng);
// The same for each of n values; which numbers a draw takes from the generator differs.
void polya_gamma(const double* z, std::size_t n, double* omega, Rng& rng);

// PG(n, z), the sum of n >= 1 such draws. Of more than Rng::kExactSum it is a normal draw with the
// mean and the variance of the sum.
double polya_gamma(std::int64_t n, double z, Rng& rng);

struct PolyaGammaMoments {
  double mean, variance;
};
PolyaGammaMoments polya_gamma_moments(double z);

}  // namespace obart
