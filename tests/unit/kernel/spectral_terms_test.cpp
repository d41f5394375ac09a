#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernel/spectral.hpp"
#include "unit/kernel/spectral_oracles.hpp"

namespace mercer {
namespace {

using oracle::many;
using oracle::one;

Kernel linear() {
  return {Linear{}};
}
Kernel polynomial(int degree, double offset) {
  return {Polynomial{degree, offset}};
}
Kernel gaussian(double scale) {
  return {Gaussian{one(scale)}};
}
Kernel sum(std::vector<Kernel> terms) {
  return {Sum{std::move(terms)}};
}
Kernel product(std::vector<Kernel> factors) {
  return {Product{std::move(factors)}};
}
Kernel scaled(double factor, Kernel kernel) {
  return {Scaled{factor, {std::move(kernel)}}};
}

double dot(Point x, Point z) {
  double value = 0;
  for (std::size_t i = 0; i < x.size(); ++i) value += x[i] * z[i];
  return value;
}

double evaluate(const Monomial& monomial, Point x) {
  double value = monomial.coefficient;
  for (std::size_t i = 0; i < x.size(); ++i) value *= std::pow(x[i], monomial.exponents[i]);
  return value;
}

/// k(x, z) of the kernel by its formula, recursively. The leaves come from the oracles.
double formula(const Kernel& kernel, Point x, Point z) {
  std::vector<double> delta(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) delta[i] = x[i] - z[i];
  if (const auto* k = std::get_if<Gaussian>(&kernel.form)) return oracle::gaussian(k->length_scale).value(delta);
  if (const auto* k = std::get_if<Matern>(&kernel.form)) return oracle::matern(k->length_scale, k->nu).value(delta);
  if (const auto* k = std::get_if<Laplacian>(&kernel.form)) return oracle::laplacian(k->length_scale).value(delta);
  if (std::holds_alternative<Linear>(kernel.form)) return dot(x, z);
  if (const auto* k = std::get_if<Polynomial>(&kernel.form)) return std::pow(dot(x, z) + k->offset, k->degree);
  if (const auto* k = std::get_if<Scaled>(&kernel.form)) return k->factor * formula(k->kernel[0], x, z);
  if (const auto* k = std::get_if<Sum>(&kernel.form)) {
    double value = 0;
    for (const Kernel& term : k->terms) value += formula(term, x, z);
    return value;
  }
  if (const auto* k = std::get_if<Product>(&kernel.form)) {
    double value = 1;
    for (const Kernel& factor : k->factors) value *= formula(factor, x, z);
    return value;
  }
  ADD_FAILURE() << "no formula";
  return 0;
}

struct Reassembled {
  double value = 0;
  double size = 0;  ///< the same sum with absolute values: what rounding is measured by
};

/// Σ weight · Σ_r e_r(x) e_r(z) · Π factors.
Reassembled reassembled(const std::vector<SpectralTerm>& terms, Point x, Point z) {
  Reassembled result;
  for (const SpectralTerm& term : terms) {
    const double stationary = term.weight * formula({Product{term.factors}}, x, z);
    for (const Monomial& monomial : term.monomials) {
      const double part = evaluate(monomial, x) * evaluate(monomial, z) * stationary;
      result.value += part;
      result.size += std::abs(part);
    }
  }
  return result;
}

void expect_exact(const Kernel& kernel, Index d) {
  const auto terms = spectral_terms(kernel, d);
  const Stream stream(17, "points");
  for (std::uint64_t n = 0; n < 20; ++n) {
    std::vector<double> x(d);
    std::vector<double> z(d);
    for (Index i = 0; i < d; ++i) {
      x[i] = stream.normal(n, 2 * i);
      z[i] = stream.normal(n, 2 * i + 1);
    }
    const Reassembled off_diagonal = reassembled(terms, x, z);
    EXPECT_NEAR(off_diagonal.value, formula(kernel, x, z), 1e-12 * off_diagonal.size);
    const Reassembled diagonal = reassembled(terms, x, x);
    EXPECT_NEAR(diagonal.value, formula(kernel, x, x), 1e-12 * diagonal.size);
  }
}

TEST(SpectralTerms, ShiftInvariantLeafIsItself) {
  for (const auto& law : oracle::all_laws(3)) {
    if (std::holds_alternative<SpectralMixture>(law.kernel.form)) continue;
    const auto terms = spectral_terms(law.kernel, 3);
    ASSERT_EQ(terms.size(), 1U);
    EXPECT_EQ(terms[0].weight, 1);
    ASSERT_EQ(terms[0].monomials.size(), 1U);
    EXPECT_EQ(terms[0].monomials[0].coefficient, 1);
    EXPECT_EQ(terms[0].monomials[0].exponents, std::vector<int>(3));
    EXPECT_EQ(terms[0].factors, std::vector<Kernel>{law.kernel});
  }
}

TEST(SpectralTerms, MixtureIsNormalised) {
  const SpectralMixture mixture{{1.5, 0.5}, {{0.1}, {0.2}}, {{1}, {2}}};
  const auto terms = spectral_terms(scaled(3, {mixture}), 1);
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_EQ(terms[0].weight, 6);
  const auto& unit = std::get<SpectralMixture>(terms[0].factors.at(0).form);
  EXPECT_EQ(unit.weights, (std::vector<double>{0.75, 0.25}));
  EXPECT_EQ(unit.means, mixture.means);
  EXPECT_EQ(unit.scales, mixture.scales);
}

TEST(SpectralTerms, LinearHasOneMonomialPerInput) {
  const auto terms = spectral_terms(linear(), 3);
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_FALSE(terms[0].has_frequencies());
  std::set<std::vector<int>> exponents;
  for (const Monomial& monomial : terms[0].monomials) {
    EXPECT_EQ(monomial.coefficient, 1);
    exponents.insert(monomial.exponents);
  }
  EXPECT_EQ(exponents, (std::set<std::vector<int>>{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
}

TEST(SpectralTerms, PolynomialByHand) {  // (xz + 3)² = x²z² + 6xz + 9
  const auto terms = spectral_terms(polynomial(2, 3), 1);
  ASSERT_EQ(terms.size(), 1U);
  std::vector<double> coefficients(3);
  ASSERT_EQ(terms[0].monomials.size(), 3U);
  for (const Monomial& monomial : terms[0].monomials) coefficients.at(monomial.exponents.at(0)) = monomial.coefficient;
  EXPECT_DOUBLE_EQ(coefficients[0], 3);
  EXPECT_DOUBLE_EQ(coefficients[1], std::sqrt(6.0));
  EXPECT_DOUBLE_EQ(coefficients[2], 1);
}

TEST(SpectralTerms, PolynomialCounts) {  // C(d+q, q) with an offset, C(d+q-1, q) without
  EXPECT_EQ(spectral_terms(polynomial(3, 1), 4)[0].monomials.size(), 35U);
  EXPECT_EQ(spectral_terms(polynomial(3, 0), 4)[0].monomials.size(), 20U);
  EXPECT_EQ(spectral_terms(polynomial(100, 0), 1)[0].monomials.size(), 1U);
}

TEST(SpectralTerms, ReassembleTheKernel) {
  const Kernel matern{Matern{one(1.2), 1.5}};
  const Kernel laplacian{Laplacian{one(2)}};
  for (const Index d : {1, 2, 5}) {
    expect_exact(linear(), d);
    expect_exact(polynomial(1, 0), d);
    expect_exact(polynomial(2, 0), d);
    expect_exact(polynomial(4, 0.7), d);
    expect_exact(sum({gaussian(1), scaled(0.5, linear()), scaled(2, matern)}), d);
    expect_exact(product({gaussian(1), matern, scaled(3, laplacian)}), d);
    expect_exact(product({linear(), linear()}), d);
    expect_exact(product({polynomial(2, 1), linear(), gaussian(0.8)}), d);
    expect_exact(product({sum({gaussian(1), linear()}), sum({scaled(0.3, matern), polynomial(2, 0.5)})}), d);
    expect_exact(scaled(2, product({sum({linear(), polynomial(2, 0)}), sum({linear(), laplacian}), gaussian(3)})), d);
  }
}

TEST(SpectralTerms, EqualMonomialsMerge) {
  const auto terms = spectral_terms(product({linear(), linear()}), 2);  // (⟨x,z⟩)²: x², √2 xy, y²
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_EQ(terms[0].monomials.size(), 3U);
  EXPECT_EQ(spectral_terms(product({polynomial(2, 1), polynomial(3, 1)}), 4)[0].monomials.size(), 126U);  // C(9, 5)
}

std::string refusal(const Kernel& kernel, Index d) {
  try {
    spectral_terms(kernel, d);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST(SpectralTerms, TooManyAreRefusedBeforeTheyAreMade) {
  EXPECT_NE(refusal(polynomial(2, 1), 784).find("308 505 monomials"), std::string::npos);
  EXPECT_NE(refusal(polynomial(100, 1), 1'000'000'000).find("more than 1e15 monomials"), std::string::npos);
  EXPECT_NE(refusal(linear(), 50'000).find("50 000 monomials in 50 000 inputs"), std::string::npos);
  EXPECT_NE(
      refusal(product({polynomial(50, 1), polynomial(50, 1), polynomial(50, 1), polynomial(50, 1)}), 3).find("monomials"),
      std::string::npos);
  std::vector<Kernel> pairs(10, sum({gaussian(1), gaussian(2)}));
  EXPECT_NE(refusal(product(pairs), 2).find("1000"), std::string::npos);
  EXPECT_NE(refusal(sum(std::vector<Kernel>(1001, gaussian(1))), 2).find("1000"), std::string::npos);
  EXPECT_NE(refusal(sum(std::vector<Kernel>(40, polynomial(2, 1))), 100).find("monomials"), std::string::npos);
}

TEST(SpectralTerms, BrokenKernelsAreRefused) {
  EXPECT_NE(refusal({Gaussian{LengthScale{{1, 2}, false}}}, 3).find("2 length scales for 3 inputs"), std::string::npos);
  EXPECT_NE(refusal({Gaussian{LengthScale{{}, true}}}, 3).find("median"), std::string::npos);
  EXPECT_NE(refusal({SpectralMixture{{1}, {{0.1}}, {{1}}}}, 2).find("2 inputs"), std::string::npos);
  EXPECT_NE(refusal({SpectralMixture{{1e308, 1e308}, {{0.1}, {1}}, {{1}, {1}}}}, 1).find("overflow"), std::string::npos);
  EXPECT_NE(refusal({Matern{one(1), -1}}, 1).find("nu"), std::string::npos);
  EXPECT_NE(refusal(polynomial(100, 1e10), 1).find("overflow"), std::string::npos);
  refusal(polynomial(-1, 1), 1);
  refusal(sum({}), 1);
  refusal(gaussian(1), 0);
}

}  // namespace
}  // namespace mercer
