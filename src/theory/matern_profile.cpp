#include "theory/matern_profile.hpp"

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <cstddef>

#include "kernel/matern.hpp"

namespace mercer {

std::array<double, 5> matern_profile(double nu, double s) {
  // Below 1e-30 every term has long reached its limit, and z^-4 must not overflow; beyond 700 those of order ≤ 0 have
  // vanished.
  const double root = std::sqrt(4 * nu * s);
  const double z = root < 1e-30 ? 0 : root;
  std::array<double, 5> f{};
  double factor = 1;  // (-ν)ⁿ / ((ν-1)…(ν-n))
  for (int n = 0; n < 5; ++n) {
    const double mu = nu - n;
    double& out = f[static_cast<std::size_t>(n)];
    if (n > 0 && mu > 0) factor *= -nu / mu;
    if (mu > 0) {
      out = factor * matern_correlation(mu, z);
    } else if (z > 0 && z < 700) {
      out = std::pow(-2 * nu, n) * std::exp2(1 - nu) / std::tgamma(nu) * std::pow(z, mu) * boost::math::cyl_bessel_k(-mu, z);
    }
  }
  return f;
}

}  // namespace mercer
