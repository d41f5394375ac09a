#include "solve/stiffness.hpp"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

constexpr double least = 0.1;
constexpr double most = 100;
constexpr double deciding = 10;
constexpr double noticeable = 1e-6;  ///< of the loss's steepest slope

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

std::vector<double> row_stiffness(const SplitProblem& problem, const ConvexState& state) {
  const FeatureStore& store = problem.store;
  const double threshold = noticeable * problem.loss.lipschitz();
  std::vector<double> stiffness(at(store.rows()), 0.0);
  std::vector<bool> decides(stiffness.size(), false);
  std::vector<double> slope(at(store.outputs()));
  double square = 0;
  for (Index i = 0; i < store.rows(); ++i) {
    const bool has_loss = i < store.source_rows() && store.weight(i) > 0;
    if (has_loss) problem.loss.gradient(state.value.row(i), store.target(i), slope);
    double size = 0;
    for (Index a = 0; a < store.outputs(); ++a) {
      const double g = has_loss ? state.dual(i, a) : 0.0;
      const double z = problem.order.empty() ? 0.0 : state.order_dual(i, a);
      size += (g + z) * (g + z);
      if ((has_loss && std::abs(g - slope[at(a)]) > threshold) || std::abs(z) > threshold) decides[at(i)] = true;
    }
    stiffness[at(i)] = std::sqrt(size);
    if (has_loss) square += store.weight(i) * size;
  }
  const double usual = std::sqrt(square / problem.weight);
  for (std::size_t i = 0; i < stiffness.size(); ++i) {
    const double r = usual > 0 ? std::clamp(stiffness[i] / usual, least, most) : 1.0;
    stiffness[i] = decides[i] ? deciding * std::max(r, 1.0) : r;
  }
  return stiffness;
}

}  // namespace mercer
