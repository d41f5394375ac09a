#include "theory/sketch_theory.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {

double critical_radius_squared(const std::vector<double>& values, double rest, Index rows) {
  const auto n = static_cast<double>(rows);
  // From the smallest up: the large ones would swallow the sum.
  std::vector<double> tail(values.size() + 1, rest);
  for (std::size_t i = values.size(); i-- > 0;) tail[i] = tail[i + 1] + values[i];
  for (std::size_t j = 0;; ++j) {
    const auto above = static_cast<double>(j);
    const double t = (above + std::sqrt(above * above + 4 * n * tail[j])) / (2 * n);
    if (j == values.size() || values[j] <= t) return t;
  }
}

Index statistical_dimension(const std::vector<double>& values, double radius_squared, Index rows) {
  const auto first = std::ranges::find_if(values, [&](double v) { return v <= radius_squared; });
  return std::min<Index>(rows, static_cast<Index>(first - values.begin()) + 1);
}

Index largest_dimension(const std::vector<double>& values, double missed, double radius_squared, Index rows) {
  Index dimension = statistical_dimension(values, radius_squared, rows);
  double left = missed;
  while (dimension < rows) {
    const auto next = static_cast<std::size_t>(dimension - 1);
    left -= radius_squared - (next < values.size() ? values[next] : 0.0);
    if (!(left > 0)) break;
    ++dimension;
  }
  return dimension;
}

double theorem_constant(double p) {
  return 2 / std::sqrt(p) * (1 + std::sqrt(std::log(5.0))) + 1;
}

double theorem_size(Index dimension, double radius_squared, Index rows, double p) {
  constexpr double proof_constant = 5120;
  return std::ceil(
      std::max(proof_constant * static_cast<double>(dimension) / (p * p), radius_squared * static_cast<double>(rows)));
}

double expected_anchors(const SketchRecipe& recipe, Index rows) {
  const auto n = static_cast<double>(rows);
  const auto s = static_cast<double>(recipe.size);
  const auto touched = [&](double p, double draws) { return p < 1 ? -n * std::expm1(draws * std::log1p(-p)) : n; };
  switch (recipe.law) {
    case SketchLaw::p_sr:
    case SketchLaw::p_sg:
      return touched(recipe.probability(rows), s);
    case SketchLaw::accumulation:
      return touched(1 / n, s * static_cast<double>(recipe.terms));
    case SketchLaw::nystrom:
    case SketchLaw::leverage:
    case SketchLaw::rp_cholesky:
      return std::min(n, s);
    case SketchLaw::count:
    case SketchLaw::gaussian:
    case SketchLaw::hadamard:
      break;
  }
  return n;
}

RiskBound risk_bound(const RiskSetting& s) {
  const auto n = static_cast<double>(s.rows);
  const double c = 1 + std::sqrt(6 * (s.constant * s.constant + 1.5));
  const double inside = s.lambda + s.output_norm * s.radius_squared;
  const double kappa = s.largest_kernel;
  RiskBound bound;
  bound.penalty = s.lambda / 2;
  bound.confidence = 2 * std::sqrt(8 * std::log(4 / s.failure_probability) / n);
  if (s.square) {
    bound.approximation = c * c * inside;
    bound.complexity = 8 * std::sqrt(s.output_trace) * (kappa * std::sqrt(s.output_norm) + std::sqrt(kappa)) / std::sqrt(n);
  } else {
    bound.approximation = s.lipschitz * c * std::sqrt(inside);
    bound.complexity = 8 * s.lipschitz * std::sqrt(kappa * s.output_trace / n);
  }
  return bound;
}

}  // namespace mercer
