#include "base/matrix.hpp"
#include "unit/loss/loss_contract.hpp"

namespace mercer {
namespace {

/// Moreau: a = (v - prox(v))/s minimises ℓ*(b) + s/2 ‖b - v/s‖².
TEST_P(LossContract, MoreauDecomposition) {
  Draw draw(sample(), 6);
  for (int i = 0; i < 200; ++i) {
    const double step = std::pow(10, draw.uniform(-2, 2));
    const Vector y = draw.target();
    const Vector v = draw.prediction(y, i);
    const Vector u = prox(step, v, y);
    Vector a(v.size());
    for (std::size_t j = 0; j < v.size(); ++j) a[j] = (v[j] - u[j]) / step;
    const Vector inside = projected(a, y);
    const double size = static_cast<double>(length(widen(v)) + length(widen(y)) + length(widen(u)));
    EXPECT_LE(static_cast<double>(length(minus(widen(a), widen(inside)))), 8 * ulp * (size / step + 1)) << i;
    const auto objective = [&](const Vector& b) {
      RealVector away = widen(b);
      for (std::size_t j = 0; j < v.size(); ++j) away[j] -= Real{v[j]} / step;
      return loss->conjugate(b, y) + step / 2 * dot(away, away);
    };
    for (int k = 0; k < 5; ++k) {
      Vector b = draw.vector(k % 2 == 0 ? 1 : 0.01);
      for (std::size_t j = 0; j < b.size(); ++j) b[j] += inside[j];
      b = projected(b, y);
      const Real away = length(minus(widen(b), widen(inside)));
      const Real spare = objective(b) - objective(inside) - step / 2 * away * away;
      // The entropies' slopes are unbounded: 40 covers log(ulp).
      EXPECT_GE(static_cast<double>(spare), -64 * ulp * (1 + size) * (40 + size / step) * (1 + step)) << i;
    }
  }
}

TEST_P(LossContract, ConjugateIsTheSupremum) {
  Draw draw(sample(), 7);
  const int searches = sample().outputs == 1 ? 20 : 1;
  for (int i = 0; i < searches; ++i) {
    const Vector y = draw.target();
    // Between two gradients: inside the domain, where the supremum is attained not far away.
    const Vector one = gradient(draw.prediction(y, 1), y);
    const Vector two = gradient(draw.prediction(y, 1), y);
    Vector a(y.size());
    for (std::size_t j = 0; j < y.size(); ++j) a[j] = 0.4 * one[j] + 0.5 * two[j];
    RealVector x = widen(y);
    const auto negative = [&](const RealVector& u) { return sample().naive(u, y) - dot(widen(a), u); };
    const Real found = -samples::nested_golden(negative, x, widen(y), 12, sample().outputs == 1 ? 90 : 42);
    EXPECT_GE(loss->conjugate(a, y) - static_cast<double>(found), -1e-13) << i;
    EXPECT_LE(loss->conjugate(a, y) - static_cast<double>(found), 1e-6) << i;
  }
}

TEST_P(LossContract, ConjugateIsInfiniteOutside) {
  Draw draw(sample(), 8);
  for (int i = 0; i < 100; ++i) {
    const Vector y = draw.target();
    const Vector a = draw.vector(3);
    const RealVector outward = minus(widen(a), widen(projected(a, y)));
    const Real distance = length(outward);
    if (distance < 1e-2) {
      EXPECT_LT(loss->conjugate(projected(a, y), y), infinite);
      continue;
    }
    EXPECT_EQ(loss->conjugate(a, y), infinite);
    // ⟨a, u⟩ - ℓ(u) grows without bound along the outward normal (1e3 keeps exp within range).
    RealVector far = outward;
    for (Real& entry : far) entry *= 1e3L / distance;
    const Real grown = dot(widen(a), far) - sample().naive(far, y);
    for (Real& entry : far) entry *= 2;
    const Real further = dot(widen(a), far) - sample().naive(far, y);
    EXPECT_GT(static_cast<double>(further - grown), 0.9e3 * static_cast<double>(distance));
  }
}

TEST_P(LossContract, FenchelYoung) {
  Draw draw(sample(), 9);
  for (int i = 0; i < 400; ++i) {
    const Vector y = draw.target();
    const Vector f = draw.prediction(y, i);
    const Vector g = gradient(f, y);
    const auto product = static_cast<double>(dot(widen(f), widen(g)));
    EXPECT_NEAR(loss->value(f, y) + loss->conjugate(g, y), product, 128 * ulp * (1 + loss->value(f, y) + std::abs(product)));
    const Vector a = projected(draw.vector(2), y);
    const auto other = static_cast<double>(dot(widen(f), widen(a)));
    EXPECT_GE(loss->value(f, y) + loss->conjugate(a, y) - other, -128 * ulp * (1 + loss->value(f, y) + std::abs(other)));
  }
}

TEST_P(LossContract, ProjectionIsTheNearestPoint) {
  Draw draw(sample(), 10);
  for (int i = 0; i < 200; ++i) {
    const Vector y = draw.target();
    const Vector a = draw.vector(std::pow(10, draw.uniform(-8, 8)));
    const Vector nearest = projected(a, y);
    EXPECT_LT(loss->conjugate(nearest, y), infinite);
    const auto size = static_cast<double>(length(widen(a)) + 1);
    EXPECT_LE(static_cast<double>(length(minus(widen(projected(nearest, y)), widen(nearest)))), 8 * ulp);
    for (int k = 0; k < 10; ++k) {
      // Gradients are points of the domain that owe nothing to project_dual.
      const Vector inside = gradient(draw.prediction(y, k), y);
      const Real angle = dot(minus(widen(a), widen(nearest)), minus(widen(inside), widen(nearest)));
      EXPECT_LE(static_cast<double>(angle), 32 * ulp * size * (1 + static_cast<double>(length(widen(inside))))) << i;
    }
  }
}

TEST_P(LossContract, BalancedDualPointsStayInside) {
  Draw draw(sample(), 14);
  const Index n = 40;
  const Index p = sample().outputs;
  Matrix<double> y(n, p);
  Matrix<double> a(n, p);
  Vector weights(n);
  for (Index i = 0; i < n; ++i) {
    const Vector target = draw.target();
    const Vector inside = projected(draw.vector(1.5), target);
    std::copy(target.begin(), target.end(), y.row(i).begin());
    std::copy(inside.begin(), inside.end(), a.row(i).begin());
    weights[static_cast<std::size_t>(i)] = draw.uniform(0.1, 2);
  }
  const Matrix<double> before = a;
  loss->balance_dual(weights, y, a);
  double imbalance = 0;
  double change = 0;
  for (Index j = 0; j < p; ++j) {
    double sum = 0;
    double sum_before = 0;
    for (Index i = 0; i < n; ++i) {
      sum += weights[static_cast<std::size_t>(i)] * a(i, j);
      sum_before += weights[static_cast<std::size_t>(i)] * before(i, j);
      change += weights[static_cast<std::size_t>(i)] * std::abs(a(i, j) - before(i, j));
    }
    EXPECT_NEAR(sum, 0, 64 * n * ulp);
    imbalance += std::abs(sum_before);
  }
  for (Index i = 0; i < n; ++i) EXPECT_LT(loss->conjugate(a.row(i), y.row(i)), infinite) << i;
  EXPECT_LE(change, 2.0 * static_cast<double>(p) * imbalance + 1e-12);
  const Matrix<double> balanced = a;
  loss->balance_dual(weights, y, a);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < p; ++j) EXPECT_NEAR(a(i, j), balanced(i, j), 1e-12);
  }
}

}  // namespace
}  // namespace mercer
