#include "loss/logistic.hpp"

namespace mercer {
namespace {

/// log(1 + e^x), exact to rounding for every x.
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// 1 / (1 + e^{-x}).
double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

double Logistic::value(double m) {
  return softplus(-m);
}

double Logistic::slope(double m) {
  return -sigmoid(-m);
}

double Logistic::conjugate(double a) {
  const double q = -a;
  const double left = q > 0 ? q * std::log(q) : 0;
  const double right = q < 1 ? (1 - q) * std::log1p(-q) : 0;
  return left + right;
}

namespace {

constexpr double ulp = std::numeric_limits<double>::epsilon();

/// A starting point for Newton in x where s is large: x - v = s σ(-x) with d = x - v = e^w is w + softplus(v + e^w) = log s,
/// convex in w with a slope of at least 1, so Newton from the right falls onto it. Points above the root: softplus(v + d) ≥
/// softplus(v) gives d ≤ s σ(-v), and softplus(x) ≥ x gives log d + d ≤ log s - v, hence d ≤ max(1, log s - v).
double near_root(double step, double v, double highest) {
  const double log_step = std::log(step);
  double d = std::min(highest, std::max(1.0, log_step - v));
  double w = std::log(d);
  constexpr int most_steps = 64;
  for (int i = 0; i < most_steps; ++i) {
    const double x = v + d;
    const double small = std::exp(-std::abs(x));
    const double sigma = (x > 0 ? 1 : small) / (1 + small);
    const double fall = (w + std::max(x, 0.0) + std::log1p(small) - log_step) / (1 + d * sigma);
    w -= fall;
    d = std::exp(w);
    // What is left of the error in x is below ½((1 + d) fall)².
    if (!((1 + d) * std::abs(fall) > 0.01 && std::abs(fall) > 4 * ulp * std::max(1.0, std::abs(w)))) break;
  }
  // x = v + d loses ulp·d, x = log((1 - q)/q) with q = d/s loses ulp/(1 - q): the better of the two.
  return (step - d) * d > step ? std::log((step - d) / d) : v + d;
}

}  // namespace

/// The root x of F(x) = x - v - s σ(-x). For s ≤ 1, F' ≥ 1 and |F''| ≤ 0.1 let Newton converge from v + s σ(-v).
double Logistic::prox(double step, double m) {
  const double v = m;
  const double highest = step * sigmoid(-v);
  if (!(highest > 0)) return v;
  double x = step <= 1 ? v + highest : near_root(step, v, highest);
  constexpr int most_steps = 8;
  for (int i = 0; i < most_steps; ++i) {
    const double q = sigmoid(-x);
    const double change = ((x - v) - step * q) / (1 + step * q * (1 - q));
    x -= change;
    if (!(std::abs(change) > 1e-9 * std::abs(x))) break;  // the next change would be below an ulp
  }
  return x;
}

}  // namespace mercer
