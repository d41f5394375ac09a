#include "unit/loss/loss_contract.hpp"

namespace mercer {
namespace {

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
      const auto steepness = static_cast<double>(length(widen(along)));
      for (std::size_t j = 0; j < p; ++j) {
        along[j] = direction < count ? digit(direction, j) : along[j] / (steepness > 0 ? steepness : 1);
      }
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

}  // namespace
}  // namespace mercer
