// How fast K~ approaches K, with closed-form variances where there are any.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel/evaluate.hpp"
#include "unit/map/map_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

// Scalar Monte Carlo: E(K~ - k)² = ½(1 + k(2δ) - 2k(δ)²)/D. The mean over 400 seeds of the ratio to that is nearly a mean of
// 400 χ²₁: standard deviation √(2/400) = 0.071, so 7 of them, 0.5, is left with probability below 1e-11.
TEST(Convergence, ScalarErrorHasTheExactVariance) {
  const Matrix<double> x(2, 2, {0.3, -0.2, 0.9, 0.5});
  const OperatorKernel kernel = kernel_of("gaussian(1)", 2, 1);
  const double square = 0.36 + 0.49;
  const double k = std::exp(-square / 2);
  const double variance = 0.5 * (1 + std::exp(-4 * square / 2) - 2 * k * k);
  for (const Index frequencies : {20, 320}) {
    double ratio = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const Matrix<double> phi = features(FourierMap(kernel, 2, 1, {frequencies, Sampling::monte_carlo, seed}), x);
      const double error = dense(phi).row(0).dot(dense(phi).row(1)) - k;
      ratio += error * error * static_cast<double>(frequencies) / variance / 400;
    }
    EXPECT_NEAR(ratio, 1, 0.5) << frequencies;
  }
}

/// Mean square of K~ - K over all entries of a Gram matrix and over seeds.
double mean_square(const Sample& s, Index frequencies, Sampling sampling, std::uint64_t seeds) {
  const Matrix<double> x = normals(5, s.inputs, "x");
  const OperatorKernel kernel = kernel_of(s.kernel, s.inputs, s.outputs);
  Matrix<double> exact(5 * s.outputs, 5 * s.outputs);
  gram(kernel, x, x, s.outputs, exact);
  double sum = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const FourierMap map(kernel, s.inputs, s.outputs, {frequencies, sampling, seed});
    const Dense rows = operator_rows(map, x);
    sum += (rows * rows.transpose() - dense(exact)).squaredNorm() /
           static_cast<double>(exact.size() * static_cast<Index>(seeds));
  }
  return sum;
}

// Each mean square over 100 seeds has a relative standard deviation of at most about √(3/100) (the entries of one seed may
// all move together), so the logarithm of the ratio has one of 0.25 and lies within 1.5 of log 64 but for a probability
// below 1e-8.
TEST(Convergence, ErrorFallsLikeTheRootOfD) {
  for (const Sample& s : kernel_samples()) {
    const double coarse = mean_square(s, 32, Sampling::monte_carlo, 100);
    const double fine = mean_square(s, 2048, Sampling::monte_carlo, 100);
    EXPECT_NEAR(std::log(coarse / fine), std::log(64.0), 1.5) << s.name;
  }
}

// Orthogonal and quasi-random frequencies keep the expectation: the error still vanishes, and is no worse than Monte Carlo's
// but for the spread above.
TEST(Convergence, OtherSamplingsAreNoWorse) {
  for (const Sample& s : kernel_samples()) {
    const double plain = mean_square(s, 512, Sampling::monte_carlo, 60);
    EXPECT_LT(mean_square(s, 512, Sampling::automatic, 60), 4.5 * plain) << s.name;
    EXPECT_LT(mean_square(s, 512, Sampling::quasi, 60), 4.5 * plain) << s.name;
  }
}

}  // namespace
}  // namespace mercer
