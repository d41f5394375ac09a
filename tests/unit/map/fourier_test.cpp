#include "map/fourier.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/parallel.hpp"
#include "kernel/evaluate.hpp"
#include "unit/map/map_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

/// One additive part of K~, as slow as the formula: weight · explicit(x, z) · (1/D) Σ_j cos⟨ω_j, x-z⟩ A(ω_j), or
/// weight · explicit(x, z) · A when it has no frequencies.
struct Part {
  double weight = 1;
  Index frequencies = 0;
  std::function<Dense(const Vector&)> a;
  std::function<double(const Vector&, const Vector&)> factor = [](const Vector&, const Vector&) { return 1.0; };
};

Dense approximate_gram(const std::vector<Part>& parts, const Dense& omega, const Dense& x, Index p) {
  Dense k = Dense::Zero(x.rows() * p, x.rows() * p);
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.rows(); ++j) {
      const Vector xi = x.row(i).transpose();
      const Vector xj = x.row(j).transpose();
      Index next = 0;
      for (const Part& part : parts) {
        Dense block = Dense::Zero(p, p);
        if (part.frequencies == 0) block = part.a(Vector::Zero(x.cols()));
        for (Index f = 0; f < part.frequencies; ++f, ++next) {
          const Vector w = omega.row(next).transpose();
          block += std::cos(w.dot(xi - xj)) * part.a(w) / static_cast<double>(part.frequencies);
        }
        k.block(i * p, j * p, p, p) += part.weight * part.factor(xi, xj) * block;
      }
    }
  }
  return k;
}

std::function<Dense(const Vector&)> constant(const Dense& a) {
  return [a](const Vector&) { return a; };
}
std::function<Dense(const Vector&)> field(double share) {
  return [share](const Vector& w) -> Dense {
    const Dense outer = w * w.transpose();
    return share * outer + (1 - share) * (w.squaredNorm() * Dense::Identity(w.size(), w.size()) - outer);
  };
}
double linear(const Vector& x, const Vector& z) {
  return x.dot(z);
}
double cubic(const Vector& x, const Vector& z) {
  return std::pow(x.dot(z) + 0.5, 3);
}

void expect_gram(const std::string& text, Index d, Index p, Index frequencies, const std::vector<Part>& parts) {
  const FourierMap map = map_of(text, d, p, frequencies);
  const Matrix<double> x = normals(7, d, "x");
  const Dense rows = operator_rows(map, x);
  const Dense expected = approximate_gram(parts, dense(map.frequencies()), dense(x), p);
  EXPECT_LE((rows * rows.transpose() - expected).cwiseAbs().maxCoeff(), 1e-12 * (1 + expected.cwiseAbs().maxCoeff()))
      << text;
  // The scalar columns with their factors are the same kernel: K~ = Σ_c φ_c(x)φ_c(z) B_cB_cᵀ.
  EXPECT_EQ(map.columns(), map.coupling().columns());
}

TEST(FourierMap, DecomposableFeaturesAreTheDirectSum) {
  const Dense full = (Dense(2, 2) << 2, 0.5, 0.5, 1).finished();
  const Dense deficient = (Dense(2, 2) << 1, 2, 2, 4).finished();
  expect_gram("gaussian(0.8)", 3, 1, 20, {{1, 20, constant(Dense::Identity(1, 1))}});
  expect_gram("gaussian(0.8)", 2, 3, 20, {{1, 20, constant(Dense::Identity(3, 3))}});
  expect_gram("decomposable(gaussian(0.8), [[2,0.5],[0.5,1]])", 2, 2, 20, {{1, 20, constant(full)}});
  expect_gram("3*decomposable(laplacian(0.8), [[1,2],[2,4]])", 2, 2, 20, {{3, 20, constant(deficient)}});
}

TEST(FourierMap, FieldFeaturesAreTheDirectSum) {
  for (const Index d : {2, 3}) {
    expect_gram("curl_free(gaussian(0.8))", d, d, 16, {{1, 16, field(1)}});
    expect_gram("divergence_free(gaussian(0.8))", d, d, 16, {{1, 16, field(0)}});
    expect_gram("2*helmholtz(matern(0.8, nu=2.5), 0)", d, d, 16, {{2, 16, field(0)}});
    expect_gram("helmholtz(gaussian(0.8), 0.3)", d, d, 16, {{1, 16, field(0.3)}});
    expect_gram("helmholtz(gaussian(0.8), 1)", d, d, 16, {{1, 16, field(1)}});
  }
  expect_gram("curl_free(gaussian(0.8))", 1, 1, 16, {{1, 16, field(1)}});
}

TEST(FourierMap, SumsOfTermsKeepTheirFrequenciesApart) {
  const Dense a = (Dense(2, 2) << 1, 0.2, 0.2, 0.5).finished();
  expect_gram("curl_free(gaussian(0.8)) + decomposable(matern(1.2, nu=2.5), [[1,0.2],[0.2,0.5]])", 2, 2, 20,
              {{1, 10, field(1)}, {1, 10, constant(a)}});
  // 18 left after one each, shared 13.5 to 4.5: the first of equal remainders gets the odd one.
  expect_gram("3*curl_free(gaussian(0.8)) + divergence_free(gaussian(2))", 3, 3, 20, {{3, 15, field(1)}, {1, 5, field(0)}});
  expect_gram(
      "helmholtz(gaussian(0.8), 0.5) + linear() + gaussian(2)", 2, 2, 20,
      {{1, 10, field(0.5)}, {1, 0, constant(Dense::Identity(2, 2)), linear}, {1, 10, constant(Dense::Identity(2, 2))}});
}

TEST(FourierMap, ExplicitFeaturesAreExact) {
  const Dense one = Dense::Identity(2, 2);
  expect_gram("gaussian(0.8) + 0.3*linear()", 3, 2, 12, {{1, 12, constant(one)}, {0.3, 0, constant(one), linear}});
  expect_gram("gaussian(0.8) * linear()", 3, 2, 12, {{1, 12, constant(one), linear}});
  expect_gram("polynomial(3, 0.5)", 3, 2, 12, {{1, 0, constant(one), cubic}});
  expect_gram("2*polynomial(3, 0.5)*gaussian(1)", 2, 2, 12, {{2, 12, constant(one), cubic}});
  EXPECT_EQ(map_of("linear()", 3, 2, 1000).columns(), 3);
  EXPECT_EQ(map_of("linear()", 3, 2, 1000).sampling_name(), "explicit");
}

// ⟨Φᵀθ, r⟩ = ⟨θ, Φr⟩ with Φᵀθ computed the fast way, φ·expand(θ), and Φr as contract(φᵀr).
TEST(FourierMap, ForwardAndAdjointPassesAgree) {
  for (const Sample& s : kernel_samples()) {
    const FourierMap map = map_of(s.kernel, s.inputs, s.outputs, 24);
    const Matrix<double> phi = features(map, normals(11, s.inputs, "x"));
    const Matrix<double> theta = normals(map.coupling().parameters(), 1, "theta");
    const Matrix<double> r = normals(11, s.outputs, "r");
    Matrix<double> w(map.columns(), s.outputs);
    map.coupling().expand(theta.values(), w);
    const double left = (dense(phi) * dense(w)).cwiseProduct(dense(r)).sum();
    std::vector<double> back(static_cast<std::size_t>(map.coupling().parameters()));
    map.coupling().contract(matrix(dense(phi).transpose() * dense(r)), back);
    const double right = std::inner_product(back.begin(), back.end(), theta.data(), 0.0);
    EXPECT_NEAR(left, right, 1e-11 * (1 + std::abs(left))) << s.name;
  }
}

// Rounding of the phase dominates: |Δφ| ≤ scale·(|phase|·d·2⁻²³ + 2 ulp).
TEST(FourierMap, SinglePrecisionFeaturesAreTheSameNumbers) {
  for (const Sample& s : kernel_samples()) {
    const FourierMap map = map_of(s.kernel, s.inputs, s.outputs, 50);
    const Matrix<double> x = normals(100, s.inputs, "x");
    Matrix<float> narrow(100, s.inputs);
    for (Index i = 0; i < x.size(); ++i) narrow.data()[i] = static_cast<float>(x.data()[i]);
    Matrix<double> wide(100, s.inputs);
    for (Index i = 0; i < x.size(); ++i) wide.data()[i] = static_cast<double>(narrow.data()[i]);
    Matrix<float> single(100, map.columns());
    map.features(narrow, single);
    const Matrix<double> both = features(map, wide);
    double phase = 1;
    for (const double w : map.frequencies().values()) phase = std::max(phase, std::abs(w));
    const double tolerance = 4 * static_cast<double>(s.inputs) * phase * 4 * std::pow(2.0, -23);
    for (Index i = 0; i < both.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(single.data()[i]), both.data()[i], tolerance * (1 + std::abs(both.data()[i])))
          << s.name;
    }
  }
}

TEST(FourierMap, ThreadsDoNotChangeABit) {
  const int before = threads();
  const Matrix<double> x = normals(1000, 3, "x");
  const FourierMap map = map_of("helmholtz(gaussian(1), 0.4) + linear()", 3, 3, 130);
  set_threads(1);
  const Matrix<double> reference = features(map, x);
  for (const int count : {2, 3}) {
    set_threads(count);
    const Matrix<double> again = features(map, x);
    EXPECT_TRUE(std::ranges::equal(reference.values(), again.values())) << count;
    EXPECT_EQ(map_of("helmholtz(gaussian(1), 0.4) + linear()", 3, 3, 130).fingerprint(), map.fingerprint());
  }
  set_threads(before);
}

// The model file relies on it: these frequencies must be drawn alike by every build on every machine.
TEST(FourierMap, FeaturesStayWithinTheirBounds) {
  const FourierMap map = map_of("2*gaussian(0.5) + 0.5*matern(1, nu=1.5)", 2, 1, 40);
  const std::vector<double> bounds = map.bounds();
  ASSERT_EQ(static_cast<Index>(bounds.size()), map.columns());
  const Matrix<double> phi = features(map, normals(500, 2, "x"));
  for (Index c = 0; c < map.columns(); ++c) {
    double largest = 0;
    for (Index i = 0; i < phi.rows(); ++i) largest = std::max(largest, std::abs(phi(i, c)));
    EXPECT_LE(largest, bounds[static_cast<std::size_t>(c)] * (1 + 1e-15));
    EXPECT_GE(largest, 0.5 * bounds[static_cast<std::size_t>(c)]);  // and they are not far from them
  }
  EXPECT_TRUE(map_of("gaussian(1) * linear", 2, 1, 10).bounds().empty());
}

TEST(FourierMap, FingerprintIsFixed) {
  EXPECT_EQ(map_of("gaussian(0.5)", 2, 1, 10, Sampling::monte_carlo, 7).fingerprint(),
            map_of("gaussian(0.5)", 2, 1, 10, Sampling::monte_carlo, 7).fingerprint());
  EXPECT_NE(map_of("gaussian(0.5)", 2, 1, 10, Sampling::monte_carlo, 7).fingerprint(),
            map_of("gaussian(0.5)", 2, 1, 10, Sampling::monte_carlo, 8).fingerprint());
  EXPECT_EQ(map_of("gaussian(0.5)", 2, 1, 10, Sampling::monte_carlo, 7).fingerprint(), 2583837362347722206U);
  EXPECT_EQ(map_of("curl_free(matern(0.5, nu=2.5)) + gaussian(2)", 2, 2, 10, Sampling::automatic, 7).fingerprint(),
            8424414665042130101U);
  EXPECT_EQ(map_of("cauchy(0.5)", 3, 1, 10, Sampling::quasi, 7).fingerprint(), 5581143850296122829U);
}

TEST(FourierMap, RefusesWhatItCannotDraw) {
  EXPECT_THROW(map_of("gaussian(1)", 2, 1, 0), Error);
  EXPECT_THROW(map_of("gaussian(1) + gaussian(2)", 2, 1, 1), Error);
  EXPECT_THROW(map_of("gaussian(1)", 2, 1, Index{1} << 40), Error);
}

TEST(FourierMap, ZeroOutputMatrixHasNoParameters) {
  const FourierMap map = map_of("decomposable(gaussian(1), [[0,0],[0,0]])", 2, 2, 10);
  EXPECT_EQ(map.coupling().parameters(), 0);
  EXPECT_EQ(map.columns(), 20);
}

TEST(Apportion, SharesByLargestRemainders) {
  using Counts = std::vector<Index>;
  EXPECT_EQ(apportion(10, {1.0}), Counts({10}));
  EXPECT_EQ(apportion(20, {3.0, 1.0}), Counts({15, 5}));
  EXPECT_EQ(apportion(3, {1e9, 1.0, 1.0}), Counts({1, 1, 1}));
  EXPECT_EQ(apportion(1000, {1e-12, 1.0}), Counts({1, 999}));
  EXPECT_EQ(apportion(7, {1.0, 1.0, 1.0}), Counts({3, 2, 2}));
  EXPECT_THROW(apportion(2, {1.0, 1.0, 1.0}), Error);
  for (Index total = 5; total < 400; ++total) {
    const auto shares = apportion(total, {0.1, 0.2, 0.3, 0.7, 1.7});
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), Index{0}), total);
  }
}

}  // namespace
}  // namespace mercer
