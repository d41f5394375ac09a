// Are the standard deviations right? On data from the model's own prior they must cover as often as they say.
#include <gtest/gtest.h>
#include <mercer/model.hpp>

#include <cmath>

#include "unit/model/model_kinds.hpp"

namespace mercer {
namespace {

using namespace samples;

struct World {
  Matrix<double> f;
  Matrix<double> y;
};

/// f = Φᵀθ with θ ~ N(0, I) from a map with other frequencies than the fit will draw, y = f + noise.
World draw(ConstMatrix x, const std::string& kernel, Index p, double noise, std::uint64_t seed) {
  const FourierMap map = map_of(kernel, x.cols, p, 300, Sampling::monte_carlo, 1000 + seed);
  const Matrix<double> theta = normals(map.coupling().parameters(), 1, "theta", seed);
  const Dense f = operator_rows(map, x) * dense(theta);
  const Matrix<double> e = normals(x.rows, p, "noise", seed);
  World w{Matrix<double>(x.rows, p), Matrix<double>(x.rows, p)};
  for (Index i = 0; i < x.rows; ++i) {
    for (Index a = 0; a < p; ++a) {
      w.f(i, a) = f(i * p + a, 0);
      w.y(i, a) = w.f(i, a) + noise * e(i, a);
    }
  }
  return w;
}

FitOptions options_for(const std::string& kernel, const std::string& map, double noise, Index n) {
  FitOptions options;
  options.kernel = kernel;
  options.map = map;
  options.standardize = false;
  options.penalty = noise * noise / static_cast<double>(n);  // θ ~ N(0, I): nλ = σ²
  return options;
}

// ±2σ holds 95.45 % of observations. Over 1500 new rows the share has a binomial spread of 0.0054; the estimate of σ from
// 400 rows errs by √(2/350)/2 = 3.8 %, which moves the share by 0.216·0.038 = 0.008; together 0.0098. Below 0.895 is six of
// these (1e-9); above 0.995, where the binomial part has shrunk to 0.002, five of 0.008 (1e-6).
TEST(Uncertainty, CoversNewObservations) {
  const Matrix<double> x = normals(1900, 2, "places");
  const double noise = 0.3;
  for (const char* kernel : {"gaussian(1)", "decomposable(gaussian(1), [[1,0.6],[0.6,1]])", "helmholtz(gaussian(1), 0.4)"}) {
    const Index p = std::string(kernel) == "gaussian(1)" ? 1 : 2;
    const World w = draw(x, kernel, p, noise, 1);
    for (const char* map : {"fourier:250", "exact"}) {
      ArrayRows rows(x.view().row_range(0, 400), w.y.view().row_range(0, 400));
      const Model model = fit(rows, options_for(kernel, map, noise, 400));
      const Answer a = answer(model, x.view().row_range(400, 1500));
      double covered = 0;
      for (Index i = 0; i < 1500; ++i) {
        for (Index q = 0; q < p; ++q) {
          covered += std::abs(w.y(400 + i, q) - a.mean(i, q)) <= 2 * a.deviation(i, q) ? 1.0 : 0.0;
        }
      }
      covered /= static_cast<double>(1500 * p);
      EXPECT_GT(covered, 0.895) << kernel << ' ' << map;
      EXPECT_LT(covered, 0.995) << kernel << ' ' << map;
    }
  }
}

// The function itself: one new place in each of 300 worlds, so that the events are independent. The deviation is estimated
// from 60 rows, so the share is that of a t law with some 30 degrees of freedom, 0.945; spread √(0.05/300) = 0.013. [0.86,
// 0.995] leaves six below, and above P(Binomial(300, 0.055) ≤ 1) < 1e-6.
TEST(Uncertainty, CoversTheFunction) {
  const double noise = 0.3;
  int covered = 0;
  for (std::uint64_t world = 0; world < 300; ++world) {
    const Matrix<double> x = normals(61, 1, "line", world);
    const World w = draw(x, "gaussian(0.7)", 1, noise, world);
    ArrayRows rows(x.view().row_range(0, 60), w.y.view().row_range(0, 60));
    const Model model = fit(rows, options_for("gaussian(0.7)", "exact", noise, 60));
    Matrix<double> mean(1, 1);
    Matrix<double> deviation(1, 1);
    model.predict(x.view().row_range(60, 1), mean, deviation, true);
    if (std::abs(w.f(60, 0) - mean(0, 0)) <= 2 * deviation(0, 0)) ++covered;
  }
  EXPECT_GT(covered, 258);
  EXPECT_LT(covered, 299);
}

}  // namespace
}  // namespace mercer
