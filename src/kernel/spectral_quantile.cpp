#include "kernel/spectral_quantile.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.hpp"

// This file is compiled with -ffp-contract=off: every rounding is the same on every machine.

namespace mercer {
namespace {

constexpr double pi = 3.14159265358979323846;

/// tan(πv) for v in [0, ¼]: the Taylor series of sine over that of cosine; the first terms left out are below 1e-19.
double tan_pi(double v) {
  const double x = pi * v;
  const double x2 = x * x;
  double sine = 1;
  double cosine = 1;
  for (int k = 17; k >= 3; k -= 2) sine = 1 - sine * x2 / (k * (k - 1));
  for (int k = 18; k >= 2; k -= 2) cosine = 1 - cosine * x2 / (k * (k - 1));
  return x * sine / cosine;
}

/// e^x: x = n log 2 + r with |r| <= ½ log 2, and the Taylor series in r.
double portable_exp(double x) {
  if (x < -745) return 0;
  const double n = std::floor(x * 1.44269504088896340736 + 0.5);
  const double r = (x - n * 0.693145751953125) - n * 1.42860682030941723212e-6;  // the first product is exact
  double series = 1;
  for (int k = 14; k >= 1; --k) series = 1 + series * r / k;
  return std::ldexp(series, static_cast<int>(n));
}

/// log Γ(1 + a), a > 0: the recurrence up to z >= 10, then Stirling's series (next term below 1e-15).
double log_gamma_1p(double a) {
  static constexpr std::array<double, 6> c = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};
  double z = 1 + a;
  double product = 1;
  for (; z < 10; z += 1) product *= z;
  const double w = 1 / (z * z);
  double series = 0;
  for (std::size_t k = c.size(); k-- > 0;) series = series * w + c[k];
  return (z - 0.5) * portable_log(z) - z + 0.91893853320467274178 + series / z - portable_log(product);
}

/// The distribution of y = log x, x ~ Gamma(a, 1), at one point, in logarithms so that nothing underflows.
struct GammaTails {
  double log_lower;    ///< log P(a, x)
  double log_upper;    ///< log Q(a, x)
  double lower_slope;  ///< d log P / dy > 0
  double upper_slope;  ///< d log Q / dy < 0
};

/// P by its series left of a + 1: P = x^a e^-x / Γ(a+1) · S, S = Σ_n x^n / ((a+1)…(a+n)), so d log P/dy = a/S.
/// Q by its continued fraction (modified Lentz) right of it: Q = x^a e^-x / Γ(a) · C, so d log Q/dy = -1/C.
GammaTails gamma_tails(double a, double log_gamma, double y) {
  constexpr double tiny = 1e-17;
  const double x = portable_exp(y);
  GammaTails t{};
  if (x < a + 1) {
    double sum = 1;
    double term = 1;
    for (double n = 1; term > tiny * sum; ++n) {
      term *= x / (a + n);
      sum += term;
    }
    t.log_lower = std::min(a * y - x - log_gamma + portable_log(sum), -0x1p-54);
    const double lower = portable_exp(t.log_lower);
    const double upper = 1 - lower;
    t.log_upper = portable_log(std::max(upper, 0x1p-54));
    t.lower_slope = a / sum;
    t.upper_slope = -t.lower_slope * lower / std::max(upper, 0x1p-54);
    return t;
  }
  double b = x + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double fraction = d;
  double change = 2;
  for (double n = 1; std::abs(change - 1) > 1e-16 && n < 10000; ++n) {
    const double numerator = n * (a - n);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    change = c * d;
    fraction *= change;
  }
  t.log_upper = a * y - x - log_gamma + portable_log(a) + portable_log(fraction);
  t.upper_slope = -1 / fraction;
  const double upper = portable_exp(std::min(t.log_upper, 0.0));
  const double lower = std::max(1 - upper, 0x1p-54);
  t.log_lower = portable_log(lower);
  t.lower_slope = -t.upper_slope * upper / lower;
  return t;
}

/// Cornish-Fisher expansion of the quantile over the mean, for shape a >= 1e4: relative error below 2e-11 at
/// the ends of (0, 1), 1e-15 in the middle.
double gamma_quantile_large(double a, double u) {
  const double z = normal_quantile(u);
  const double z2 = z * z;
  const double s = 1 / std::sqrt(a);
  const double t5 = z * ((9 * z2 + 256) * z2 - 433) / 38880;
  const double t4 = ((-3 * z2 - 7) * z2 + 16) / 810;
  const double t3 = z * (z2 - 7) / 36;
  const double t2 = (z2 - 1) / 3;
  return 1 + s * (z + s * (t2 + s * (t3 + s * (t4 + s * t5))));
}

}  // namespace

double cauchy_quantile(double u) {
  const double tail = u < 0.5 ? u : 1 - u;  // exact
  const double magnitude = tail < 0.25 ? 1 / tan_pi(tail) : tan_pi(0.5 - tail);
  return u < 0.5 ? -magnitude : magnitude;
}

double laplace_quantile(double u) {
  return u < 0.5 ? portable_log(2 * u) : -portable_log(2 * (1 - u));
}

double gamma_quantile(double shape, double u) {
  constexpr double log_smallest = -230.25850929940456840;  // log 1e-100
  if (shape >= 1e4) return gamma_quantile_large(shape, u);
  const double log_gamma = log_gamma_1p(shape);
  const double log_u = portable_log(u);
  const double log_shape = portable_log(shape);
  // P(a, x) <= x^a/Γ(a+1), with equality as x -> 0: a bound of the quantile from below, and where it already lies at the
  // lower clamp, the quantile itself.
  const double power = log_u + log_gamma;
  if (power <= shape * (log_shape + log_smallest)) return 1e-100;
  double y = power / shape;
  if (shape >= 0.5) {  // Wilson-Hilferty
    const double root = 1 - 1 / (9 * shape) + normal_quantile(u) / (3 * std::sqrt(shape));
    if (root > 0.1) y = log_shape + 3 * portable_log(root);
  }
  // y = log x has a log-concave density, so log P and log Q are concave in y: Newton's steps on the smaller tail settle on
  // one side of the solution and converge from there. The cap on the step guards the first one, taken from the other side.
  const bool use_lower = u <= 0.5;
  const double target = use_lower ? log_u : portable_log(1 - u);
  for (int i = 0; i < 100; ++i) {
    const GammaTails t = gamma_tails(shape, log_gamma, y);
    const double step = use_lower ? (target - t.log_lower) / t.lower_slope : (target - t.log_upper) / t.upper_slope;
    y += std::clamp(step, -2.0, 2.0);
    if (std::abs(step) < 1e-8) break;  // quadratic: what is left is below 1e-15
  }
  return std::clamp(portable_exp(y - log_shape), 1e-100, 1e100);
}

}  // namespace mercer
