#include "theory/uniform_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "theory/moments.hpp"

namespace mercer {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// ln(e^a + e^b).
double log_add(double a, double b) {
  const double high = std::max(a, b);
  if (high == minus_infinity) return high;
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

/// 1 - η, from 0.8 down to 0.001.
constexpr int eta_steps = 32;
double one_minus_eta(int step) {
  return 0.8 * std::pow(1.0 / 800, step / (eta_steps - 1.0));
}

void refuse(std::string* why_not, const char* reason) {
  if (why_not != nullptr) *why_not = reason;
}

}  // namespace

double UniformBound::log_failure(const Rate& rate, double eta, double frequencies, double diameter, double epsilon) const {
  const auto d = static_cast<double>(inputs);
  const double log_k1 = std::log(2 * rate.dimension) + d * std::log(4 * diameter) - frequencies * rate(eta * epsilon);
  const double log_k2 = std::log(4.0) + 2 * std::log(lipschitz / ((1 - eta) * epsilon));
  const double log_r = (std::log(d / 2) + log_k1 - log_k2) / (d + 2);
  const double log_cap = std::log(2 * diameter);
  if (log_r > log_cap) return log_add(log_k1 - d * log_cap, log_k2 + 2 * log_cap);
  const double constant = log_add(-d / (d + 2) * std::log(d / 2), 2 / (d + 2) * std::log(d / 2));
  return constant + (2 * log_k1 + d * log_k2) / (d + 2);
}

double UniformBound::log_failure(double frequencies, double diameter, double epsilon) const {
  if (rates.empty()) return minus_infinity;
  double best = 0;
  for (const Rate& rate : rates) {
    for (int step = 0; step < eta_steps; ++step) {
      best = std::min(best, log_failure(rate, 1 - one_minus_eta(step), frequencies, diameter, epsilon));
    }
  }
  return best;
}

double UniformBound::error(double frequencies, double diameter, double log_probability) const {
  if (rates.empty()) return 0;
  double low = 0;
  double high = lipschitz * diameter;
  while (log_failure(frequencies, diameter, high) > log_probability) {
    low = high;
    high *= 2;
  }
  while (high - low > 1e-12 * high) {
    const double middle = 0.5 * (low + high);
    (log_failure(frequencies, diameter, middle) > log_probability ? low : high) = middle;
  }
  return high;
}

std::optional<UniformBound> uniform_bound(const RandomPart& part, Index inputs, std::string* why_not) {
  if (!part.shift_invariant) {
    refuse(why_not,
           "the bound covers shift-invariant kernels, and this one multiplies frequencies by linear or polynomial factors");
    return std::nullopt;
  }
  UniformBound bound;
  bound.inputs = inputs;
  if (operator_norm_factor(part) == 0) return bound;
  const double square = lipschitz_moment(part, inputs);
  if (!std::isfinite(square)) {
    refuse(why_not, part.field
                        ? "the bound takes six moments of the frequencies, which laplacian and matern with nu <= 3 lack; "
                          "measure the error instead"
                        : "the bound takes two moments of the frequencies, which laplacian and matern with nu <= 1 lack; "
                          "measure the error instead");
    return std::nullopt;
  }
  if (square == 0) return bound;  // ω = 0 always: cos⟨ω,δ⟩ = 1 exactly
  bound.lipschitz = std::sqrt(square);
  bound.rates = rates(part, inputs, why_not);
  if (bound.rates.empty()) return std::nullopt;
  return bound;
}

}  // namespace mercer
