#include "gp/mixture.hpp"

#include "gp_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

Mixture two_components() {
  Mixture mixture;
  mixture.weights = {0.7, 2};
  mixture.means = Matrix<double>(2, 2, {0.1, 0.4, -0.3, 0.2});
  mixture.scales = Matrix<double>(2, 2, {0.05, 0.1, 0.2, 0.3});
  return mixture;
}

TEST(Mixture, ComesBackFromItsKernel) {
  for (const char* envelope : {"gaussian(1)", "matern(1, nu=1.5)", "cauchy(1)"}) {
    Mixture mixture = two_components();
    mixture.envelope = scalar(envelope);
    const std::optional<Mixture> back = mixture_of(to_kernel(mixture), 2);
    ASSERT_TRUE(back) << envelope;
    EXPECT_EQ(back->envelope, mixture.envelope);
    const std::vector<double> delta = {0.7, -1.1};
    for (Index q = 0; q < 2; ++q) {
      EXPECT_NEAR(back->weights[q], mixture.weights[q], 1e-15);
      EXPECT_NEAR(component_value(*back, q, delta), component_value(mixture, q, delta), 1e-14) << envelope;
    }
  }
}

TEST(Mixture, OtherKernelsAreNone) {
  for (const char* text : {"gaussian(1)", "2*gaussian(1)*matern(1, nu=1.5)", "linear()", "matern(1, nu=1.5)",
                           "spectral_mixture(weights=[1], means=[[0.1]], scales=[[0.2]]) + gaussian(1)",
                           "spectral_mixture(weights=[1], means=[[0.1]], scales=[[0.2]])*cauchy(1)",
                           "spectral_mixture(weights=[1], means=[[0.1]], scales=[[0]])*gaussian(1)"})
    EXPECT_FALSE(mixture_of(scalar(text), 1)) << text;
}

}  // namespace
}  // namespace mercer
