#include "loss/wright_omega.hpp"
#include "unit/loss/loss_contract.hpp"

namespace mercer {
namespace {

/// v - u ∈ s·∂ℓ(u) to rounding. Smooth losses: u - v + s∇ℓ(u) vanishes up to what one ulp of u, v and y makes of it. Others:
/// a = (v - u)/s lies in the domain of ℓ* and ⟨a, u⟩ = ℓ(u) + ℓ*(a), Fenchel-Young's equality.
TEST_P(LossContract, ProxIsStationaryForEveryStep) {
  Draw draw(sample(), 20);
  for (int i = 0; i < 500; ++i) {
    const double step = std::pow(10, draw.uniform(-12, 12));
    const Vector y = draw.target();
    Vector v = draw.prediction(y, i);
    if (i % 2 == 0) {
      const Vector far = draw.vector(std::pow(10, draw.uniform(-3, 9)));
      for (std::size_t j = 0; j < v.size(); ++j) v[j] += far[j];
    }
    const Vector u = prox(step, v, y);
    const Vector g = gradient(u, y);
    const auto size = static_cast<double>(length(widen(u)) + length(widen(v)) + length(widen(y)));
    if (loss->smoothness() < infinite) {
      RealVector residual(v.size());
      for (std::size_t j = 0; j < v.size(); ++j) residual[j] = Real{u[j]} - v[j] + Real{step} * g[j];
      const auto u_size = static_cast<double>(length(widen(u)) + length(widen(y)));
      const double allowed = 8 * ulp * (size + step * loss->smoothness() * u_size + step * length(widen(g)));
      EXPECT_LE(static_cast<double>(length(residual)), allowed) << i << " step " << step;
      continue;
    }
    Vector a(v.size());
    for (std::size_t j = 0; j < v.size(); ++j) a[j] = (v[j] - u[j]) / step;
    const Vector inside = projected(a, y);
    const double rounding = 8 * ulp * (size / step + 1);
    EXPECT_LE(static_cast<double>(length(minus(widen(a), widen(inside)))), rounding) << i << " step " << step;
    const Real gap = naive(u, y) + loss->conjugate(inside, y) - dot(widen(inside), widen(u));
    // Moving a by δ at fixed u costs δ·‖u - y‖, moving u costs 2·L·δ.
    const double slack = rounding * (1 + size) + 16 * ulp * (1 + size) * loss->lipschitz();
    EXPECT_LE(std::abs(static_cast<double>(gap)), slack) << i << " step " << step;
  }
}

/// The Newton step that would still be made in long double is the error of x: at most a few ulp of x, or of what v itself is
/// known to.
TEST(LogisticProx, IsExactToRounding) {
  const auto loss = make_loss("logistic", 1);
  std::mt19937_64 engine(21);
  std::uniform_real_distribution<double> exponent(-12, 12);
  std::uniform_real_distribution<double> near(-40, 40);
  for (int i = 0; i < 20000; ++i) {
    const double step = std::pow(10, exponent(engine));
    double v = near(engine);
    if (i % 2 == 0) v = std::copysign(std::pow(10, exponent(engine) * 1.5), v);
    Vector x = {v};
    loss->prox(step, Vector{1}, x);
    const Real q = 1 / (1 + std::exp(Real{x[0]}));
    const Real curvature = 1 + step * q * (1 - q);
    const Real error = (Real{x[0]} - v - step * q) / curvature;
    const double allowed = 4 * ulp * (std::abs(x[0]) + static_cast<double>((std::abs(v) + step * q) / curvature));
    EXPECT_LE(std::abs(static_cast<double>(error)), allowed) << "step " << step << " v " << v << " x " << x[0];
  }
}

/// The same in R^p: (I + s(diag q - qqᵀ)) δ = F, with the inverse by Sherman and Morrison.
TEST(MultinomialProx, IsExactToRounding) {
  std::mt19937_64 engine(22);
  std::uniform_real_distribution<double> exponent(-12, 12);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 6000; ++i) {
    const std::size_t p = std::vector<std::size_t>{2, 3, 10}[static_cast<std::size_t>(i % 3)];
    const auto loss = make_loss("multinomial", static_cast<Index>(p));
    const double step = std::pow(10, exponent(engine));
    const double scale = i % 2 == 0 ? 5 : std::pow(10, exponent(engine));
    Vector v(p);
    for (double& entry : v) entry = scale * normal(engine);
    Vector y(p);
    y[static_cast<std::size_t>(i / 3) % p] = 1;
    Vector x = v;
    loss->prox(step, y, x);
    const Real top = *std::max_element(x.begin(), x.end());
    Real sum = 0;
    for (const double entry : x) sum += std::exp(entry - top);
    RealVector q(p);
    RealVector residual(p);
    for (std::size_t j = 0; j < p; ++j) q[j] = std::exp(x[j] - top) / sum;
    const std::size_t label = static_cast<std::size_t>(i / 3) % p;
    for (std::size_t j = 0; j < p; ++j) {
      Real slope = q[j];
      if (j == label) {
        slope = 0;
        for (std::size_t k = 0; k < p; ++k) slope -= k == label ? 0 : q[k];
      }
      residual[j] = Real{x[j]} - v[j] + step * slope;
    }
    Real inner = 0;
    Real outer = 0;
    for (std::size_t j = 0; j < p; ++j) {
      inner += q[j] * residual[j] / (1 + step * q[j]);
      outer += q[j] / (1 + step * q[j]);
    }
    double size = 0;
    double moved = 0;
    for (std::size_t j = 0; j < p; ++j) {
      size = std::max({size, std::abs(v[j]), std::abs(x[j])});
      moved = std::max(moved, std::abs(v[j] - x[j]));
    }
    // The move d = s·softmax is an exponential of a number near log s, which is known to ulp·|log s|.
    const double allowed = 8 * ulp * size + (8 + std::abs(std::log(step))) * ulp * moved;
    for (std::size_t j = 0; j < p; ++j) {
      const Real error = (residual[j] + step * q[j] * inner / outer) / (1 + step * q[j]);
      EXPECT_LE(std::abs(static_cast<double>(error)), allowed) << i << " p " << p << " step " << step;
    }
  }
}

TEST(WrightOmega, SolvesItsEquation) {
  for (double c = -60; c < 60; c += 0.0137) {
    const Real omega = wright_omega(c);
    // Newton's correction in long double, relative to ω.
    const Real error = (omega + std::log(omega) - c) / (1 + omega);
    EXPECT_LE(std::abs(static_cast<double>(error)), 4 * ulp) << c;
  }
  for (double c = 100; c < 1e300; c *= 7.3) {
    const Real omega = wright_omega(c);
    EXPECT_LE(std::abs(static_cast<double>((omega + std::log(omega) - c) / (1 + omega))), 4 * ulp) << c;
  }
  EXPECT_EQ(wright_omega(1), 1);
  EXPECT_EQ(wright_omega(-1e300), 0);
  EXPECT_DOUBLE_EQ(wright_omega(0), 0.56714329040978387300);  // mpmath.lambertw(1), 50 digits
}

}  // namespace
}  // namespace mercer
