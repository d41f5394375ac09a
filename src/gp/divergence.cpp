#include "gp/divergence.hpp"

#include <cmath>

#include "base/fail.hpp"
#include "kernel/visit.hpp"

namespace mercer {
namespace {

/// A value with its derivatives by μ and σ.
struct Term {
  double value = 0;
  double mean = 0;
  double scale = 0;
};

Term gaussian_term(double mean, double scale, double mean0, double scale0) {
  const double z = (mean - mean0) / scale0;
  const double ratio = scale / scale0;
  return {-std::log(ratio) + (ratio * ratio + z * z - 1) / 2, z / scale0, ratio / scale0 - 1 / scale};
}

Term laplace_term(double mean, double scale, double mean0, double scale0) {
  const double apart = std::abs(mean - mean0);
  const double sign = mean < mean0 ? -1 : 1;
  const double ratio = scale / scale0;
  const double e = std::exp(-apart / scale);
  return {-std::log(ratio) + apart / scale0 + ratio * e - 1, sign * (1 - e) / scale0,
          -1 / scale + e * (1 + apart / scale) / scale0};
}

/// Σ over inputs, times m_q.
template <class Form>
double separable(const Mixture& mixture, const Mixture& prior, const SpectralPoints& points, double factor, const Form& form,
                 MixtureGradient& gradient) {
  double sum = 0;
  for (Index q = 0; q < mixture.components(); ++q) {
    const auto m = static_cast<double>(points.shares[static_cast<std::size_t>(q)]);
    for (Index k = 0; k < mixture.inputs(); ++k) {
      const Term term = form(mixture.means(q, k), mixture.scales(q, k), prior.means(q, k), prior.scales(q, k));
      sum += m * term.value;
      gradient.means(q, k) += factor * m * term.mean;
      gradient.scales(q, k) += factor * m * term.scale;
    }
  }
  return sum;
}

/// log q - log p = Σ log(σ₀/σ) + ½(2ν + d)[log(1 + ‖z‖²/2ν) - log(1 + ‖ε‖²/2ν)] at each point, z = (s - μ₀)/σ₀.
double sampled_student(const Mixture& mixture, const Mixture& prior, const SpectralPoints& points, double nu, double factor,
                       MixtureGradient& gradient) {
  const Index d = mixture.inputs();
  const double degrees = 2 * nu;
  const double power = degrees + static_cast<double>(d);
  double sum = 0;
  std::vector<double> z(static_cast<std::size_t>(d));
  for (Index j = 0; j < points.count(); ++j) {
    const Index q = points.component[static_cast<std::size_t>(j)];
    double z2 = 0;
    double e2 = 0;
    for (Index k = 0; k < d; ++k) {
      const double e = points.epsilon(j, k);
      const double s = mixture.means(q, k) + mixture.scales(q, k) * e;
      double& entry = z[static_cast<std::size_t>(k)];
      entry = (s - prior.means(q, k)) / prior.scales(q, k);
      z2 += entry * entry;
      e2 += e * e;
      sum -= std::log(mixture.scales(q, k) / prior.scales(q, k));
    }
    sum += power / 2 * (std::log1p(z2 / degrees) - std::log1p(e2 / degrees));
    for (Index k = 0; k < d; ++k) {
      const double slope = power * z[static_cast<std::size_t>(k)] / (degrees + z2) / prior.scales(q, k);
      gradient.means(q, k) += factor * slope;
      gradient.scales(q, k) += factor * (slope * points.epsilon(j, k) - 1 / mixture.scales(q, k));
    }
  }
  return sum;
}

}  // namespace

double divergence(const Mixture& mixture, const Mixture& prior, const SpectralPoints& points, double factor,
                  MixtureGradient& gradient) {
  return std::visit(
      Overload{
          [&](const Gaussian&) { return separable(mixture, prior, points, factor, gaussian_term, gradient); },
          [&](const Cauchy&) { return separable(mixture, prior, points, factor, laplace_term, gradient); },
          [&](const Matern& law) { return sampled_student(mixture, prior, points, law.nu, factor, gradient); },
          [](const auto&) -> double { fail_argument("the components of a spectrum are gaussian, student or laplace"); }},
      mixture.envelope.form);
}

}  // namespace mercer
