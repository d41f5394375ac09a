#include "unit/loss/loss_contract.hpp"

namespace mercer {
namespace {

TEST_P(LossContract, ValueIsTheFormula) {
  Draw draw(sample(), 1);
  for (int i = 0; i < 200; ++i) {
    const Vector y = draw.target();
    const Vector f = draw.prediction(y, i);
    const auto expected = static_cast<double>(naive(f, y));
    EXPECT_NEAR(loss->value(f, y), expected, 16 * ulp * (std::abs(expected) + 1)) << i;
  }
}

TEST_P(LossContract, GradientIsTheDifferenceQuotient) {
  Draw draw(sample(), 2);
  for (int i = 0; i < 100; ++i) {
    const Vector y = draw.target();
    const Vector f = draw.prediction(y, i % 2);  // kinds 0 and 1: off the kinks
    const Vector g = gradient(f, y);
    for (std::size_t j = 0; j < f.size(); ++j) {
      constexpr Real step = 1e-6L;
      RealVector right = widen(f);
      RealVector left = widen(f);
      right[j] += step;
      left[j] -= step;
      const Real slope = (sample().naive(right, y) - sample().naive(left, y)) / (2 * step);
      // The third derivative is below 1/r² ≤ 1e4 at the points drawn, and the quotient rounds at 1e-19/1e-6.
      EXPECT_NEAR(g[j], static_cast<double>(slope), 1e-8) << i;
    }
  }
}

TEST_P(LossContract, SubgradientsLieBelow) {
  Draw draw(sample(), 3);
  for (int i = 0; i < 400; ++i) {
    const Vector y = draw.target();
    const Vector f = draw.prediction(y, i);
    const Vector other = draw.prediction(y, i / 4);
    const RealVector g = widen(gradient(f, y));
    const Real below = naive(f, y) + dot(g, minus(widen(other), widen(f)));
    EXPECT_GE(static_cast<double>(naive(other, y) - below), -64 * ulp * (1 + static_cast<double>(naive(other, y)))) << i;
  }
}

/// u = prox(v) minimises the 1-strongly convex s·ℓ + ½‖· - v‖² exactly when that lies above its least value by at least
/// ½‖g - u‖² at every g. Rounding of u by δ costs δ·(s·sup|∂ℓ| + ‖u - v‖).
TEST_P(LossContract, ProxIsTheMinimiser) {
  Draw draw(sample(), 4);
  for (int i = 0; i < 300; ++i) {
    const double step = std::pow(10, draw.uniform(-10, 10));
    const Vector y = draw.target();
    Vector v = draw.prediction(y, i);
    if (i % 3 == 0) {
      const Vector far = draw.vector(std::min(step, 1e4));
      for (std::size_t j = 0; j < v.size(); ++j) v[j] += far[j];
    }
    const Vector u = prox(step, v, y);
    const auto objective = [&](const Vector& x) {
      const Real away = length(minus(widen(x), widen(v)));
      return step * naive(x, y) + away * away / 2;
    };
    const Real least = objective(u);
    const Real size = length(widen(u)) + length(widen(v)) + length(widen(y));
    const Real steep = step * (length(widen(gradient(u, y))) + std::min(loss->lipschitz(), 1.0)) + size;
    for (const double scale : {1e-7, 1e-4, 1e-2, 1.0, 10.0}) {
      Vector other = draw.vector(scale);
      for (std::size_t j = 0; j < v.size(); ++j) other[j] += u[j];
      const Real away = length(minus(widen(other), widen(u)));
      const Real spare = objective(other) - least - away * away / 2;
      EXPECT_GE(static_cast<double>(spare / (8 * ulp * size * (steep + away * (1 + step)))), -1) << i << " step " << step;
    }
  }
}

TEST_P(LossContract, ProxIsFoundByBruteForce) {
  Draw draw(sample(), 5);
  const Vector y = draw.target();
  const int searches = sample().outputs == 1 ? 20 : 1;
  for (int i = 0; i < searches; ++i) {
    const double step = sample().outputs == 1 ? std::pow(10, draw.uniform(-3, 1)) : 0.7;
    const Vector v = draw.prediction(y, i);
    const auto objective = [&](const RealVector& x) {
      const Real away = length(minus(x, widen(v)));
      return step * sample().naive(x, y) + away * away / 2;
    };
    RealVector x = widen(v);
    const Real found = samples::nested_golden(objective, x, widen(v), 12, sample().outputs == 1 ? 90 : 42);
    const Vector u = prox(step, v, y);
    // No search finds less, and a search to 20·0.618^42 = 3e-8 finds almost as little.
    EXPECT_LE(static_cast<double>(objective(widen(u)) - found), 1e-14);
    EXPECT_LE(static_cast<double>(found - objective(widen(u))), 1e-6);
    // Strong convexity turns a difference of objectives into a distance.
    if (sample().outputs == 1) {
      EXPECT_NEAR(u[0], static_cast<double>(x[0]), 1e-8);
    }
  }
}

TEST_P(LossContract, HugeValuesStayMeaningful) {
  Draw draw(sample(), 15);
  for (const double size : {1e-300, 1e150, 1e300}) {
    for (int i = 0; i < 30; ++i) {
      const Vector y = draw.target();
      Vector f = draw.vector(size);
      if (i % 5 == 0) f = y;
      EXPECT_GE(loss->value(f, y), 0) << size;  // +∞ where ½·1e600 has no double
      for (const double entry : gradient(f, y)) EXPECT_TRUE(std::isfinite(entry)) << size;
      for (const double step : {1e-12, 1.0, 1e12}) {
        const Vector u = prox(step, f, y);
        for (std::size_t j = 0; j < f.size(); ++j) EXPECT_TRUE(std::isfinite(u[j])) << size << " step " << step;
      }
      const Vector inside = projected(f, y);
      EXPECT_FALSE(std::isnan(loss->conjugate(inside, y)));
      if (loss->lipschitz() < infinite) {
        EXPECT_LT(loss->conjugate(inside, y), infinite) << size;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, LossContract, testing::ValuesIn(samples::all_losses()),
                         [](const testing::TestParamInfo<Sample>& tested) {
                           std::string name = tested.param.text + "_p" + std::to_string(tested.param.outputs);
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace mercer
