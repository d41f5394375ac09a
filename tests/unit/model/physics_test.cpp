// Curl and divergence of predictions, in the user's units, by differences of high order.
#include <gtest/gtest.h>
#include <mercer/model.hpp>

#include <array>
#include <cmath>

#include "model/state.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

/// Inputs of very different ranges and offsets; targets that are neither curl-free nor divergence-free.
Data field_data(Index n, Index d) {
  Data s;
  s.x = normals(n, d, "places");
  s.y = normals(n, d, "noise");
  const std::array<double, 3> range = {1.0, 30.0, 0.2};
  const std::array<double, 3> offset = {-3.0, 500.0, 40.0};
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < d; ++k) {
      const double u = s.x(i, k);
      const double v = s.x(i, (k + 1) % d);
      s.y(i, k) = 1000 + 50 * (std::sin(u + 0.5 * v) + 0.3 * u * v + 0.05 * s.y(i, k));
    }
    for (Index k = 0; k < d; ++k)
      s.x(i, k) = offset[static_cast<std::size_t>(k)] + range[static_cast<std::size_t>(k)] * s.x(i, k);
  }
  return s;
}

/// J_ab = ∂f_a/∂x_b by central differences of order 8. With h = 0.03 scaled units and frequencies below about 5, truncation
/// is (ωh)⁸/630 < 1e-9 of ω|f|, and rounding 1e-13/h < 1e-10 (the offset 500 costs three digits): together below 1e-7 of
/// ‖J‖.
Dense jacobian(const Model& model, const Vector& x) {
  const std::array<double, 4> coefficient = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
  const Index d = x.size();
  Dense j = Dense::Zero(d, d);
  for (Index b = 0; b < d; ++b) {
    const double h = 0.03 * model.state().recipe.scaling.input_scale[static_cast<std::size_t>(b)];
    for (int k = 1; k <= 4; ++k) {
      Matrix<double> pair(2, d);
      for (Index c = 0; c < d; ++c) pair(0, c) = pair(1, c) = x(c);
      pair(0, b) += k * h;
      pair(1, b) -= k * h;
      Matrix<double> f(2, d);
      model.predict(pair, f);
      const double step = (pair(0, b) - pair(1, b)) / (2 * k);  // as it was rounded
      for (Index a = 0; a < d; ++a) j(a, b) += coefficient[static_cast<std::size_t>(k - 1)] * (f(0, a) - f(1, a)) / step;
    }
  }
  return j;
}

Model fit_field(const Data& s, const std::string& kernel, const std::string& map) {
  FitOptions options;
  options.kernel = kernel;
  options.map = map;
  options.penalty = 1e-4;
  ArrayRows rows = s.rows();
  return fit(rows, options);
}

struct Physics {
  double curl = 0;
  double divergence = 0;
};

/// Largest relative sizes over some places.
Physics physics(const Model& model, const Data& s) {
  Physics worst;
  for (Index i = 0; i < 12; ++i) {
    const Dense j = jacobian(model, dense(s.x).row(i).transpose());
    worst.curl = std::max(worst.curl, (j - j.transpose()).norm() / j.norm());
    worst.divergence = std::max(worst.divergence, std::abs(j.trace()) / j.norm());
  }
  return worst;
}

class Field : public testing::TestWithParam<std::tuple<Index, const char*>> {};
INSTANTIATE_TEST_SUITE_P(DimensionsAndMaps, Field,
                         testing::Combine(testing::Values(2, 3), testing::Values("fourier:60", "exact")),
                         [](const auto& sample) {
                           return std::to_string(std::get<0>(sample.param)) + "d_" +
                                  (std::string(std::get<1>(sample.param)) == "exact" ? "exact" : "fourier");
                         });

TEST_P(Field, CurlFreeModelsHaveNoCurl) {
  const auto [d, map] = GetParam();
  const Data s = field_data(120, d);
  for (const char* kernel :
       {"curl_free(gaussian(1.5))", "curl_free(rational_quadratic(1.5, alpha=3))", "curl_free(gaussian(median))"}) {
    const Physics p = physics(fit_field(s, kernel, map), s);
    EXPECT_LT(p.curl, 1e-7) << kernel;
    EXPECT_GT(p.divergence, 1e-3) << kernel << ": the test must be able to see a divergence";
  }
}

TEST_P(Field, DivergenceFreeModelsHaveNoDivergence) {
  const auto [d, map] = GetParam();
  const Data s = field_data(120, d);
  for (const char* kernel : {"divergence_free(gaussian(1.5))", "divergence_free(rational_quadratic(1.5, alpha=3))",
                             "divergence_free(gaussian(median))"}) {
    const Physics p = physics(fit_field(s, kernel, map), s);
    EXPECT_LT(p.divergence, 1e-7) << kernel;
    EXPECT_GT(p.curl, 1e-3) << kernel;
  }
}

TEST_P(Field, HelmholtzReducesToItsEnds) {
  const auto [d, map] = GetParam();
  const Data s = field_data(80, d);
  const auto mean = [&](const char* kernel) {
    Matrix<double> f(80, d);
    fit_field(s, kernel, map).predict(s.x, f);
    return dense(f);
  };
  const Dense curl = mean("curl_free(gaussian(1.5))");
  const Dense divergence = mean("divergence_free(gaussian(1.5))");
  EXPECT_LT((mean("helmholtz(gaussian(1.5), 1)") - curl).norm(), 1e-10 * curl.norm());
  EXPECT_LT((mean("helmholtz(gaussian(1.5), 0)") - divergence).norm(), 1e-10 * divergence.norm());
  EXPECT_GT((mean("helmholtz(gaussian(1.5), 0.5)") - curl).norm(), 1e-6 * curl.norm());
}

}  // namespace
}  // namespace mercer
