#include "gp/vfe.hpp"

#include <mercer/threads.hpp>

#include "gp/exact_likelihood.hpp"
#include "gp_samples.hpp"

namespace mercer {
namespace {

using namespace samples;
using Inducing = VariationalBound::Inducing;

const std::vector<std::string>& texts(Index d) {
  static const std::vector<std::string> line = {
      "gaussian(0.8)",
      "matern(0.7, nu=1.5)",
      "spectral_mixture(weights=[0.7, 1.9], means=[[0.1], [0.5]], scales=[[0.1], [0.3]])",
      "0.5*gaussian(1.2) + linear()",
      "2*gaussian(2)*spectral_mixture(weights=[1, 0.5], means=[[0.3], [-0.7]], scales=[[0.1], [0.05]])",
  };
  static const std::vector<std::string> space = {
      "gaussian([0.8, 1.3, 2])",
      "matern([0.5, 1, 2], nu=2.5)",
      "rational_quadratic(0.6, alpha=1.7)",
      "cauchy(0.9)",
      "spectral_mixture(weights=[0.7, 1.9], means=[[0.1, 0, -0.3], [0.5, 0.2, 0]], scales=[[0.1, 0.2, 0.05], [0.3, 0, "
      "0.1]])",
      "linear()*gaussian(1) + 3*(0.1*(polynomial(degree=2, offset=1)*cauchy(1)))",
  };
  return d == 1 ? line : space;
}

double evaluate(Objective& objective, const std::vector<double>& at) {
  std::vector<double> gradient(at.size());
  return objective.evaluate(at, gradient);
}

TEST(VariationalBound, EqualsTheDenseFormulaAndBoundsTheLikelihood) {
  for (const Index d : {1, 3}) {
    const Matrix<double> x = normal_rows(5, 50, d);
    const Matrix<double> z = normal_rows(6, 6, d, 1.5);
    for (const std::string& text : texts(d)) {
      const Kernel kernel = scalar(text);
      for (const MeanForm mean : {MeanForm::none, MeanForm::constant, MeanForm::linear}) {
        for (const Index p : {1, 3}) {
          const double v = 0.3;
          const Matrix<double> y = wavy_targets(x, p);
          Dense kzz = slow_gram(kernel, z, z);
          kzz += 1e-10 * kzz.trace() / 6 * Dense::Identity(6, 6);
          const Dense kxz = slow_gram(kernel, x, z);
          const Dense q = kxz * kzz.fullPivLu().solve(kxz.transpose());
          const double gap = slow_gram(kernel, x, x).trace() - q.trace();
          Dense b;
          const double expected = slow_nlml(q + v * Dense::Identity(50, 50), x, y, mean, &b) + p / (2 * v) * gap;
          VariationalBound bound(kernel, x, y, mean, z, Inducing::fixed);
          const double value = evaluate(bound, bound.start(kernel, v));
          EXPECT_EQ(bound.jitter(), 1e-10) << text;
          EXPECT_NEAR(value, expected, 1e-9 * std::abs(expected)) << text;
          for (Index i = 0; i < b.rows(); ++i) {
            for (Index a = 0; a < p; ++a) {
              EXPECT_NEAR(bound.mean_coefficients()(i, a), b(i, a), 1e-8 * b.cwiseAbs().maxCoeff()) << text;
            }
          }
          ExactLikelihood exact(kernel, x, y, mean);
          EXPECT_GT(value, evaluate(exact, exact.start(kernel, v))) << text;
        }
      }
    }
  }
}

/// The jitter of 1e-10 costs (p/2v) tr(K - Q) ≈ 1e-10·n·p·k(0)/2v of the bound, here below 1e-7.
TEST(VariationalBound, EqualsTheExactLikelihoodWhenTheInducingInputsAreTheRows) {
  for (const Index d : {1, 3}) {
    const Matrix<double> x = normal_rows(5, 40, d);
    for (const std::string& text : texts(d)) {
      const Kernel kernel = scalar(text);
      for (const MeanForm mean : {MeanForm::none, MeanForm::linear}) {
        const Matrix<double> y = wavy_targets(x, 2);
        VariationalBound bound(kernel, x, y, mean, x, Inducing::fixed);
        ExactLikelihood exact(kernel, x, y, mean);
        EXPECT_NEAR(evaluate(bound, bound.start(kernel, 0.2)), evaluate(exact, exact.start(kernel, 0.2)), 1e-6) << text;
      }
    }
  }
}

/// Inducing inputs well apart: where two are close, K_zz is near singular and the differences are all rounding.
TEST(VariationalBound, GradientEqualsFiniteDifferences) {
  for (const Index d : {1, 3}) {
    const Matrix<double> x = normal_rows(5, 40, d);
    const Matrix<double> z = d == 1 ? Matrix<double>(5, 1, {-1.9, -0.8, 0.15, 1.1, 2.3}) : normal_rows(6, 5, d, 1.5);
    for (const std::string& text : texts(d)) {
      const Kernel kernel = scalar(text);
      for (const MeanForm mean : {MeanForm::none, MeanForm::constant, MeanForm::linear}) {
        for (const Index p : {1, 3}) {
          const Matrix<double> y = wavy_targets(x, p);
          VariationalBound learned(kernel, x, y, mean, z, Inducing::learned);
          expect_gradient(learned, learned.start(kernel, 0.2), text);
        }
      }
      VariationalBound fixed(kernel, x, wavy_targets(x, 1), MeanForm::none, z, Inducing::fixed);
      ASSERT_EQ(fixed.size(), fixed.kernel_coordinates().size() + 1);
      expect_gradient(fixed, fixed.start(kernel, 0.2), text);
    }
  }
}

TEST(VariationalBound, IsBitEqualForAnyNumberOfThreads) {
  const Kernel kernel = scalar("0.5*matern(1, nu=1.5) + spectral_mixture(weights=[0.7], means=[[0.1]], scales=[[0.3]])");
  const Matrix<double> x = normal_rows(8, 1500, 1);
  const Matrix<double> z = normal_rows(9, 30, 1);
  std::vector<double> first;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    VariationalBound bound(kernel, x, wavy_targets(x, 1), MeanForm::linear, z, Inducing::learned);
    std::vector<double> result(bound.size());
    result.push_back(bound.evaluate(bound.start(kernel, 0.1), result));
    if (count == 1) first = result;
    EXPECT_EQ(result, first);
  }
  set_threads(0);
}

TEST(VariationalBound, RaisesTheJitterAndGivesUpWithoutNaN) {
  const Kernel kernel = scalar("gaussian(1)");
  const Matrix<double> x = normal_rows(8, 100, 1);
  const Matrix<double> z(20, 1);  // all the same
  VariationalBound bound(kernel, x, wavy_targets(x, 1), MeanForm::constant, z, Inducing::learned);
  std::vector<double> at = bound.start(kernel, 0.1);
  std::vector<double> gradient(at.size());
  EXPECT_TRUE(std::isfinite(bound.evaluate(at, gradient)));
  for (const double g : gradient) EXPECT_TRUE(std::isfinite(g));
  for (const std::size_t i : {0, 1, 2}) {
    for (const double bad : {800.0, double{NAN}, -double{INFINITY}}) {
      std::vector<double> there = at;
      there[i] = bad;
      if (i == 2 && bad == 800) continue;  // an inducing input far away is merely useless
      const double value = bound.evaluate(there, gradient);
      EXPECT_TRUE(std::isinf(value) && value > 0) << i << ' ' << bad;
    }
  }
}

TEST(ChooseInducing, SpreadsOverTheRows) {
  Matrix<double> x(1000, 2);
  for (Index i = 0; i < 1000; ++i) {
    x(i, 0) = i < 990 ? 0.001 * static_cast<double>(i % 10) : 100 + static_cast<double>(i);  // a heap and ten far ones
    x(i, 1) = 3;
  }
  const std::vector<Index> rows = choose_inducing(x, 11, Stream(1, "inducing"));
  ASSERT_EQ(rows.size(), 11U);
  // All far rows are taken first: the heap's 990 rows together weigh 1e-5 of one of them.
  for (Index i = 990; i < 1000; ++i) EXPECT_NE(std::find(rows.begin(), rows.end(), i), rows.end());
  EXPECT_EQ(choose_inducing(x, 500, Stream(1, "inducing")).size(), 20U);  // as many as are different
  EXPECT_EQ(choose_inducing(x, 11, Stream(1, "inducing")), rows);
  EXPECT_EQ(choose_inducing(Matrix<double>(5, 1), 3, Stream(1, "inducing")).size(), 1U);
  EXPECT_TRUE(choose_inducing(Matrix<double>(0, 1), 3, Stream(1, "inducing")).empty());
}

}  // namespace
}  // namespace mercer
