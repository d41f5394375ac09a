#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "loss/make_loss.hpp"

/// Every loss with its value written out once more, slowly and in long double, from THEORY 6.
namespace mercer::samples {

using Real = long double;
using Vector = std::vector<double>;
using RealVector = std::vector<Real>;
using Naive = std::function<Real(const RealVector& f, const Vector& y)>;

enum class Targets { numbers, signs, one_hot };

struct Sample {
  std::string text;
  Index outputs = 1;
  Targets targets = Targets::numbers;
  Naive naive;
};

inline std::ostream& operator<<(std::ostream& out, const Sample& sample) {
  return out << sample.text << " p=" << sample.outputs;
}

inline Naive of_norm(std::function<Real(Real)> g) {
  return [g](const RealVector& f, const Vector& y) {
    Real sum = 0;
    for (std::size_t j = 0; j < f.size(); ++j) sum += (f[j] - y[j]) * (f[j] - y[j]);
    return g(std::sqrt(sum));
  };
}

inline Naive over_outputs(std::function<Real(std::size_t j, Real f, Real y)> g) {
  return [g](const RealVector& f, const Vector& y) {
    Real sum = 0;
    for (std::size_t j = 0; j < f.size(); ++j) sum += g(j, f[j], y[j]);
    return sum;
  };
}

inline std::vector<Sample> losses(Index p) {
  const auto huber = [](Real k) { return [k](Real t) { return std::abs(t) <= k ? t * t / 2 : k * (std::abs(t) - k / 2); }; };
  const auto insensitive = [](Real e) { return [e](Real t) { return std::max<Real>(0, std::abs(t) - e); }; };
  const auto squared = [](Real e) { return [e](Real t) { return std::pow(std::max<Real>(0, std::abs(t) - e), 2) / 2; }; };
  const auto each = [](std::function<Real(Real)> g) {
    return over_outputs([g](std::size_t, Real f, Real y) { return g(f - y); });
  };
  const auto pinball = [](Vector levels) {
    return over_outputs([levels](std::size_t j, Real f, Real y) {
      const Real tau = levels[levels.size() == 1 ? 0 : j];
      return std::max(tau * (y - f), (tau - 1) * (y - f));
    });
  };
  const auto expectile = [](Vector levels) {
    return over_outputs([levels](std::size_t j, Real f, Real y) {
      const Real tau = levels[levels.size() == 1 ? 0 : j];
      return std::abs(tau - (y < f ? 1 : 0)) * (y - f) * (y - f);
    });
  };
  std::vector<Sample> all = {
      {"square", p, Targets::numbers, each([](Real t) { return t * t / 2; })},
      {"huber:0.7", p, Targets::numbers, of_norm(huber(0.7))},
      {"huber:0.7,coordinates", p, Targets::numbers, each(huber(0.7))},
      {"huber:1e-06", p, Targets::numbers, of_norm(huber(1e-6))},
      {"epsilon:0.3", p, Targets::numbers, of_norm(insensitive(0.3))},
      {"epsilon:0.3,coordinates", p, Targets::numbers, each(insensitive(0.3))},
      {"epsilon:0", p, Targets::numbers, of_norm(insensitive(0))},
      {"epsilon:0,coordinates", p, Targets::numbers, each(insensitive(0))},
      {"epsilon2:0.3", p, Targets::numbers, of_norm(squared(0.3))},
      {"epsilon2:0.3,coordinates", p, Targets::numbers, each(squared(0.3))},
      {"epsilon2:0", p, Targets::numbers, of_norm(squared(0))},
      {"pinball:0.3", p, Targets::numbers, pinball({0.3})},
      {"pinball:0.999999", p, Targets::numbers, pinball({0.999999})},
      {"expectile:0.2", p, Targets::numbers, expectile({0.2})},
      {"hinge", p, Targets::signs, over_outputs([](std::size_t, Real f, Real y) { return std::max<Real>(0, 1 - y * f); })},
      {"squared_hinge", p, Targets::signs,
       over_outputs([](std::size_t, Real f, Real y) { return std::pow(std::max<Real>(0, 1 - y * f), 2) / 2; })},
      {"logistic", p, Targets::signs, over_outputs([](std::size_t, Real f, Real y) {
         return std::log1p(std::exp(-std::abs(f))) + std::max<Real>(0, -y * f);
       })},
  };
  if (p == 3) {
    all.push_back({"pinball:0.1,0.5,0.9", p, Targets::numbers, pinball({0.1, 0.5, 0.9})});
    all.push_back({"pinball:1e-09,0.5,0.999999999", p, Targets::numbers, pinball({1e-9, 0.5, 0.999999999})});
    all.push_back({"expectile:1e-06,0.5,0.999", p, Targets::numbers, expectile({1e-6, 0.5, 0.999})});
  }
  if (p >= 2) {
    all.push_back({"multinomial", p, Targets::one_hot, [](const RealVector& f, const Vector& y) {
                     const Real top = *std::max_element(f.begin(), f.end());
                     Real sum = 0;
                     Real value = top;
                     for (std::size_t j = 0; j < f.size(); ++j) {
                       sum += std::exp(f[j] - top);
                       value -= y[j] * f[j];
                     }
                     return value + std::log(sum);
                   }});
  }
  return all;
}

/// All losses for one and for three outputs, and multinomial for two (it has no meaning for one).
inline std::vector<Sample> all_losses() {
  std::vector<Sample> all = losses(1);
  for (Sample& sample : losses(3)) all.push_back(std::move(sample));
  all.push_back(losses(2).back());
  return all;
}

/// Predictions, targets and dual points at random, from a fixed seed.
class Draw {
 public:
  Draw(const Sample& sample, std::uint64_t seed) : sample_(sample), engine_(seed) {}

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }
  Vector vector(double scale) {
    Vector x(static_cast<std::size_t>(sample_.outputs));
    for (double& entry : x) entry = scale * std::normal_distribution<double>()(engine_);
    return x;
  }
  Vector target() {
    Vector y = vector(1);
    if (sample_.targets == Targets::signs) {
      for (double& entry : y) entry = entry < 0 ? -1 : 1;
    }
    if (sample_.targets == Targets::one_hot) {
      const auto label = static_cast<std::size_t>(uniform(0, static_cast<double>(y.size())));
      for (std::size_t j = 0; j < y.size(); ++j) y[j] = j == label ? 1 : 0;
    }
    return y;
  }
  /// A prediction near y: wide, close, or on a kink of the loss (residual 0, margin 1, one residual on the tube's edge).
  Vector prediction(const Vector& y, int kind) {
    Vector f = vector(kind % 4 == 0 ? 3 : 0.5);
    for (std::size_t j = 0; j < f.size(); ++j) f[j] = kind % 4 == 2 ? y[j] : f[j] + y[j];
    if (kind % 4 == 3) f[0] = y[0] + 0.3;
    return f;
  }

 private:
  Sample sample_;
  std::mt19937_64 engine_;
};

inline RealVector widen(const Vector& x) {
  return {x.begin(), x.end()};
}
inline Real dot(const RealVector& a, const RealVector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), Real{0});
}
inline RealVector minus(const RealVector& a, const RealVector& b) {
  RealVector r(a.size());
  for (std::size_t j = 0; j < a.size(); ++j) r[j] = a[j] - b[j];
  return r;
}
inline Real length(const RealVector& a) {
  return std::sqrt(dot(a, a));
}

/// min over [low, high] of a convex function of one number.
inline Real golden(const std::function<Real(Real)>& g, Real low, Real high, int steps) {
  const Real ratio = (std::sqrt(Real{5}) - 1) / 2;
  Real a = high - ratio * (high - low);
  Real b = low + ratio * (high - low);
  Real at_a = g(a);
  Real at_b = g(b);
  for (int i = 0; i < steps; ++i) {
    if (at_a <= at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - ratio * (high - low);
      at_a = g(a);
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + ratio * (high - low);
      at_b = g(b);
    }
  }
  return std::min(at_a, at_b);
}

/// min over the cube centre ± radius of a convex function of p numbers, by golden sections nested p deep.
inline Real nested_golden(const std::function<Real(const RealVector&)>& g, RealVector& x, const RealVector& centre,
                          Real radius, int steps, std::size_t depth = 0) {
  if (depth == x.size()) return g(x);
  return golden(
      [&](Real t) {
        x[depth] = t;
        return nested_golden(g, x, centre, radius, steps, depth + 1);
      },
      centre[depth] - radius, centre[depth] + radius, steps);
}

}  // namespace mercer::samples
