#include "theory/derivatives.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include "helpers.hpp"
#include "kernel/evaluate.hpp"
#include "theory/matern_profile.hpp"

namespace mercer::test {
namespace {

/// Σ_r ∂_rr of the Hessian that the kernel layer computes, by central differences of fourth order.
Matrix<double> laplacian_of_hessian(const Kernel& kernel, std::vector<double> delta, double h) {
  const auto d = static_cast<Index>(delta.size());
  const std::vector<double> origin(delta.size(), 0.0);
  const double weight[] = {-1.0 / 12, 4.0 / 3, -5.0 / 2, 4.0 / 3, -1.0 / 12};
  Matrix<double> sum(d, d);
  Matrix<double> hessian(d, d);
  for (Index r = 0; r < d; ++r) {
    for (int step = -2; step <= 2; ++step) {
      auto moved = delta;
      moved[r] += step * h;
      shift_hessian(kernel, moved, origin, hessian);
      for (Index i = 0; i < d * d; ++i) sum.data()[i] += weight[step + 2] / (h * h) * hessian.data()[i];
    }
  }
  return sum;
}

void expect_fourth(const std::vector<Kernel>& factors, const std::vector<double>& delta) {
  const auto d = static_cast<Index>(delta.size());
  const Kernel kernel = factors.size() == 1 ? factors[0] : times(factors);
  const ShiftDerivatives k = shift_derivatives(factors, delta);
  const std::vector<double> origin(delta.size(), 0.0);
  const double k0 = value(kernel, origin, origin);
  EXPECT_NEAR(k.value, value(kernel, delta, origin) / k0, 1e-13);
  Matrix<double> hessian(d, d);
  shift_hessian(kernel, delta, origin, hessian);
  const Matrix<double> fourth = laplacian_of_hessian(kernel, delta, 2e-3);
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < d; ++j) {
      EXPECT_NEAR(k.hessian(i, j), hessian(i, j) / k0, 1e-11) << i << j;
      EXPECT_NEAR(k.fourth(i, j), fourth(i, j) / k0, 3e-7 * (1 + std::abs(fourth(i, j) / k0))) << i << ' ' << j;
    }
  }
}

const std::vector<double> one{0.9};
const std::vector<double> two{0.4, -0.7};
const std::vector<double> three{0.5, 0.3, -0.8};

TEST(Derivatives, leavesAgreeWithDifferencesOfTheHessian) {
  for (const auto& kernel :
       {gaussian({0.8}), matern(2.5, {1.1}), matern(3, {1.1}), matern(7.3, {0.9}), rational(0.7, {1.2}), cauchy({1.3})}) {
    expect_fourth({kernel}, one);
    expect_fourth({kernel}, two);
    expect_fourth({kernel}, three);
  }
  expect_fourth({gaussian({0.8, 1.5, 1.1})}, three);
  expect_fourth({matern(2.2, {0.8, 1.5, 1.1})}, three);
  expect_fourth({rational(2, {0.8, 1.5, 1.1})}, three);
  expect_fourth({cauchy({0.8, 1.5, 1.1})}, three);
}

TEST(Derivatives, spectralMixtureAgrees) {
  expect_fourth({mixture({0.7, 1.9}, {{0.1, 0.2}, {0.05, -0.15}}, {{0.1, 0.2}, {0.15, 0.0}})}, two);
}

TEST(Derivatives, productsAgree) {
  const Kernel wave = mixture({0.7, 1.9}, {{0.1, 0.2}, {0.05, -0.15}}, {{0.1, 0.2}, {0.15, 0.05}});
  expect_fourth({gaussian({1.5}), cauchy({2.0, 1.4})}, two);
  expect_fourth({wave, gaussian({1.5, 2})}, two);
  expect_fourth({wave, matern(2.5, {2.0}), rational(1, {1.7})}, two);
  expect_fourth({cauchy({2.0, 1.4, 1.8}), cauchy({1.5}), matern(4, {1.2})}, three);
}

TEST(Derivatives, gaussianFourthAtZero) {
  // E‖ω‖²ωωᵀ = (d+2)σ⁻⁴ I.
  const ShiftDerivatives k = shift_derivatives({gaussian({0.5})}, std::vector<double>(4, 0.0));
  for (Index i = 0; i < 4; ++i) {
    for (Index j = 0; j < 4; ++j) EXPECT_NEAR(k.fourth(i, j), i == j ? 6 * 16 : 0, 1e-12);
  }
}

TEST(Derivatives, maternProfileMatchesFiftyDigits) {
  // mpmath, 50 digits: derivatives of 2^{1-ν}/Γ(ν) z^ν K_ν(z), z = √(4νs), by s.
  struct Row {
    double nu, s;
    std::array<double, 5> f;
  };
  const Row rows[] = {
      {2.5,
       0.3,
       {0.66027893091427185518, -0.80559620766084608433, 1.4743433859813683716, -4.2560627538714367501,
        19.379632806297131013}},
      {3,
       0.01,
       {0.98521549068066909981, -1.457635337856652168, 4.0375796328702963348, -33.53263806996601693, 1211.2738898610889004}},
      {2.1,
       1.7,
       {0.17393398589795318568, -0.13329930689562224454, 0.12860713694148071819, -0.15709872399215214219,
        0.24203755245296849187}},
      {4,
       2,
       {0.1374520093563512946, -0.11228338545821779395, 0.10647894052537589828, -0.11808783039105968961,
        0.15391396585522195176}},
      {8.25,
       0.6,
       {0.52174723522302291984, -0.54129997922719667682, 0.63331640198793863626, -0.84582886033292684518,
        1.3070979994210463533}},
      {60,
       0.9,
       {0.40325634693870105338, -0.4038195922505193106, 0.4111387483793598641, -0.42569792114254057569,
        0.44838155292975447972}},
      {3.5,
       20,
       {0.000023898485467730746811, -8.4057138078306842374e-6, 3.1315207308740451623e-6, -1.2361358615548163544e-6,
        5.1711273136408749455e-7}},
  };
  for (const Row& row : rows) {
    const auto f = matern_profile(row.nu, row.s);
    for (std::size_t n = 0; n < 5; ++n) EXPECT_NEAR(f[n] / row.f[n], 1, 1e-12) << row.nu << ' ' << row.s << ' ' << n;
  }
}

TEST(Derivatives, maternAtZeroHasTheStudentMoments) {
  const auto f = matern_profile(2.5, 0);
  EXPECT_DOUBLE_EQ(f[0], 1);
  EXPECT_DOUBLE_EQ(f[1], -2.5 / 1.5);
  EXPECT_DOUBLE_EQ(f[2], 2.5 * 2.5 / (1.5 * 0.5));
  EXPECT_EQ(f[3], 0);
  EXPECT_EQ(f[4], 0);
}

TEST(Derivatives, productsOfManyInputsAreRefused) {
  const std::vector<double> delta(201, 0.0);
  EXPECT_THROW(shift_derivatives({gaussian({1}), cauchy({1})}, delta), Error);
}

}  // namespace
}  // namespace mercer::test
