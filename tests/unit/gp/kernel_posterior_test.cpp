// Exact and variational posteriors against the dense formulas of textbooks, and functions drawn from them.
#include "gp/kernel_posterior.hpp"

#include "gp/exact_likelihood.hpp"
#include "gp/prior_function.hpp"
#include "gp/vfe.hpp"
#include "gp_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

constexpr double noise = 0.15;

/// Kernel matrices of few inducing inputs are near singular: their inverses need more digits than a double has.
using Long = ::Eigen::Matrix<long double, ::Eigen::Dynamic, ::Eigen::Dynamic>;

Long long_gram(const Kernel& kernel, ConstMatrix x, ConstMatrix z) {
  return slow_gram(kernel, x, z).cast<long double>();
}

Long identity(Index n) {
  return Long::Identity(n, n);
}

std::vector<std::string> texts(Index d) {
  if (d == 1) {
    return {"0.7*gaussian(0.8)", "2*matern(0.7, nu=1.5)",
            "spectral_mixture(weights=[0.7, 1.9], means=[[0.1], [0.5]], scales=[[0.1], [0.3]])",
            "0.5*gaussian(1.2) + 0.3*linear()"};
  }
  return {"gaussian([0.8, 1.3, 2])", "2*matern([0.5, 1, 2], nu=2.5)*gaussian(3) + 0.2*polynomial(degree=2, offset=1)"};
}

struct Rows {
  Matrix<double> x;
  Matrix<double> y;
  Matrix<double> z;     ///< inducing inputs
  Matrix<double> here;  ///< where predictions are asked for

  explicit Rows(Index d, Index p = 2)
      : x(normal_rows(5, 40, d)), y(wavy_targets(x, p)), z(normal_rows(6, 7, d, 1.5)), here(normal_rows(7, 6, d, 2)) {}
};

struct Truth {
  Dense mean;
  Dense covariance;
};

Long basis(MeanForm mean, ConstMatrix x) {
  Long h = Long::Ones(x.rows, mean == MeanForm::none ? 0 : mean == MeanForm::constant ? 1 : 1 + x.cols);
  if (mean == MeanForm::linear) h.rightCols(x.cols) = as_dense(x).cast<long double>();
  return h;
}

/// Of targets with covariance S, cross covariance c to them and prior covariance k: Rasmussen and Williams 2.41 and 2.42.
Truth universal(const Long& s, const Long& c, const Long& k, const Rows& rows, MeanForm mean) {
  const Long inverse = s.fullPivLu().inverse();
  const Long y = as_dense(rows.y).cast<long double>();
  const Long h = basis(mean, rows.x);
  Long f = c * inverse * y;
  Long covariance = k - c * inverse * c.transpose();
  if (mean != MeanForm::none) {
    const Long n = (h.transpose() * inverse * h).fullPivLu().inverse();
    const Long u = basis(mean, rows.here) - c * inverse * h;
    f += u * n * h.transpose() * inverse * y;
    covariance += u * n * u.transpose();
  }
  return {f.cast<double>(), covariance.cast<double>()};
}

Truth exact_truth(const Kernel& kernel, const Rows& rows, MeanForm mean) {
  const Long s = long_gram(kernel, rows.x, rows.x) + noise * identity(rows.x.rows());
  return universal(s, long_gram(kernel, rows.here, rows.x), long_gram(kernel, rows.here, rows.here), rows, mean);
}

/// K_mm with the jitter that the bound always adds.
Long inducing_gram(const Kernel& kernel, const Rows& rows) {
  const Long kmm = long_gram(kernel, rows.z, rows.z);
  return kmm + 1e-10L * kmm.trace() / static_cast<long double>(rows.z.rows()) * identity(rows.z.rows());
}

/// Titsias 2009, (6): k** - k*m Kmm⁻¹ km* + k*m Σ⁻¹ km*, Σ = Kmm + Kmn Knm/v, mean k*m Σ⁻¹ Kmn y/v.
Truth titsias(const Kernel& kernel, const Rows& rows) {
  const Long kmm = inducing_gram(kernel, rows);
  const Long kmn = long_gram(kernel, rows.z, rows.x);
  const Long c = long_gram(kernel, rows.here, rows.z);
  const Long sigma = (kmm + kmn * kmn.transpose() / noise).fullPivLu().inverse();
  const Long mean = c * sigma * kmn * as_dense(rows.y).cast<long double>() / noise;
  const Long covariance =
      long_gram(kernel, rows.here, rows.here) - c * kmm.fullPivLu().inverse() * c.transpose() + c * sigma * c.transpose();
  return {mean.cast<double>(), covariance.cast<double>()};
}

/// The same with a mean: the process whose covariance at the rows is Q, plus the prior that Z does not see.
Truth titsias_with_mean(const Kernel& kernel, const Rows& rows, MeanForm mean) {
  const Long kmn = long_gram(kernel, rows.z, rows.x);
  const Long inverse = inducing_gram(kernel, rows).fullPivLu().inverse();
  const Long s = kmn.transpose() * inverse * kmn + noise * identity(rows.x.rows());
  return universal(s, long_gram(kernel, rows.here, rows.z) * inverse * kmn, long_gram(kernel, rows.here, rows.here), rows,
                   mean);
}

KernelPosterior exact(const Kernel& kernel, const Rows& rows, MeanForm mean) {
  return ExactLikelihood(kernel, rows.x, rows.y, mean).posterior(kernel, noise);
}

KernelPosterior variational(const Kernel& kernel, const Rows& rows, MeanForm mean, const Matrix<double>& z) {
  VariationalBound bound(kernel, rows.x, rows.y, mean, z, VariationalBound::Inducing::fixed);
  return bound.posterior(kernel, noise, z);
}

void expect_posterior(const KernelPosterior& posterior, const Rows& rows, const Truth& truth, double tolerance,
                      const std::string& what, double mean_tolerance = 0) {
  const Index n = rows.here.rows();
  const Index p = rows.y.cols();
  Matrix<double> mean(n, p);
  Matrix<double> variance(n, p);
  posterior.mean(rows.here, mean);
  posterior.variance(rows.here, variance);
  const Matrix<double> covariance = posterior.covariance(rows.here);
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a < p; ++a) {
      EXPECT_NEAR(mean(i, a), truth.mean(i, a), std::max(tolerance, mean_tolerance)) << what;
      EXPECT_NEAR(variance(i, a), truth.covariance(i, i), tolerance) << what;
    }
    for (Index j = 0; j < n; ++j) EXPECT_NEAR(covariance(i, j), truth.covariance(i, j), tolerance) << what;
  }
}

TEST(KernelPosterior, ExactIsTheTextbookFormula) {
  for (const Index d : {1, 3}) {
    const Rows rows(d);
    for (const std::string& text : texts(d)) {
      const Kernel kernel = scalar(text);
      for (const MeanForm mean : {MeanForm::none, MeanForm::constant, MeanForm::linear})
        expect_posterior(exact(kernel, rows, mean), rows, exact_truth(kernel, rows, mean), 1e-9, text);
    }
  }
}

TEST(KernelPosterior, VariationalIsTheFormulaOfTitsias) {
  for (const Index d : {1, 3}) {
    const Rows rows(d);
    for (const std::string& text : texts(d)) {
      const Kernel kernel = scalar(text);
      const KernelPosterior plain = variational(kernel, rows, MeanForm::none, rows.z);
      expect_posterior(plain, rows, titsias(kernel, rows), 1e-8, text);
      for (const MeanForm mean : {MeanForm::none, MeanForm::constant, MeanForm::linear}) {
        const KernelPosterior posterior = variational(kernel, rows, mean, rows.z);
        expect_posterior(posterior, rows, titsias_with_mean(kernel, rows, mean), 1e-8, text);
      }
    }
  }
}

/// What the jitter j does: the coefficients α of the rows become (K + jI)⁻¹Kα, which moves the mean at x by
/// j k(x, X)(K + jI)⁻¹α, at most √(j k(x, x)) ‖α‖: below 1e-5·√k(x, x)·‖α‖, where ‖α‖ ≤ ‖y‖/v = 80.
TEST(KernelPosterior, VariationalIsExactWhenTheInducingInputsAreTheRows) {
  for (const Index d : {1, 3}) {
    const Rows rows(d);
    for (const std::string& text : texts(d)) {
      const Kernel kernel = scalar(text);
      for (const MeanForm mean : {MeanForm::none, MeanForm::constant, MeanForm::linear})
        expect_posterior(variational(kernel, rows, mean, rows.x), rows, exact_truth(kernel, rows, mean), 1e-6, text, 1e-4);
    }
  }
}

/// A series with a cycle and a strong trend, as many inducing inputs as rows and K_zz near singular: far from the data the
/// bands are those of the exact process, not of the prior.
TEST(KernelPosterior, InducingInputsThatRepeatEachOtherDoNotWidenTheBands) {
  const Kernel kernel =
      scalar("spectral_mixture(weights=[9, 0.04], means=[[0.05], [2.5]], scales=[[0.0001], [0.008]]) + 0.001*gaussian(0.3)");
  Rows rows(1, 1);
  rows.x = Matrix<double>(150, 1);
  rows.y = Matrix<double>(150, 1);
  for (Index i = 0; i < 150; ++i) {
    const double t = rows.x(i, 0) = -1.7 + 3.4 * static_cast<double>(i) / 149;
    rows.y(i, 0) = t + 0.2 * t * t + 0.2 * std::sin(2 * std::numbers::pi * 2.5 * t);
  }
  for (Index i = 0; i < 6; ++i) rows.here(i, 0) = 1.75 + 0.15 * static_cast<double>(i);
  for (const MeanForm mean : {MeanForm::none, MeanForm::constant}) {
    const Truth truth = exact_truth(kernel, rows, mean);
    Matrix<double> variance(6, 1);
    variational(kernel, rows, mean, rows.x).variance(rows.here, variance);
    for (Index i = 0; i < 6; ++i) {
      EXPECT_NEAR(variance(i, 0), truth.covariance(i, i), 1e-4 * truth.covariance(i, i) + 1e-8);
      EXPECT_LT(variance(i, 0), 1);
    }
  }
}

TEST(KernelPosterior, ConditionsOnOtherRows) {
  const Rows rows(3);
  Rows other(3);
  other.x = normal_rows(15, 25, 3);
  other.y = wavy_targets(other.x, 2);
  const Kernel kernel = scalar(texts(3).front());
  const KernelPosterior a = exact(kernel, rows, MeanForm::linear).conditioned_on(other.x, other.y);
  expect_posterior(a, other, exact_truth(kernel, other, MeanForm::linear), 1e-9, "exact");
  const KernelPosterior b = variational(kernel, rows, MeanForm::constant, rows.z).conditioned_on(other.x, other.y);
  expect_posterior(b, other, titsias_with_mean(kernel, other, MeanForm::constant), 1e-8, "variational");
}

TEST(KernelPosterior, ReductionIsWhatTheRowsTakeOffThePrior) {
  const Rows rows(1);
  const Kernel kernel = scalar(texts(1)[2]);
  for (const bool inducing : {false, true}) {
    const KernelPosterior posterior =
        inducing ? variational(kernel, rows, MeanForm::none, rows.z) : exact(kernel, rows, MeanForm::none);
    const Dense c = slow_gram(kernel, rows.here, inducing ? rows.z : rows.x);
    const Dense left = slow_gram(kernel, rows.here, rows.here) - c * as_dense(posterior.reduction()) * c.transpose();
    const Matrix<double> covariance = posterior.covariance(rows.here);
    for (Index i = 0; i < 6; ++i) {
      for (Index j = 0; j < 6; ++j) EXPECT_NEAR(covariance(i, j), left(i, j), 1e-8);
    }
  }
}

/// Mean and covariance of `count` columns against the truth: each entry within 6 of its own standard errors, as the spread
/// of the products tells it. By the central limit theorem an entry fails with probability 2e-9, and there are below 400 of
/// them in this file: 1e-6 in all.
void expect_moments(const Matrix<double>& draws, const Dense& mean, const Dense& covariance, const std::string& what) {
  const auto count = static_cast<double>(draws.cols());
  const auto within = [&](const auto& number, double expected) {
    double sum = 0;
    double square = 0;
    for (Index s = 0; s < draws.cols(); ++s) {
      sum += number(s) / count;
      square += number(s) * number(s) / count;
    }
    EXPECT_NEAR(sum, expected, 6 * std::sqrt((square - sum * sum) / count)) << what;
  };
  for (Index i = 0; i < draws.rows(); ++i) {
    within([&](Index s) { return draws(i, s); }, mean(i, 0));
    for (Index j = 0; j <= i; ++j) {
      within([&](Index s) { return (draws(i, s) - mean(i, 0)) * (draws(j, s) - mean(j, 0)); }, covariance(i, j));
    }
  }
}

TEST(PriorFunction, HasTheCovarianceOfTheKernel) {
  const Rows rows(1);
  for (const std::string& text : texts(1)) {
    const Kernel kernel = scalar(text);
    const Index count = 1000;
    Matrix<double> draws(6, count);
    for (Index s = 0; s < count; ++s) {
      std::vector<double> f(6, 0.0);
      PriorFunction(kernel, 1, Stream(4, "prior").child("draw", s)).add_to(rows.here, f);
      for (Index i = 0; i < 6; ++i) draws(i, s) = f[i];
    }
    expect_moments(draws, Dense::Zero(6, 1), slow_gram(kernel, rows.here, rows.here), text);
  }
}

TEST(KernelPosterior, SamplesHaveItsMeanAndCovariance) {
  const Rows rows(1, 1);
  for (const std::string& text : texts(1)) {
    const Kernel kernel = scalar(text);
    for (const bool inducing : {false, true}) {
      const KernelPosterior posterior =
          inducing ? variational(kernel, rows, MeanForm::linear, rows.z) : exact(kernel, rows, MeanForm::linear);
      const Truth truth =
          inducing ? titsias_with_mean(kernel, rows, MeanForm::linear) : exact_truth(kernel, rows, MeanForm::linear);
      const Index count = 1000;
      Matrix<double> draws(6, count);
      posterior.sample(rows.here, count, Stream(11, "functions"), draws);
      expect_moments(draws, truth.mean, truth.covariance, text);
    }
  }
}

TEST(KernelPosterior, AFunctionIsTheSameWhereverItIsAskedFor) {
  const Rows rows(3);
  const Kernel kernel = scalar(texts(3)[1]);
  for (const bool inducing : {false, true}) {
    const KernelPosterior posterior =
        inducing ? variational(kernel, rows, MeanForm::constant, rows.z) : exact(kernel, rows, MeanForm::constant);
    Matrix<double> together(6, 3 * 2);
    posterior.sample(rows.here, 3, Stream(2, "functions"), together);
    for (Index i = 0; i < 6; ++i) {
      Matrix<double> alone(1, 3 * 2);
      posterior.sample(rows.here.view().row_range(i, 1), 3, Stream(2, "functions"), alone);
      for (Index j = 0; j < 6; ++j) EXPECT_NEAR(alone(0, j), together(i, j), 1e-9);
    }
    EXPECT_NE(together(0, 0), together(0, 2));  // functions differ, and outputs of one
    EXPECT_NE(together(0, 0), together(0, 1));
  }
}

TEST(AdditiveParts, AddUpToTheKernel) {
  const Kernel kernel =
      scalar("2*(gaussian(1) + 3*spectral_mixture(weights=[1, 2], means=[[0.1], [0.4]], scales=[[0.1], [0.2]])) + linear()");
  const std::vector<Kernel> parts = additive_parts(kernel);
  EXPECT_EQ(parts.size(), 4U);
  const std::vector<double> x = {0.3};
  const std::vector<double> z = {-0.9};
  double sum = 0;
  for (const Kernel& part : parts) sum += value(part, x, z);
  EXPECT_NEAR(sum, value(kernel, x, z), 1e-14);
}

}  // namespace
}  // namespace mercer
