#include "theory/bounds.hpp"

#include <cmath>
#include <vector>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "theory/uniform_bound.hpp"

namespace mercer {
namespace {

constexpr Index most_frequencies = 1'000'000'000'000'000;

struct Parts {
  std::vector<UniformBound> bounds;
  std::vector<double> shares;
  double diameter = 0;

  double count() const { return static_cast<double>(bounds.size()); }

  /// What FourierMap::apportion gives part i of D at the least. Non-decreasing in D.
  double frequencies(std::size_t i, Index total) const {
    return 1 + std::floor((static_cast<double>(total) - count()) * shares[i]);
  }

  /// Triangle inequality: the errors of the parts add up, each failing with an equal part of the probability; so each part
  /// takes the part of the error it needs.
  double error(Index total, double log_probability) const {
    double sum = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      sum += bounds[i].error(frequencies(i, total), diameter, log_probability - std::log(count()));
    }
    return sum;
  }

  bool achieves(Index total, double epsilon, double log_probability) const {
    if (bounds.size() != 1) return error(total, log_probability) <= epsilon;
    return bounds[0].log_failure(frequencies(0, total), diameter, epsilon) <= log_probability;
  }
};

void check_positive(double value, const char* what) {
  if (!(value > 0) || !std::isfinite(value)) {
    fail_argument(std::string(what) + " of an error bound must be a positive number, got " + shortest(value));
  }
}

void check_probability(double probability) {
  if (!(probability > 0 && probability < 1)) {
    fail_argument("the failure probability of an error bound must lie between 0 and 1, got " + shortest(probability));
  }
}

std::optional<Parts> bounded_parts(const OperatorKernel& kernel, Index inputs, Index outputs, double diameter,
                                   std::string* why_not) {
  check_positive(diameter, "the diameter");
  Parts parts;
  parts.diameter = diameter;
  for (const RandomPart& part : random_parts(kernel, inputs, outputs)) {
    auto bound = uniform_bound(part, inputs, why_not);
    if (!bound) return std::nullopt;
    parts.bounds.push_back(std::move(*bound));
    parts.shares.push_back(part.share);
  }
  return parts;
}

void check_frequencies(const Parts& parts, Index frequencies) {
  const auto count = static_cast<Index>(parts.bounds.size());
  if (frequencies < count || frequencies > most_frequencies) {
    fail_argument("an error bound needs from " + std::to_string(count) +
                  " (one for each random part) to 10^15 frequencies, got " + std::to_string(frequencies));
  }
}

}  // namespace

std::optional<double> failure_probability_for(const OperatorKernel& kernel, Index inputs, Index outputs, double diameter,
                                              double epsilon, Index frequencies, std::string* why_not) {
  check_positive(epsilon, "the error");
  const auto parts = bounded_parts(kernel, inputs, outputs, diameter, why_not);
  if (!parts) return std::nullopt;
  check_frequencies(*parts, frequencies);
  if (parts->bounds.empty()) return 0.0;
  if (parts->bounds.size() == 1) {
    return std::exp(parts->bounds[0].log_failure(parts->frequencies(0, frequencies), diameter, epsilon));
  }
  double low = -700;  // e^-700: as good as certain
  double high = 0;
  if (!parts->achieves(frequencies, epsilon, high)) return 1.0;
  if (parts->achieves(frequencies, epsilon, low)) return std::exp(low);
  while (high - low > 1e-9) {
    const double middle = 0.5 * (low + high);
    (parts->achieves(frequencies, epsilon, middle) ? high : low) = middle;
  }
  return std::exp(high);
}

std::optional<double> error_for(const OperatorKernel& kernel, Index inputs, Index outputs, double diameter,
                                double failure_probability, Index frequencies, std::string* why_not) {
  check_probability(failure_probability);
  const auto parts = bounded_parts(kernel, inputs, outputs, diameter, why_not);
  if (!parts) return std::nullopt;
  check_frequencies(*parts, frequencies);
  return parts->bounds.empty() ? 0.0 : parts->error(frequencies, std::log(failure_probability));
}

std::optional<Index> features_for(const OperatorKernel& kernel, Index inputs, Index outputs, double diameter, double epsilon,
                                  double failure_probability, std::string* why_not) {
  check_positive(epsilon, "the error");
  check_probability(failure_probability);
  const auto parts = bounded_parts(kernel, inputs, outputs, diameter, why_not);
  if (!parts) return std::nullopt;
  if (parts->bounds.empty()) return 0;
  const double log_probability = std::log(failure_probability);
  auto low = static_cast<Index>(parts->bounds.size());
  if (parts->achieves(low, epsilon, log_probability)) return low;
  Index high = 2 * low;
  while (!parts->achieves(high, epsilon, log_probability)) {
    if (high > most_frequencies) {
      if (why_not != nullptr) *why_not = "the bound would ask for more than 10^15 frequencies; allow a larger error";
      return std::nullopt;
    }
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (parts->achieves(middle, epsilon, log_probability) ? high : low) = middle;
  }
  return high;
}

}  // namespace mercer
