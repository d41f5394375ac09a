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

double Logistic::value(double m) const {
  return softplus(-m);
}

double Logistic::slope(double m) const {
  return -sigmoid(-m);
}

double Logistic::conjugate(double a) const {
  const double q = -a;
  const double left = q > 0 ? q * std::log(q) : 0;
  const double right = q < 1 ? (1 - q) * std::log1p(-q) : 0;
  return left + right;
}

/// The root x of x - v = s σ(-x). With d = x - v = e^w it is the root of w + softplus(v + e^w) = log s, convex in w with a
/// slope of at least 1, so Newton from the right falls onto it. Starting points above the root: softplus(v + d) ≥
/// softplus(v) gives d ≤ s σ(-v), and softplus(x) ≥ x gives log d + d ≤ log s - v, hence d ≤ max(1, log s - v).
double Logistic::prox(double step, double m) const {
  const double v = m;
  const double log_step = std::log(step);
  double d = std::min(step * sigmoid(-v), std::max(1.0, log_step - v));
  if (!(d > 0)) return v;
  double w = std::log(d);
  constexpr int most_steps = 64;
  constexpr double ulp = std::numeric_limits<double>::epsilon();
  for (int i = 0; i < most_steps; ++i) {
    const double fall = (w + softplus(v + d) - log_step) / (1 + d * sigmoid(v + d));
    w -= fall;
    d = std::exp(w);
    if (!(std::abs(fall) > 4 * ulp * std::max(1.0, std::abs(w)))) break;
  }
  // x = v + d loses ulp(d), x = log((1 - q)/q) with q = d/s loses ulp/(1 - q); the better of the two, then Newton in x
  // itself.
  double x = (step - d) * d > step ? std::log((step - d) / d) : v + d;
  constexpr int polishing_steps = 4;
  for (int i = 0; i < polishing_steps; ++i) {
    const double q = sigmoid(-x);
    const double change = ((x - v) - step * q) / (1 + step * q * sigmoid(x));
    x -= change;
    if (!(std::abs(change) > ulp * std::abs(x))) break;
  }
  return x;
}

}  // namespace mercer
