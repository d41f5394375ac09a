#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <cmath>
#include <numbers>

#include "gp/mixture.hpp"

namespace mercer {
namespace {

/// ∫_0^∞ p(s) cos(2π s δ) ds is the component of the kernel, without weight, by Simpson's rule on s = u/(1-u).
double cosine_transform(const Kernel& envelope, double mean, double scale, double delta) {
  constexpr int n = 2'000'000;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const double u = static_cast<double>(i) / n;
    const double s = u / (1 - u);
    const double jacobian = 1 / ((1 - u) * (1 - u));
    const double weight = i == 0 ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * jacobian * folded_density(envelope, mean, scale, s) * std::cos(2 * std::numbers::pi * s * delta);
  }
  return sum / (3.0 * n);
}

TEST(FoldedDensity, ItsCosineTransformIsTheKernel) {
  for (const Kernel& envelope : {Kernel{Gaussian{{{1.0}, false}}}, Kernel{Matern{{{1.0}, false}, 1.5}},
                                 Kernel{Matern{{{1.0}, false}, 2.5}}, Kernel{Cauchy{{{1.0}, false}}}}) {
    Mixture mixture;
    mixture.envelope = envelope;
    mixture.weights = {1};
    mixture.means = Matrix<double>(1, 1, {0.8});
    mixture.scales = Matrix<double>(1, 1, {0.3});
    for (const double delta : {0.0, 0.2, 0.9}) {
      const std::vector<double> at = {delta};
      EXPECT_NEAR(cosine_transform(envelope, 0.8, 0.3, delta), component_value(mixture, 0, Point(at)), 1e-5) << delta;
    }
  }
}

TEST(FoldedDensity, RefusesOtherLaws) {
  EXPECT_THROW(folded_density(Kernel{Laplacian{{{1.0}, false}}}, 0, 1, 0), Error);
}

}  // namespace
}  // namespace mercer
