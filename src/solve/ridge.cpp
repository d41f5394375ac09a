#include "solve/ridge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "solve/keep_posterior.hpp"
#include "solve/shifted_factor.hpp"
#include "solve/trace.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

std::string shift_note(const ShiftedFactor& f, double ridge) {
  if (f.jitter == 0) return "";
  return "the normal matrix was not positive definite at pivot " + std::to_string(f.failed) +
         " (the penalty is below rounding error); solved with the ridge raised from " + shortest(ridge) + " to " +
         shortest(ridge + f.jitter) + ": use a larger --penalty, or --precision float64";
}

Matrix<double> gram_times(const NormalSystem& system, const Matrix<double>& weights) {
  Matrix<double> gram = system.gram;
  mirror_lower(gram);
  Matrix<double> product(weights.rows(), weights.cols());
  gemm<double>(false, false, 1.0, gram, weights, 0.0, product);
  return product;
}

/// Above this an eigenvalue solve takes minutes.
constexpr Index eigen_rescue_limit = 4096;

void solve_cholesky_channels(const NormalSystem& system, double ridge, Uncertainty keep, RidgeSolution& solution,
                             double& trace) {
  const Channels ch = channels(system);
  const auto runs = equal_gain_runs(ch);
  const Index m = system.gram.rows();
  Matrix<double> theta(m, ch.factor.cols());
  keep = resolve(keep, m, runs.size() > 1 ? full_eigen_limit : full_posterior_limit);
  if (keep == Uncertainty::full && runs.size() > 1) {  // first: it may be refused for its size
    keep_eigen(gram_eigen(system.gram), solution.posterior);
    keep = Uncertainty::none;
  }
  for (const auto& run : runs) {
    const double gain = ch.gain[at(run.front())];
    ShiftedFactor f = factor_shifted(system.gram, gain, ridge, m > eigen_rescue_limit ? Shift::rounded : Shift::never);
    if (f.jitter > 0) solution.note = shift_note(f, ridge);
    Matrix<double> x(m, static_cast<Index>(run.size()));
    for (Index c = 0; c < m; ++c) {
      for (std::size_t r = 0; r < run.size(); ++r) x(c, static_cast<Index>(r)) = ch.rhs(c, run[r]);
    }
    cholesky_solve(f.factor, x);
    for (Index c = 0; c < m; ++c) {
      for (std::size_t r = 0; r < run.size(); ++r) theta(c, run[r]) = x(c, static_cast<Index>(r));
    }
    trace += static_cast<double>(run.size()) * (static_cast<double>(m) - ridge * inverse_trace(f.factor));
    keep_channels(ch, run, keep, std::move(f.factor), solution.posterior);
  }
  gemm<double>(false, true, 1.0, theta, ch.factor, 0.0, solution.weights);
}

void solve_cholesky_coupled(const NormalSystem& system, double ridge, Uncertainty keep, Shift shift, RidgeSolution& solution,
                            double& trace) {
  const Coupling& coupling = *system.coupling;
  Matrix<double> theta(coupling.parameters(), 1);
  coupling.contract(system.cross, theta.values());
  ShiftedFactor f = factor_shifted([&] { return coupling.normal_matrix(system.gram); }, ridge, shift);
  solution.note = shift_note(f, ridge);
  cholesky_solve(f.factor, theta);
  coupling.expand(theta.values(), solution.weights);
  trace = static_cast<double>(coupling.parameters()) - ridge * inverse_trace(f.factor);
  keep_coupled(coupling, resolve(keep, coupling.parameters()), std::move(f.factor), solution.posterior);
}

}  // namespace

Eigen gram_eigen(ConstMatrix gram) {
  Eigen eigen = eigh(gram);
  for (double& value : eigen.values) value = std::max(value, 0.0);
  return eigen;
}

namespace {

/// Without right-hand sides.
Channels bare_channels(const Coupling& coupling) {
  Channels ch;
  ch.factor = coupling.constant_factor();
  const Index width = ch.factor.cols();
  for (Index j = 0; j < width; ++j) {
    double gain = 0;
    for (Index a = 0; a < ch.factor.rows(); ++a) gain += ch.factor(a, j) * ch.factor(a, j);
    ch.gain.push_back(gain);
    ch.order.push_back(j);
  }
  std::ranges::stable_sort(ch.order, [&](Index a, Index b) { return ch.gain[at(a)] < ch.gain[at(b)]; });
  return ch;
}

}  // namespace

Channels channels(const NormalSystem& system) {
  Channels ch = bare_channels(*system.coupling);
  ch.rhs = Matrix<double>(system.cross.rows(), ch.factor.cols());
  gemm<double>(false, false, 1.0, system.cross, ch.factor, 0.0, ch.rhs);
  return ch;
}

std::vector<std::vector<Index>> equal_gain_runs(const Channels& ch) {
  std::vector<std::vector<Index>> runs;
  for (const Index j : ch.order) {
    const bool same = !runs.empty() && std::abs(ch.gain[at(j)] - ch.gain[at(runs.back().front())]) <= 1e-12 * ch.gain[at(j)];
    if (!same) runs.emplace_back();
    runs.back().push_back(j);
  }
  return runs;
}

Index gain_count(const Coupling& coupling) {
  return coupling.is_constant() ? std::ssize(equal_gain_runs(bare_channels(coupling))) : 1;
}

namespace {

/// Σ w r² = Σ w y~² - 2 Wᵀ(φ~ᵀy~) + Wᵀ G W of every output, from the statistics alone.
std::vector<double> squares_left(const NormalSystem& system, std::span<const double> energy, ConstMatrix weights) {
  const std::vector<double> crossed = column_dots(weights, system.cross);
  std::vector<double> squares = system.target_square;
  for (std::size_t a = 0; a < squares.size(); ++a) squares[a] += energy[a] - 2 * crossed[a];
  return squares;
}

}  // namespace

void finish(const NormalSystem& system, std::span<const double> energy, double trace, RidgeSolution& solution) {
  finish_with_squares(system, squares_left(system, energy, solution.weights), trace, solution);
}

void finish_with_squares(const NormalSystem& system, std::span<const double> squares, double trace,
                         RidgeSolution& solution) {
  const Index m = system.cross.rows();
  const Index p = system.cross.cols();
  solution.weight = system.weight;
  solution.intercept = system.mean_target;
  if (system.intercept) {
    for (Index a = 0; a < p; ++a) {
      for (Index c = 0; c < m; ++c) solution.intercept[at(a)] -= system.mean_feature[at(c)] * solution.weights(c, a);
    }
  }
  solution.degrees_of_freedom = trace / static_cast<double>(p) + (system.intercept ? 1 : 0);
  const double left = std::max(system.weight - solution.degrees_of_freedom, 0.01 * system.weight);
  solution.noise.clear();
  // A perfect fit still carries the rounding of its statistics.
  for (std::size_t a = 0; a < squares.size(); ++a)
    solution.noise.push_back(std::max(squares[a], 1e-12 * std::abs(system.target_square[a])) / left);
}

RidgeSolution solve_cholesky(const NormalSystem& system, double penalty, Uncertainty keep) {
  const Coupling& coupling = *system.coupling;
  const double ridge = penalty * system.weight;
  RidgeSolution solution;
  solution.solver = "cholesky";
  solution.weights = Matrix<double>(coupling.columns(), coupling.outputs());
  keep_posterior_base(system, ridge, solution.posterior);
  double trace = 0;
  try {
    if (coupling.is_constant()) {
      solve_cholesky_channels(system, ridge, keep, solution, trace);
    } else {
      solve_cholesky_coupled(system, ridge, keep, coupling.parameters() > eigen_rescue_limit ? Shift::rounded : Shift::never,
                             solution, trace);
    }
  } catch (const NotPositiveDefinite& failure) {
    const EigenSystem rescue(system);
    solution = rescue.solve(penalty, keep);
    solution.note = "the normal matrix was not positive definite at pivot " + std::to_string(failure.pivot) +
                    " (smallest eigenvalue " + shortest(rescue.eigen().values.front()) + ", largest " +
                    shortest(rescue.eigen().values.back()) +
                    "): solved by eigenvalues instead; a larger --penalty avoids this";
    return solution;
  }
  finish(system, column_dots(solution.weights, gram_times(system, solution.weights)), trace, solution);
  return solution;
}

EigenSystem::EigenSystem(const NormalSystem& system) : system_(system) {
  const Coupling& coupling = *system.coupling;
  if (coupling.is_constant()) {
    eigen_ = gram_eigen(system.gram);
    const Channels ch = channels(system);
    rotated_ = Matrix<double>(ch.rhs.rows(), ch.rhs.cols());
    gemm<double>(false, false, 1.0, eigen_.vectors, ch.rhs, 0.0, rotated_);
  } else {
    eigen_ = gram_eigen(coupling.normal_matrix(system.gram));
    Matrix<double> rhs(coupling.parameters(), 1);
    coupling.contract(system.cross, rhs.values());
    rotated_ = Matrix<double>(rhs.rows(), 1);
    gemm<double>(false, false, 1.0, eigen_.vectors, rhs, 0.0, rotated_);
  }
}

void EigenSystem::tell_little_noise(double ridge, const std::vector<double>& gain, RidgeSolution& solution) const {
  constexpr double noticeable = 0.01;  // of the rows: statistics tell more of them
  const Matrix<double>& b = system_.coupling->constant_factor();
  const double rows = system_.weight - (system_.intercept ? 1 : 0);
  const Index size = rotated_.rows();
  const auto rank = static_cast<Index>(rows);
  if (!(system_.weight - solution.degrees_of_freedom < noticeable * system_.weight)) return;
  if (rank < 1 || rank > size || b.cols() != b.rows() || !(std::ranges::min(gain) > 0)) return;
  const double largest = eigen_.values.back();
  if (!(eigen_.values[at(size - rank)] > 1e-13 * largest) || !(ridge > 0)) return;
  double left = 0;
  std::vector<double> squares(solution.noise.size(), 0.0);
  for (Index k = size - rank; k < size; ++k) {
    const double value = eigen_.values[at(k)];
    std::vector<double> residual(squares.size(), 0.0);
    for (Index j = 0; j < b.cols(); ++j) {
      const double share = ridge / (gain[at(j)] * value + ridge);
      left += share / static_cast<double>(b.cols());
      const double of_channel = share * rotated_(k, j) / (std::sqrt(value) * gain[at(j)]);
      for (Index a = 0; a < b.rows(); ++a) residual[at(a)] += b(a, j) * of_channel;
    }
    for (std::size_t a = 0; a < squares.size(); ++a) squares[a] += residual[a] * residual[a];
  }
  solution.degrees_of_freedom = system_.weight - left;
  for (std::size_t a = 0; a < squares.size(); ++a) solution.noise[a] = squares[a] / left;
}

RidgeSolution EigenSystem::solve(double penalty, Uncertainty keep) const {
  const Coupling& coupling = *system_.coupling;
  const double ridge = penalty * system_.weight;
  const bool constant = coupling.is_constant();
  std::vector<double> gain(at(rotated_.cols()), 1.0);
  if (constant) gain = channels(system_).gain;
  // With no penalty, or one below rounding error, directions that the data do not determine get 0: the solution of least
  // norm.
  const double largest = eigen_.values.empty() ? 0.0 : eigen_.values.back();
  const auto cut = [&](double top) { return ridge > 64 * std::numeric_limits<double>::epsilon() * top ? 0.0 : 1e-12 * top; };
  RidgeSolution solution;
  solution.solver = "eigen";
  solution.weights = Matrix<double>(coupling.columns(), coupling.outputs());
  keep_posterior_base(system_, ridge, solution.posterior);
  Matrix<double> scaled = rotated_;
  double trace = 0;
  for (Index k = 0; k < scaled.rows(); ++k) {
    for (Index j = 0; j < scaled.cols(); ++j) {
      const double value = gain[at(j)] * eigen_.values[at(k)];
      const double inverse = value + ridge > cut(gain[at(j)] * largest) ? 1 / (value + ridge) : 0.0;
      scaled(k, j) *= inverse;
      trace += value * inverse;
    }
  }
  Matrix<double> theta(scaled.rows(), scaled.cols());
  gemm<double>(true, false, 1.0, eigen_.vectors, scaled, 0.0, theta);
  if (constant) {
    gemm<double>(false, true, 1.0, theta, coupling.constant_factor(), 0.0, solution.weights);
  } else {
    coupling.expand(theta.values(), solution.weights);
  }
  finish(system_, column_dots(solution.weights, gram_times(system_, solution.weights)), trace, solution);
  if (constant) tell_little_noise(ridge, gain, solution);
  if (resolve(keep, scaled.rows()) == Uncertainty::none) return solution;
  if (constant && equal_gain_runs(channels(system_)).size() == 1) {  // a triangle is half the size of a full basis
    solution.posterior.kind = Posterior::Kind::cholesky;
    solution.posterior.factor = factor_shifted(system_.gram, gain.front(), ridge, Shift::rounded).factor;
  } else if (constant) {
    keep_eigen(Eigen(eigen_), solution.posterior);
  } else {
    RidgeSolution factored;
    double ignored = 0;
    factored.weights = Matrix<double>(coupling.columns(), coupling.outputs());
    solve_cholesky_coupled(system_, ridge, keep, Shift::rounded, factored, ignored);
    keep_posterior_base(system_, ridge, factored.posterior);
    solution.posterior = std::move(factored.posterior);
  }
  return solution;
}

}  // namespace mercer
