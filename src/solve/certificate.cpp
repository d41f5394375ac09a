#include "solve/certificate.hpp"

#include <algorithm>
#include <cmath>

#include "solve/dual_balance.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// -Σ_i k_i z_i, what the duals of the loss must sum to.
std::vector<double> order_total(const SplitProblem& problem, const ConvexState& state) {
  const Index p = problem.store.outputs();
  std::vector<double> total(at(p), 0.0);
  if (problem.order.empty()) return total;
  Matrix<double> parts(problem.store.chunks(), p);
  problem.store.for_chunks([&](Index chunk, Index first, Index last) {
    for (Index i = first; i < last; ++i) {
      for (Index a = 0; a < p; ++a) parts(chunk, a) -= problem.order[at(i)] * state.order_dual(i, a);
    }
  });
  for (Index chunk = 0; chunk < parts.rows(); ++chunk) {
    for (Index a = 0; a < p; ++a) total[at(a)] += parts(chunk, a);
  }
  return total;
}

double sum_rows(const Matrix<double>& parts, Index column) {
  double sum = 0;
  for (Index chunk = 0; chunk < parts.rows(); ++chunk) sum += parts(chunk, column);
  return sum;
}

double squared_norm(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return sum;
}

}  // namespace

std::optional<DualPoint> dual_point(const SplitProblem& problem, const ConvexState& state, const Candidate& near) {
  const FeatureStore& store = problem.store;
  const Index p = store.outputs();
  std::vector<double> shift(at(p), 0.0);
  if (problem.intercept) shift = balancing_shift(store, problem.loss, state.dual, order_total(problem, state));
  Matrix<double> parts(store.chunks(), p + 2);  // Σ t, Σ w ℓ*, Σ w |y|²
  const auto visit = [&](Index chunk, Index first, ConstMatrix, MutMatrix t) {
    std::vector<double> a(at(p));
    for (Index i = 0; i < t.rows; ++i) {
      const Index row = first + i;
      if (row < store.source_rows() && store.weight(row) > 0) {
        const double w = store.weight(row);
        const Point y = store.target(row);
        for (Index k = 0; k < p; ++k) {
          a[at(k)] = state.dual(row, k) + shift[at(k)];
          parts(chunk, p + 1) += w * y[at(k)] * y[at(k)];
        }
        problem.loss.project_dual(y, a);
        parts(chunk, p) += w * problem.loss.conjugate(a, y);
        for (Index k = 0; k < p; ++k) t(i, k) = w * a[at(k)];
      }
      for (Index k = 0; k < p; ++k) {
        if (!problem.order.empty()) t(i, k) += problem.order[at(row)] * state.order_dual(row, k);
        parts(chunk, k) += t(i, k);
      }
    }
  };
  Matrix<double> cross(store.columns(), p);
  store.sweep(ConstMatrix(nullptr, store.columns(), 0), visit, cross);
  DualPoint point;
  point.charge = sum_rows(parts, p) / problem.weight;
  point.pull.resize(at(problem.coupling.parameters()));
  problem.coupling.contract(cross, point.pull);
  for (double& q : point.pull) q /= problem.weight * std::sqrt(problem.penalty);
  const double size = std::sqrt(sum_rows(parts, p + 1) / problem.weight);
  for (Index k = 0; problem.intercept && k < p; ++k) {
    point.charge += std::abs(sum_rows(parts, k)) / problem.weight * 10 * (size + std::abs(near.intercept[at(k)]));
  }
  if (!std::isfinite(point.bound())) return std::nullopt;
  return point;
}

double objective(const SplitProblem& problem, const Candidate& candidate) {
  const FeatureStore& store = problem.store;
  const Index p = store.outputs();
  Matrix<double> parts(store.chunks(), 1);
  const auto visit = [&](Index chunk, Index first, ConstMatrix f, MutMatrix) {
    std::vector<double> value(at(p));
    for (Index i = 0; i < f.rows && first + i < store.source_rows(); ++i) {
      const double w = store.weight(first + i);
      for (Index a = 0; a < p; ++a) value[at(a)] = f(i, a) + candidate.intercept[at(a)];
      if (w > 0) parts(chunk, 0) += w * problem.loss.value(value, store.target(first + i));
    }
  };
  store.sweep(candidate.weights, visit, MutMatrix(nullptr, store.columns(), 0));
  return sum_rows(parts, 0) / problem.weight + 0.5 * problem.penalty * squared_norm(candidate.theta);
}

bool uncross(const std::vector<double>& crossing, double size, Candidate& candidate) {
  if (std::ranges::none_of(crossing, [](double c) { return c > 0; })) return false;
  std::vector<double> offset(crossing.size() + 1, 0.0);
  double mean = 0;
  for (std::size_t a = 0; a < crossing.size(); ++a) {
    offset[a + 1] = offset[a] + (crossing[a] > 0 ? crossing[a] + 1e-14 * size : 0.0);
    mean += offset[a + 1] / static_cast<double>(offset.size());
  }
  for (std::size_t a = 0; a < offset.size(); ++a) candidate.intercept[a] += offset[a] - mean;
  return true;
}

}  // namespace mercer
