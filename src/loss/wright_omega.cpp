#include "loss/wright_omega.hpp"

#include <cmath>

namespace mercer {

double wright_omega(double c) {
  if (std::isnan(c)) return c;
  if (c < -37) return std::exp(c);       // ω = e^c (1 - e^c + …)
  if (c > 1e10) return c - std::log(c);  // the next term, log(c)/c, is below an ulp of c
  double omega = 0;
  const bool small = c < -1;
  if (small) {
    omega = 1 / (1 + std::exp(-c));
  } else if (c < 4) {
    const double t = c - 1;  // Taylor's series at c = 1, where ω = 1
    omega = 1 + t * (0.5 + t * (1.0 / 16 - t / 192));
  } else {
    omega = c - std::log(c);
  }
  // Fritsch, Shafer and Crowley's iteration (order 4), as in Lawrence, Corless and Jeffrey, Algorithm 917 (2012).
  for (int i = 0; i < 2; ++i) {
    const double residual = c - omega - std::log(omega);
    const double next = omega + 1;
    const double common = 2 * next * (next + 2.0 / 3 * residual);
    omega *= 1 + residual / next * (common - residual) / (common - 2 * residual);
  }
  // Below, log ω ≈ c would cost ulp·|c|; ω = e^c e^{-ω} costs an ulp or two.
  return small ? std::exp(c) * std::exp(-omega) : omega;
}

}  // namespace mercer
