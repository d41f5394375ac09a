#include "gp/exact_likelihood.hpp"

#include <mercer/threads.hpp>

#include "gp/contraction.hpp"
#include "gp/lbfgs.hpp"
#include "gp_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

const std::vector<std::string>& line_texts() {
  static const std::vector<std::string> texts = {
      "gaussian(0.8)",
      "matern(0.9, nu=0.5)",
      "matern(0.7, nu=1.5)",
      "matern(0.7, nu=2.5)",
      "matern(1.1, nu=0.8)",
      "laplacian(1.4)",
      "cauchy(0.9)",
      "rational_quadratic(0.6, alpha=1.7)",
      "spectral_mixture(weights=[0.7, 1.9, 0.2], means=[[0.1], [0.5], [0]], scales=[[0.1], [0.3], [0]])",
      "0.5*gaussian(1.2) + linear()",
      "2.5*(gaussian(1) + 0.3*matern(2, nu=1.5))*(rational_quadratic(1, alpha=2) + laplacian(3))",
      "gaussian(2)*spectral_mixture(weights=[1, 0.5], means=[[0.3], [-0.7]], scales=[[0.1], [0.05]])",
      "polynomial(degree=2, offset=0.5) + gaussian(1)",
  };
  return texts;
}

std::vector<std::string> texts_for(Index d) {
  return d == 1 ? line_texts() : scalar_texts();
}

TEST(ExactLikelihood, EqualsTheDenseFormula) {
  for (const Index d : {1, 3}) {
    const Matrix<double> x = normal_rows(5, 40, d);
    for (const std::string& text : texts_for(d)) {
      for (const MeanForm mean : {MeanForm::none, MeanForm::constant, MeanForm::linear}) {
        for (const Index p : {1, 3}) {
          const Kernel kernel = scalar(text);
          const Matrix<double> y = wavy_targets(x, p);
          ExactLikelihood likelihood(kernel, x, y, mean);
          std::vector<double> gradient(likelihood.size());
          const double value = likelihood.evaluate(likelihood.start(kernel, 0.3), gradient);
          Dense s = slow_gram(kernel, x, x);
          s.diagonal().array() += 0.3;
          Dense b;
          const double expected = slow_nlml(s, x, y, mean, &b);
          EXPECT_NEAR(value, expected, 1e-9 * std::abs(expected)) << text;
          const Matrix<double>& found = likelihood.mean_coefficients();
          ASSERT_EQ(found.rows(), mean == MeanForm::none ? 0 : mean == MeanForm::constant ? 1 : 1 + d);
          for (Index i = 0; i < found.rows(); ++i) {
            for (Index a = 0; a < p; ++a) EXPECT_NEAR(found(i, a), b(i, a), 1e-8 * b.cwiseAbs().maxCoeff()) << text;
          }
        }
      }
    }
  }
}

TEST(ExactLikelihood, GradientEqualsFiniteDifferences) {
  for (const Index d : {1, 3}) {
    const Matrix<double> x = normal_rows(6, 30, d);
    for (const std::string& text : texts_for(d)) {
      // At α = 1e9 the differences of the rational quadratic in log α are all rounding.
      if (text.find("alpha=1e9") != std::string::npos) continue;
      for (const MeanForm mean : {MeanForm::none, MeanForm::constant, MeanForm::linear}) {
        const Kernel kernel = scalar(text);
        for (const Index p : {1, 3}) {
          ExactLikelihood likelihood(kernel, x, wavy_targets(x, p), mean);
          expect_gradient(likelihood, likelihood.start(kernel, 0.2), text);
        }
      }
    }
  }
}

/// Several tiles, against ½ tr(W ∂K) summed pair by pair.
TEST(Contraction, EqualsTheSumOverPairs) {
  for (const std::string& text : scalar_texts()) {
    const Kernel kernel = scalar(text);
    const Matrix<double> x = normal_rows(1, 150, 3);
    const Matrix<double> z = normal_rows(2, 260, 3);
    const Matrix<double> w = normal_rows(3, 150, 260);
    const std::size_t count = parameters(kernel).size();
    std::vector<double> part(count);
    std::vector<double> slope(3);
    std::vector<double> sum(count);
    std::vector<double> size(count);
    Matrix<double> inputs(150, 3);
    for (Index i = 0; i < 150; ++i) {
      for (Index j = 0; j < 260; ++j) {
        parameter_gradient(kernel, x.row(i), z.row(j), part);
        for (std::size_t k = 0; k < count; ++k) {
          sum[k] += w(i, j) * part[k];
          size[k] += std::abs(w(i, j) * part[k]);
        }
        input_gradient(kernel, x.row(i), z.row(j), slope);
        for (Index k = 0; k < 3; ++k) inputs(i, k) += w(i, j) * slope[k];
      }
    }
    const Contraction all = contract_gradient(kernel, x, z, w);
    const std::vector<double> only = contract_parameter_gradient(kernel, x, z, w);
    ASSERT_EQ(all.parameters.size(), count);
    for (std::size_t k = 0; k < count; ++k) {
      EXPECT_NEAR(all.parameters[k], sum[k], 1e-12 * size[k] + 1e-300) << text << k;
      EXPECT_NEAR(only[k], sum[k], 1e-12 * size[k] + 1e-300) << text << k;
    }
    const double scale = as_dense(inputs).cwiseAbs().maxCoeff();
    EXPECT_LT((as_dense(all.inputs) - as_dense(inputs)).cwiseAbs().maxCoeff(), 1e-11 * scale) << text;
  }
}

TEST(Contraction, ReadsTheLowerTriangleOfSymmetricWeights) {
  const Kernel kernel = scalar("2*gaussian([1, 2, 3]) + linear()*matern(1, nu=1.5)");
  const Matrix<double> x = normal_rows(4, 300, 3);
  const Matrix<double> other = x;
  Matrix<double> w = normal_rows(5, 300, 300);
  for (Index i = 0; i < 300; ++i) {
    for (Index j = 0; j < i; ++j) w(j, i) = w(i, j);
  }
  const std::vector<double> full = contract_parameter_gradient(kernel, x, other, w);
  for (Index i = 0; i < 300; ++i) {
    for (Index j = 0; j < i; ++j) w(j, i) = NAN;
  }
  const std::vector<double> half = contract_parameter_gradient(kernel, x, x, w);
  for (std::size_t k = 0; k < full.size(); ++k) EXPECT_NEAR(half[k], full[k], 1e-10 * (1 + std::abs(full[k])));
}

TEST(ExactLikelihood, IsBitEqualForAnyNumberOfThreads) {
  const Kernel kernel =
      scalar("0.5*matern(1, nu=1.5) + spectral_mixture(weights=[0.7, 1.9], means=[[0.1], [0.5]], scales=[[0.1], [0.3]])");
  const Matrix<double> x = normal_rows(8, 400, 1);
  std::vector<double> first;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    ExactLikelihood likelihood(kernel, x, wavy_targets(x, 2), MeanForm::linear);
    std::vector<double> result(likelihood.size());
    result.push_back(likelihood.evaluate(likelihood.start(kernel, 0.1), result));
    if (count == 1) first = result;
    EXPECT_EQ(result, first);
  }
  set_threads(0);
}

TEST(ExactLikelihood, AddsJitterAndGivesUpWithoutNaN) {
  Matrix<double> x(60, 1);
  for (Index i = 0; i < 60; ++i) x(i, 0) = static_cast<double>(i / 3) / 20;  // repeated rows
  const Kernel kernel = scalar("gaussian(5)");
  ExactLikelihood likelihood(kernel, x, wavy_targets(x, 1), MeanForm::constant);
  std::vector<double> gradient(likelihood.size());
  const double value = likelihood.evaluate(likelihood.start(kernel, 1e-25), gradient);
  EXPECT_TRUE(std::isfinite(value));
  EXPECT_GT(likelihood.jitter(), 0);
  for (const double g : gradient) EXPECT_TRUE(std::isfinite(g));

  for (const auto& at : {std::vector<double>{0, 800}, {800, 0}, {-800, 0}, {NAN, 0}, {0, NAN}, {INFINITY, 0}}) {
    const double bad = likelihood.evaluate(at, gradient);
    EXPECT_TRUE(std::isinf(bad) && bad > 0) << at[0] << ' ' << at[1];
    for (const double g : gradient) EXPECT_TRUE(std::isfinite(g));
  }
  const Kernel steep = scalar("polynomial(degree=100, offset=1)");
  for (Index i = 0; i < 60; ++i) x(i, 0) = 1e6 * static_cast<double>(i);
  ExactLikelihood huge(steep, x, wavy_targets(x, 1), MeanForm::none);
  EXPECT_TRUE(std::isinf(huge.evaluate(huge.start(steep, 1), gradient)));
}

/// The jitter's own derivative is included: the gradient is right on a rung of the ladder.
TEST(ExactLikelihood, GradientIsRightWithJitter) {
  Matrix<double> x(60, 1);
  for (Index i = 0; i < 60; ++i) x(i, 0) = static_cast<double>(i / 3);
  const Kernel kernel = scalar("3*gaussian(0.8)");
  ExactLikelihood likelihood(kernel, x, wavy_targets(Matrix<double>(60, 1), 1), MeanForm::none);
  std::vector<double> at = likelihood.start(kernel, 1e-30);
  std::vector<double> gradient(at.size());
  const double value = likelihood.evaluate(at, gradient);
  ASSERT_GT(likelihood.jitter(), 0);
  std::vector<double> unused(at.size());
  const double h = 1e-2;
  at[0] += h;
  const double up = likelihood.evaluate(at, unused);
  at[0] -= 2 * h;
  const double down = likelihood.evaluate(at, unused);
  // The value, about 3e9, has 1e-6 of it in rounding (condition 1e10): 1e-4 of the difference at this h.
  EXPECT_NEAR(gradient[0], (up - down) / (2 * h), 1e-3 * std::abs(gradient[0])) << value;
}

TEST(ExactLikelihood, MeanSurvivesConstantAndDependentInputs) {
  Matrix<double> x = normal_rows(9, 40, 3);
  for (Index i = 0; i < 40; ++i) {
    x(i, 1) = 4;
    x(i, 2) = 2 * x(i, 0) - 1;
  }
  const Matrix<double> y = wavy_targets(x, 1);
  Matrix<double> line(40, 1);
  for (Index i = 0; i < 40; ++i) line(i, 0) = x(i, 0);
  const Kernel kernel = scalar("gaussian(1)");
  Dense s = slow_gram(kernel, x, x);
  s.diagonal().array() += 0.3;
  ExactLikelihood likelihood(kernel, x, y, MeanForm::linear);
  std::vector<double> gradient(likelihood.size());
  EXPECT_NEAR(likelihood.evaluate(likelihood.start(kernel, 0.3), gradient), slow_nlml(s, line, y, MeanForm::linear), 1e-8);
}

TEST(ExactLikelihood, LearnsAKernelByLbfgs) {
  Matrix<double> x(120, 1);
  Matrix<double> y(120, 1);
  const Stream stream(3, "line");
  for (Index i = 0; i < 120; ++i) {
    x(i, 0) = 0.1 * static_cast<double>(i);
    y(i, 0) = 5 + std::sin(2 * std::numbers::pi * 0.5 * x(i, 0)) + 0.1 * stream.normal(i, 0);
  }
  const Kernel kernel = scalar("spectral_mixture(weights=[1, 1], means=[[0.45], [0]], scales=[[0.05], [0.3]])");
  ExactLikelihood likelihood(kernel, x, y, MeanForm::constant);
  std::vector<double> at = likelihood.start(kernel, 0.1);
  const LbfgsResult result = minimize_lbfgs(likelihood, at, {.max_iterations = 100});
  const auto found = std::get<SpectralMixture>(likelihood.kernel(at).form);
  EXPECT_NEAR(found.means[0][0], 0.5, 0.005) << result.status;
  EXPECT_NEAR(std::sqrt(likelihood.noise(at)), 0.1, 0.02);  // 120 points: two standard errors are 0.013
  EXPECT_NEAR(likelihood.mean_coefficients()(0, 0), 5, 0.2);
}

TEST(KernelCoordinates, GoThereAndBack) {
  for (const std::string& text : scalar_texts()) {
    const Kernel kernel = scalar(text);
    const KernelCoordinates coordinates(kernel);
    ASSERT_EQ(static_cast<Index>(coordinates.names().size()), coordinates.size());
    const std::vector<double> before = parameters(kernel);
    const std::vector<double> after = parameters(coordinates.kernel(coordinates.coordinates()));
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-14 * std::abs(before[i])) << text;
  }
  const KernelCoordinates lines(scalar("3*spectral_mixture(weights=[1, 2], means=[[0], [-1]], scales=[[0], [0.5]])"));
  EXPECT_EQ(lines.names(), (std::vector<std::string>{"log factor", "log spectral_mixture.weights[0]",
                                                     "log spectral_mixture.weights[1]", "spectral_mixture.means[0][0]",
                                                     "spectral_mixture.means[1][0]", "log spectral_mixture.scales[1][0]"}));
}

}  // namespace
}  // namespace mercer
