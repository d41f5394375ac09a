#include <gtest/gtest.h>

#include <limits>

#include "base/matrix.hpp"
#include "loss/loss.hpp"
#include "unit/loss/loss_samples.hpp"

namespace mercer {
namespace {

using samples::dot;
using samples::Draw;
using samples::length;
using samples::minus;
using samples::Real;
using samples::RealVector;
using samples::Sample;
using samples::Vector;
using samples::widen;

constexpr double ulp = std::numeric_limits<double>::epsilon();
constexpr double infinite = std::numeric_limits<double>::infinity();

/// What every loss must keep; see loss.hpp.
class LossContract : public testing::TestWithParam<Sample> {
 protected:
  const Sample& sample() const { return GetParam(); }
  std::unique_ptr<Loss> loss = make_loss(GetParam().text, GetParam().outputs);

  Real naive(const Vector& f, const Vector& y) const { return sample().naive(widen(f), y); }
  Vector gradient(const Vector& f, const Vector& y) const {
    Vector g(f.size(), 99);
    loss->gradient(f, y, g);
    return g;
  }
  Vector prox(double step, const Vector& v, const Vector& y) const {
    Vector u = v;
    loss->prox(step, y, u);
    return u;
  }
  Vector projected(Vector a, const Vector& y) const {
    loss->project_dual(y, a);
    return a;
  }
};

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

/// Pairs that reach every regime: from every corner y + {-far, 0, far}^p, along every direction of {-1, 0, 1}^p and along
/// the gradient.
void for_pairs(const Vector& y, double far, double step, const std::function<Vector(const Vector&)>& gradient,
               const std::function<void(const Vector&, const Vector&)>& visit) {
  const std::size_t p = y.size();
  const auto count = static_cast<std::size_t>(std::pow(3, p));
  const auto digit = [](std::size_t code, std::size_t j) {
    for (std::size_t k = 0; k < j; ++k) code /= 3;
    return static_cast<double>(code % 3) - 1;
  };
  for (std::size_t corner = 0; corner < count; ++corner) {
    Vector base(p);
    for (std::size_t j = 0; j < p; ++j) base[j] = y[j] + far * digit(corner, j);
    for (std::size_t direction = 0; direction <= count; ++direction) {
      Vector along = gradient(base);
      for (std::size_t j = 0; j < p && direction < count; ++j) along[j] = digit(direction, j);
      Vector f = base;
      Vector g = base;
      for (std::size_t j = 0; j < p; ++j) {
        f[j] += step * along[j];
        g[j] -= step * along[j];
      }
      if (f != g) visit(f, g);
    }
  }
}

TEST_P(LossContract, LipschitzConstantIsTheLeast) {
  Draw draw(sample(), 11);
  Real largest = 0;
  const auto visit = [&](const Vector& y) {
    return [&, y](const Vector& f, const Vector& g) {
      const Real rise = std::abs(naive(f, y) - naive(g, y)) / length(minus(widen(f), widen(g)));
      largest = std::max(largest, rise);
    };
  };
  for (int i = 0; i < 20; ++i) {
    const Vector y = draw.target();
    const auto slope = [&](const Vector& f) { return gradient(f, y); };
    for (const double far : {0.0, 1.0, 60.0}) for_pairs(y, far, 0.1, slope, visit(y));
    if (loss->lipschitz() == infinite) for_pairs(y, 1e9, 0.1, slope, visit(y));
    visit(y)(draw.prediction(y, 0), draw.prediction(y, 1));
  }
  if (loss->lipschitz() == infinite) {
    EXPECT_GT(static_cast<double>(largest), 1e2);
  } else {
    EXPECT_LE(static_cast<double>(largest), loss->lipschitz() * (1 + 1e-12));
    EXPECT_GE(static_cast<double>(largest), loss->lipschitz() * (1 - 1e-12));
  }
}

TEST_P(LossContract, SmoothnessIsTheLeast) {
  Draw draw(sample(), 12);
  double largest = 0;
  for (int i = 0; i < 20; ++i) {
    const Vector y = draw.target();
    const auto slope = [&](const Vector& f) { return gradient(f, y); };
    const auto visit = [&](const Vector& f, const Vector& g) {
      const Real change = length(minus(widen(gradient(f, y)), widen(gradient(g, y))));
      largest = std::max(largest, static_cast<double>(change / length(minus(widen(f), widen(g)))));
    };
    // Corners around 0 for what bends there, and around y for what bends at the target.
    for (const double far : {0.0, 0.3, 1.0, 60.0}) {
      for (const double step : {1e-7, 1e-4}) {
        for_pairs(y, far, step, slope, visit);
        for_pairs(Vector(y.size()), far, step, slope, visit);
      }
    }
    visit(draw.prediction(y, 0), draw.prediction(y, 1));
  }
  if (loss->smoothness() == infinite) {
    EXPECT_GT(largest, 1e5);
  } else {
    EXPECT_LE(largest, loss->smoothness() * (1 + 1e-7));  // differences of 1e-7 round at 1e-9 of themselves
    EXPECT_GE(largest, loss->smoothness() * (1 - 1e-7));
  }
}

TEST_P(LossContract, TextReadsBack) {
  EXPECT_EQ(loss->text(), sample().text);
  EXPECT_EQ(make_loss(loss->text(), sample().outputs)->text(), loss->text());
}

TEST_P(LossContract, RowsAreTheSameAsOneByOne) {
  Draw draw(sample(), 13);
  const Index n = 17;
  const Index p = sample().outputs;
  Matrix<double> wide_y(n, p + 2);  // strided views
  Matrix<double> f(n, p);
  Vector weights(n);
  const MutMatrix y = wide_y.view().col_range(1, p);
  for (Index i = 0; i < n; ++i) {
    const Vector target = draw.target();
    const Vector prediction = draw.prediction(target, static_cast<int>(i));
    std::copy(target.begin(), target.end(), y.row(i).begin());
    std::copy(prediction.begin(), prediction.end(), f.row(i).begin());
    weights[static_cast<std::size_t>(i)] = i == 3 ? 0 : draw.uniform(0, 2);
  }
  Vector values(n);
  Vector conjugates(n);
  Matrix<double> g(n, p);
  Matrix<double> moved = f;
  Matrix<double> weighted = f;
  Matrix<double> inside = f;
  loss->value_rows(f, y, values);
  loss->gradient_rows(f, y, g);
  loss->prox_rows(0.8, {}, y, moved);
  loss->prox_rows(0.8, weights, y, weighted);
  loss->project_dual_rows(y, inside);
  loss->conjugate_rows(inside, y, conjugates);
  for (Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const Vector target(y.row(i).begin(), y.row(i).end());
    const Vector prediction(f.row(i).begin(), f.row(i).end());
    const auto same = [&](const Matrix<double>& m, const Vector& expected) {
      EXPECT_EQ(Vector(m.row(i).begin(), m.row(i).end()), expected) << i;
    };
    EXPECT_EQ(values[row], loss->value(prediction, target));
    same(g, gradient(prediction, target));
    same(moved, prox(0.8, prediction, target));
    same(weighted, prox(0.8 * weights[row], prediction, target));
    same(inside, projected(prediction, target));
    EXPECT_EQ(conjugates[row], loss->conjugate(projected(prediction, target), target));
  }
  EXPECT_EQ(Vector(weighted.row(3).begin(), weighted.row(3).end()), Vector(f.row(3).begin(), f.row(3).end()));
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

TEST_P(LossContract, TargetsAreChecked) {
  Draw draw(sample(), 16);
  Matrix<double> y(3, sample().outputs);
  for (Index i = 0; i < 3; ++i) {
    const Vector target = draw.target();
    std::copy(target.begin(), target.end(), y.row(i).begin());
  }
  loss->check_targets(y);
  for (const double bad : {std::nan(""), infinite}) {
    y(1, 0) = bad;
    try {
      loss->check_targets(y);
      ADD_FAILURE() << "accepted";
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("row 2"), std::string::npos) << error.what();
    }
  }
  y(1, 0) = 0.5;
  if (sample().targets == samples::Targets::numbers) {
    EXPECT_NO_THROW(loss->check_targets(y));
  } else {
    EXPECT_ANY_THROW(loss->check_targets(y));
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
