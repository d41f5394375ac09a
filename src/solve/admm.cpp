#include "solve/admm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/fail.hpp"
#include "solve/isotonic.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// α: longer steps than the method's own; 1.8 took the fewest passes on quantiles, hinge and Huber.
constexpr double relaxation = 1.8;

}  // namespace

/// Of one chunk of rows: the loss, the squared residuals and the sizes they are measured against, then Σ t (p entries), then
/// the crossings (p - 1 entries).
struct Admm::Sums {
  explicit Sums(std::span<double> entries) : all(entries) {}
  double& loss() const { return all[0]; }
  double& primal() const { return all[1]; }
  double& dual() const { return all[2]; }
  double& value_size() const { return all[3]; }
  double& dual_size() const { return all[4]; }
  double& target(std::size_t a) const { return all[fixed + a]; }
  double& crossing(std::size_t p, std::size_t a) const { return all[fixed + p + a]; }

  static constexpr std::size_t fixed = 5;
  std::span<double> all;
};

Admm::Admm(const SplitProblem& problem, ConvexState state) : problem_(problem), state_(std::move(state)) {
  const FeatureStore& store = problem.store;
  const Index n = store.source_rows();
  const Index p = store.outputs();
  candidate_.theta.resize(at(problem.coupling.parameters()));
  candidate_.weights = Matrix<double>(store.columns(), p);
  candidate_.intercept.resize(at(p));
  cross_ = Matrix<double>(store.columns(), p);
  sum_.resize(at(p));
  if (state_.empty()) {
    state_.value = Matrix<double>(n, p);
    state_.dual = Matrix<double>(n, p);
    for (Index i = 0; i < n; ++i) std::ranges::copy(store.target(i), state_.value.row(i).begin());
  }
  if (state_.value.rows() != n || state_.value.cols() != p || state_.dual.rows() != n || state_.dual.cols() != p) {
    fail_argument("a warm start of " + std::to_string(state_.value.rows()) + " rows cannot begin a fit of " +
                  std::to_string(n) + " rows and " + std::to_string(p) + " outputs");
  }
  if (!problem.order.empty() && state_.order_value.rows() != store.rows()) {
    state_.order_value = Matrix<double>(store.rows(), p);
    state_.order_dual = Matrix<double>(store.rows(), p);
    for (Index i = 0; i < store.rows(); ++i) {
      auto s = state_.order_value.row(i);
      std::ranges::copy(i < n ? store.target(i) : Point(problem.centre), s.begin());
      project_increasing(s);
    }
  }
  first_targets();
}

void Admm::add_targets(Index row, double step, MutPoint t) const {
  const std::size_t p = t.size();
  const bool joint = problem_.joint(row);
  const double stiff = problem_.stiff(row);
  step *= stiff;
  std::ranges::fill(t, 0.0);
  if (row < problem_.store.source_rows()) {
    const double w = problem_.store.weight(row);
    const auto u = state_.value.row(row);
    const auto g = state_.dual.row(row);
    for (std::size_t a = 0; a < p; ++a) t[a] += w * (u[a] - g[a] / step - problem_.centre[a]);
  }
  if (!problem_.order.empty()) {
    const double k = problem_.order[at(row)];
    const auto s = state_.order_value.row(row);
    const auto z = state_.order_dual.row(row);
    for (std::size_t a = 0; a < p; ++a) t[a] += k * ((joint ? 0.0 : s[a] - problem_.centre[a]) - z[a] / step);
  }
  for (double& value : t) value *= stiff / problem_.scale;
}

void Admm::first_targets() {
  const Index p = problem_.store.outputs();
  Matrix<double> parts(problem_.store.chunks(), p);
  const auto visit = [&](Index chunk, Index first, ConstMatrix, MutMatrix t) {
    for (Index i = 0; i < t.rows; ++i) {
      add_targets(first + i, state_.step, t.row(i));
      for (Index a = 0; a < p; ++a) parts(chunk, a) += t(i, a);
    }
  };
  problem_.store.sweep(ConstMatrix(nullptr, problem_.store.columns(), 0), visit, cross_);
  std::ranges::fill(sum_, 0.0);
  for (Index chunk = 0; chunk < parts.rows(); ++chunk) {
    for (Index a = 0; a < p; ++a) sum_[at(a)] += parts(chunk, a);
  }
}

void Admm::update_loss_row(Index row, Point f, Sums& sums) {
  const double w = problem_.store.weight(row);
  if (w == 0) return;
  const double stiff = problem_.stiff(row);
  const double rho = state_.step * stiff;
  const Point y = problem_.store.target(row);
  auto u = state_.value.row(row);
  auto g = state_.dual.row(row);
  sums.loss() += w * problem_.loss.value(f, y);
  thread_local std::vector<double> before;
  thread_local std::vector<double> x;
  before.assign(u.begin(), u.end());
  x.resize(u.size());
  for (std::size_t a = 0; a < x.size(); ++a) {
    x[a] = relaxation * f[a] + (1 - relaxation) * u[a] + g[a] / rho;
    u[a] = x[a];
  }
  problem_.loss.prox(1 / rho, y, u);
  for (std::size_t a = 0; a < x.size(); ++a) {
    g[a] = rho * (x[a] - u[a]);
    sums.primal() += stiff * w * (f[a] - u[a]) * (f[a] - u[a]);
    sums.dual() += stiff * w * (u[a] - before[a]) * (u[a] - before[a]);
    sums.value_size() += stiff * w * (u[a] - problem_.centre[a]) * (u[a] - problem_.centre[a]);
    sums.dual_size() += w / stiff * g[a] * g[a];
  }
}

void Admm::update_joint_row(Index row, Point f, Sums& sums) {
  const double w = problem_.store.weight(row);
  const double stiff = problem_.stiff(row);
  const double rho = state_.step * stiff;
  const Point y = problem_.store.target(row);
  auto u = state_.value.row(row);
  auto g = state_.dual.row(row);
  auto z = state_.order_dual.row(row);
  sums.loss() += w * problem_.loss.value(f, y);
  thread_local std::vector<double> before;
  before.assign(u.begin(), u.end());
  const std::size_t p = u.size();
  for (std::size_t a = 0; a < p; ++a) u[a] = relaxation * f[a] + (1 - relaxation) * u[a] + (g[a] + z[a]) / rho;
  ordered_pinball_prox(problem_.levels, 1 / rho, y[0], u, g, z);
  for (std::size_t a = 0; a < p; ++a) {
    if (a + 1 < p) sums.crossing(p, a) = std::max(sums.crossing(p, a), f[a] - f[a + 1]);
    sums.primal() += stiff * w * (f[a] - u[a]) * (f[a] - u[a]);
    sums.dual() += stiff * w * (u[a] - before[a]) * (u[a] - before[a]);
    sums.value_size() += stiff * w * (u[a] - problem_.centre[a]) * (u[a] - problem_.centre[a]);
    sums.dual_size() += w / stiff * (g[a] + z[a]) * (g[a] + z[a]);
  }
}

void Admm::update_order_row(Index row, Point f, Sums& sums) {
  const double k = problem_.order[at(row)];
  const double stiff = problem_.stiff(row);
  const double rho = state_.step * stiff;
  auto s = state_.order_value.row(row);
  auto z = state_.order_dual.row(row);
  const std::size_t p = s.size();
  for (std::size_t a = 0; a + 1 < p; ++a) sums.crossing(p, a) = std::max(sums.crossing(p, a), f[a] - f[a + 1]);
  thread_local std::vector<double> before;
  thread_local std::vector<double> x;
  before.assign(s.begin(), s.end());
  x.resize(p);
  for (std::size_t a = 0; a < p; ++a) {
    x[a] = relaxation * f[a] + (1 - relaxation) * s[a] + z[a] / rho;
    s[a] = x[a];
  }
  project_increasing(s);
  for (std::size_t a = 0; a < p; ++a) {
    z[a] = rho * (x[a] - s[a]);
    sums.primal() += stiff * k * (f[a] - s[a]) * (f[a] - s[a]);
    sums.dual() += stiff * k * (s[a] - before[a]) * (s[a] - before[a]);
    sums.value_size() += stiff * k * (s[a] - problem_.centre[a]) * (s[a] - problem_.centre[a]);
    sums.dual_size() += k / stiff * z[a] * z[a];
  }
}

Admm::Pass Admm::pass(double next_step) {
  const FeatureStore& store = problem_.store;
  const Index p = store.outputs();
  const double ridge = problem_.penalty * problem_.weight / (state_.step * problem_.scale);
  problem_.ridge->solve(cross_, sum_, ridge, candidate_.theta, candidate_.weights, candidate_.intercept);
  std::vector<double>& c = candidate_.intercept;
  for (Index a = 0; problem_.intercept && a < p; ++a) c[at(a)] += problem_.centre[at(a)];
  Matrix<double> parts(store.chunks(), static_cast<Index>(Sums::fixed) + 2 * p - 1);
  const auto visit = [&](Index chunk, Index first, ConstMatrix f, MutMatrix t) {
    Sums sums(parts.row(chunk));
    std::vector<double> value(at(p));
    for (Index i = 0; i < f.rows; ++i) {
      for (Index a = 0; a < p; ++a) value[at(a)] = f(i, a) + c[at(a)];
      if (problem_.joint(first + i)) {
        update_joint_row(first + i, value, sums);
      } else {
        if (first + i < store.source_rows()) update_loss_row(first + i, value, sums);
        if (!problem_.order.empty()) update_order_row(first + i, value, sums);
      }
      add_targets(first + i, next_step, t.row(i));
      for (std::size_t a = 0; a < value.size(); ++a) sums.target(a) += t.row(i)[a];
    }
  };
  store.sweep(candidate_.weights, visit, cross_);
  const double rho = std::exchange(state_.step, next_step);
  std::ranges::fill(sum_, 0.0);
  for (Index chunk = 0; chunk < parts.rows(); ++chunk) {
    for (Index a = 0; a < p; ++a) sum_[at(a)] += Sums(parts.row(chunk)).target(at(a));
  }
  return summary(parts, rho);
}

Admm::Pass Admm::summary(const Matrix<double>& parts, double rho) const {
  const auto p = static_cast<std::size_t>(problem_.store.outputs());
  std::vector<double> total(Sums::fixed, 0.0);
  Pass pass;
  pass.crossing.assign(p - 1, 0.0);
  Matrix<double> rows = parts;
  for (Index chunk = 0; chunk < rows.rows(); ++chunk) {
    Sums sums(rows.row(chunk));
    for (std::size_t k = 0; k < total.size(); ++k) total[k] += sums.all[k];
    for (std::size_t a = 0; a + 1 < p; ++a) pass.crossing[a] = std::max(pass.crossing[a], sums.crossing(p, a));
  }
  Sums sums(total);
  double square = 0;
  for (const double t : candidate_.theta) square += t * t;
  pass.objective = sums.loss() / problem_.weight + 0.5 * problem_.penalty * square;
  const double tiny = 1e-300;
  pass.primal_residual = std::sqrt(sums.primal() / std::max(sums.value_size(), tiny));
  pass.dual_residual = rho * std::sqrt(sums.dual() / std::max(sums.dual_size(), tiny));
  return pass;
}

}  // namespace mercer
