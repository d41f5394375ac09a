#include "solve/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "solve/feature_rows.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Of 1 - h: less is rounding error, and an error divided by it anything. (It used to be divided by this at least, which
/// made the smallest penalties of three to ten rows look best.)
constexpr double least_left = 1e-12;

/// Whether nothing is known of the mean without the row: there is no other.
bool stands_alone(double unit, double mean_leverage) {
  return 1 - unit * mean_leverage < least_left;
}

/// e = (I - H)⁻¹ r for a small symmetric H, by Gaussian elimination with pivoting on [I - H | r]; `unknown_error`
/// where that is rounding error.
void solve_small(Matrix<double>& system, std::vector<double>& r) {
  const Index p = system.rows();
  for (Index k = 0; k < p; ++k) {
    Index pivot = k;
    for (Index i = k + 1; i < p; ++i) {
      if (std::abs(system(i, k)) > std::abs(system(pivot, k))) pivot = i;
    }
    for (Index j = 0; j < p; ++j) std::swap(system(k, j), system(pivot, j));
    std::swap(r[at(k)], r[at(pivot)]);
    const double d = system(k, k);
    if (std::abs(d) < least_left) {
      std::ranges::fill(r, unknown_error);
      return;
    }
    for (Index i = k + 1; i < p; ++i) {
      const double f = system(i, k) / d;
      for (Index j = k; j < p; ++j) system(i, j) -= f * system(k, j);
      r[at(i)] -= f * r[at(k)];
    }
  }
  for (Index k = p; k-- > 0;) {
    for (Index j = k + 1; j < p; ++j) r[at(k)] -= system(k, j) * r[at(j)];
    r[at(k)] /= system(k, k);
  }
}

/// Collects weighted squared errors of one penalty.
class Scorer {
 public:
  Scorer(double penalty, Index outputs) : score_{penalty, 0, std::vector<double>(at(outputs), 0.0)} {}
  void add(double weight, const std::vector<double>& error) {
    for (std::size_t a = 0; a < error.size(); ++a) score_.per_output[a] += weight * error[a] * error[a];
    weight_ += weight;
  }
  PenaltyScore result() {
    for (double& v : score_.per_output) {
      v /= weight_;
      score_.mean_square += v;
    }
    return score_;
  }

 private:
  PenaltyScore score_;
  double weight_ = 0;
};

/// An orthonormal basis of R^p whose first p' vectors are the directions of B's columns (as rows), completed by
/// Gram-Schmidt.
Matrix<double> output_basis(const Matrix<double>& b) {
  const Index p = b.rows();
  Matrix<double> basis(p, p);
  Index count = 0;
  const auto try_add = [&](const std::function<double(Index)>& candidate) {
    std::vector<double> v(at(p));
    for (Index a = 0; a < p; ++a) v[at(a)] = candidate(a);
    for (int twice = 0; twice < 2; ++twice) {
      for (Index k = 0; k < count; ++k) {
        double dot = 0;
        for (Index a = 0; a < p; ++a) dot += basis(k, a) * v[at(a)];
        for (Index a = 0; a < p; ++a) v[at(a)] -= dot * basis(k, a);
      }
    }
    double norm = 0;
    for (const double x : v) norm += x * x;
    if (norm < 1e-12) return;
    for (Index a = 0; a < p; ++a) basis(count, a) = v[at(a)] / std::sqrt(norm);
    ++count;
  };
  for (Index j = 0; j < b.cols(); ++j) {
    double scale = 0;
    for (Index a = 0; a < p; ++a) scale += b(a, j) * b(a, j);
    try_add([&](Index a) { return b(a, j) / std::sqrt(scale); });
  }
  for (Index e = 0; e < p && count < p; ++e) try_add([&](Index a) { return a == e ? 1.0 : 0.0; });
  return basis;
}

/// Errors in the eigenbasis of A: channel predictions (q × p') and unit leverages (q × p') at one penalty.
PenaltyScore score_channels(const NormalSystem& system, const LeaveOneOutRows& rows, double penalty, const Matrix<double>& b,
                            const Matrix<double>& basis, ConstMatrix prediction, ConstMatrix leverage) {
  const Index p = b.rows();
  const double mean_leverage = system.intercept ? 1 / system.weight : 0;
  Scorer scorer(penalty, p);
  std::vector<double> error(at(p));
  std::vector<double> rotated(at(p));
  for (Index i = 0; i < rows.targets.rows(); ++i) {
    for (Index a = 0; a < p; ++a) {
      double f = 0;
      for (Index j = 0; j < b.cols(); ++j) f += b(a, j) * prediction(i, j);
      error[at(a)] = rows.targets(i, a) - f;
    }
    const double unit = std::min(1.0, rows.weights[at(i)]);
    for (Index k = 0; k < p; ++k) {
      double r = 0;
      for (Index a = 0; a < p; ++a) r += basis(k, a) * error[at(a)];
      const double h = mean_leverage + (k < b.cols() ? leverage(i, k) : 0.0);
      const double left = 1 - unit * h;
      rotated[at(k)] = left >= least_left ? r / left : stands_alone(unit, mean_leverage) ? 0 : unknown_error;
    }
    for (Index a = 0; a < p; ++a) {
      double e = 0;
      for (Index k = 0; k < p; ++k) e += basis(k, a) * rotated[at(k)];
      error[at(a)] = e;
    }
    scorer.add(rows.weights[at(i)], error);
  }
  return scorer.result();
}

/// Errors of coupled outputs: predictions (q·p × 1), and entry (r, s) of the hat matrix per unit weight from `inner`.
PenaltyScore score_coupled(const NormalSystem& system, const LeaveOneOutRows& rows, double penalty, ConstMatrix prediction,
                           const std::function<double(Index, Index)>& inner) {
  const Index p = rows.targets.cols();
  const double mean_leverage = system.intercept ? 1 / system.weight : 0;
  std::vector<std::vector<double>> errors(at(rows.targets.rows()), std::vector<double>(at(p)));
  parallel_for(rows.targets.rows(), [&](Index i) {
    const double unit = std::min(1.0, rows.weights[at(i)]);
    Matrix<double> small(p, p);
    for (Index a = 0; a < p; ++a) {
      errors[at(i)][at(a)] = rows.targets(i, a) - prediction(i * p + a, 0);
      for (Index c = 0; c < p; ++c)
        small(a, c) = (a == c ? 1 - unit * mean_leverage : 0.0) - unit * inner(i * p + a, i * p + c);
    }
    if (stands_alone(unit, mean_leverage)) {
      std::ranges::fill(errors[at(i)], 0.0);
    } else {
      solve_small(small, errors[at(i)]);
    }
  });
  Scorer scorer(penalty, p);
  for (Index i = 0; i < rows.targets.rows(); ++i) scorer.add(rows.weights[at(i)], errors[at(i)]);
  return scorer.result();
}

void finish_path(PenaltyPath& path, const LeaveOneOutRows& rows) {
  find_best(path);
  path.rows = rows.targets.rows();
  path.all_rows = rows.all_rows;
}

}  // namespace

void find_best(PenaltyPath& path) {
  const auto known = [](const PenaltyScore& score) { return std::isfinite(score.mean_square); };
  if (std::ranges::any_of(path.scores, known)) std::erase_if(path.scores, std::not_fn(known));
  std::ranges::sort(path.scores, {}, &PenaltyScore::penalty);
  path.best = 0;
  for (std::size_t k = 0; k < path.scores.size(); ++k) {
    if (path.scores[k].mean_square <= path.scores[path.best].mean_square) path.best = k;
  }
}

Index unfolded_features(const FeatureMap& map) {
  const Coupling& coupling = map.coupling();
  return coupling.is_constant() ? map.columns() : checked_product(coupling.parameters(), coupling.outputs());
}

Index leave_one_out_count(const FeatureMap& map, Index n, const LeaveOneOutLimits& most) {
  return std::min({n, most.rows, std::max<Index>(1000, most.values / std::max<Index>(1, unfolded_features(map)))});
}

LeaveOneOutRows leave_one_out_rows(const FeatureMap& map, RowSource& rows, const NormalSystem& system, std::uint64_t seed,
                                   Progress* progress, const LeaveOneOutLimits& most) {
  const Index m = map.columns();
  const Index p = rows.target_count();
  const Index n = rows.row_count();
  const Index wanted = leave_one_out_count(map, n, most);
  LeaveOneOutRows kept;
  kept.all_rows = wanted >= n;
  const Stream stream(seed, "leave-one-out");
  const double chance = static_cast<double>(wanted) / static_cast<double>(n);
  const auto chosen = [&](Index row) {
    return kept.all_rows || stream.uniform(static_cast<std::uint64_t>(row), 0) < chance;
  };
  Index count = 0;
  for (Index i = 0; i < n; ++i) count += chosen(i) ? 1 : 0;
  kept.features = Matrix<double>(count, m);
  kept.targets = Matrix<double>(count, p);
  kept.weights.reserve(at(count));
  FeatureRows<double> blocks(map, rows);
  blocks.rewind();
  while (blocks.next()) {
    report(progress, "leave-one-out rows", static_cast<double>(blocks.first_row()) / static_cast<double>(n));
    for (Index i = 0; i < blocks.count(); ++i) {
      if (!chosen(blocks.first_row() + i)) continue;
      const auto k = static_cast<Index>(kept.weights.size());
      for (Index c = 0; c < m; ++c) kept.features(k, c) = blocks.features()(i, c) - system.mean_feature[at(c)];
      for (Index a = 0; a < p; ++a) kept.targets(k, a) = blocks.targets()(i, a) - system.mean_target[at(a)];
      kept.weights.push_back(blocks.weight(i));
    }
  }
  return kept;
}

PenaltyPath leave_one_out(const EigenSystem& eigen, const LeaveOneOutRows& rows, const std::vector<double>& penalties) {
  const NormalSystem& system = eigen.system();
  const Coupling& coupling = *system.coupling;
  const Matrix<double>& u = eigen.eigen().vectors;
  const std::vector<double>& values = eigen.eigen().values;
  const Index size = u.rows();
  const bool constant = coupling.is_constant();
  Matrix<double> dense;
  if (!constant) {
    dense = Matrix<double>(rows.features.rows() * coupling.outputs(), coupling.parameters());
    coupling.dense_rows(rows.features, dense);
  }
  const ConstMatrix z = constant ? ConstMatrix(rows.features) : ConstMatrix(dense);
  Matrix<double> v(z.rows, size);  // rows in the eigenbasis
  gemm<double>(false, true, 1.0, z, u, 0.0, v);
  PenaltyPath path;
  path.scores.resize(penalties.size());
  if (constant) {
    const Channels ch = channels(system);
    const Matrix<double> basis = output_basis(ch.factor);
    const Index width = ch.factor.cols();
    Matrix<double> squares = v;
    for (double& x : squares.values()) x *= x;
    for (std::size_t l = 0; l < penalties.size(); ++l) {
      check_stop();
      Matrix<double> coefficient(size, width);
      Matrix<double> weight(size, width);
      for (Index k = 0; k < size; ++k) {
        for (Index j = 0; j < width; ++j) {
          const double inverse = 1 / (ch.gain[at(j)] * values[at(k)] + penalties[l] * system.weight);
          coefficient(k, j) = eigen.rotated()(k, j) * inverse;
          weight(k, j) = ch.gain[at(j)] * inverse;
        }
      }
      Matrix<double> prediction(v.rows(), width);
      Matrix<double> leverage(v.rows(), width);
      gemm<double>(false, false, 1.0, v, coefficient, 0.0, prediction);
      gemm<double>(false, false, 1.0, squares, weight, 0.0, leverage);
      path.scores[l] = score_channels(system, rows, penalties[l], ch.factor, basis, prediction, leverage);
    }
  } else {
    for (std::size_t l = 0; l < penalties.size(); ++l) {
      check_stop();
      std::vector<double> inverse(at(size));
      Matrix<double> coefficient(size, 1);
      for (Index k = 0; k < size; ++k) {
        inverse[at(k)] = 1 / (values[at(k)] + penalties[l] * system.weight);
        coefficient(k, 0) = eigen.rotated()(k, 0) * inverse[at(k)];
      }
      Matrix<double> prediction(v.rows(), 1);
      gemm<double>(false, false, 1.0, v, coefficient, 0.0, prediction);
      path.scores[l] = score_coupled(system, rows, penalties[l], prediction, [&](Index r, Index s) {
        double sum = 0;
        for (Index k = 0; k < size; ++k) sum += v(r, k) * v(s, k) * inverse[at(k)];
        return sum;
      });
    }
  }
  finish_path(path, rows);
  return path;
}

PenaltyPath leave_one_out(const NormalSystem& system, const LeaveOneOutRows& rows, const std::vector<double>& penalties,
                          Progress* progress) {
  const Coupling& coupling = *system.coupling;
  const bool constant = coupling.is_constant();
  const Index q = rows.features.rows();
  const Index p = coupling.outputs();
  Matrix<double> dense;
  Matrix<double> full;
  if (!constant) {
    dense = Matrix<double>(q * p, coupling.parameters());
    coupling.dense_rows(rows.features, dense);
    full = coupling.normal_matrix(system.gram);
  }
  const ConstMatrix base = constant ? ConstMatrix(system.gram) : ConstMatrix(full);
  const ConstMatrix z = constant ? ConstMatrix(rows.features) : ConstMatrix(dense);
  // Row i of x is L⁻¹z_i for one gain and ridge; false when the matrix is not positive definite in double precision.
  const auto half_solve = [&](double gain, double ridge, Matrix<double>& factor, Matrix<double>& x) {
    factor = Matrix<double>(base.rows, base.cols, Pages::small);
    parallel_for(base.rows, [&](Index i) {
      for (Index j = 0; j <= i; ++j) factor(i, j) = gain * base(i, j);
      factor(i, i) += ridge;
    });
    if (cholesky(factor) >= 0) return false;
    Matrix<double> columns = transposed(z);
    solve_lower(factor, columns);
    x = transposed(columns);
    return true;
  };
  PenaltyPath path;
  for (std::size_t l = 0; l < penalties.size(); ++l) {
    report(progress, "choosing the penalty", static_cast<double>(l) / static_cast<double>(penalties.size()));
    const double ridge = penalties[l] * system.weight;
    Matrix<double> factor;
    Matrix<double> x;
    if (constant) {
      const Channels ch = channels(system);
      Matrix<double> prediction(q, ch.factor.cols());
      Matrix<double> leverage(q, ch.factor.cols());
      bool solved = true;
      for (const auto& run : equal_gain_runs(ch)) {
        const double gain = ch.gain[at(run.front())];
        solved = solved && half_solve(gain, ridge, factor, x);
        if (!solved) break;
        Matrix<double> rhs(factor.rows(), static_cast<Index>(run.size()));
        for (Index c = 0; c < rhs.rows(); ++c) {
          for (std::size_t r = 0; r < run.size(); ++r) rhs(c, static_cast<Index>(r)) = ch.rhs(c, run[r]);
        }
        solve_lower(factor, rhs);
        Matrix<double> part(q, rhs.cols());
        gemm<double>(false, false, 1.0, x, rhs, 0.0, part);
        for (Index i = 0; i < q; ++i) {
          double square = 0;
          for (const double v : x.row(i)) square += v * v;
          for (std::size_t r = 0; r < run.size(); ++r) {
            prediction(i, run[r]) = part(i, static_cast<Index>(r));
            leverage(i, run[r]) = gain * square;
          }
        }
      }
      if (solved) {
        path.scores.push_back(
            score_channels(system, rows, penalties[l], ch.factor, output_basis(ch.factor), prediction, leverage));
      }
    } else if (half_solve(1.0, ridge, factor, x)) {
      Matrix<double> rhs(coupling.parameters(), 1);
      coupling.contract(system.cross, rhs.values());
      solve_lower(factor, rhs);
      Matrix<double> prediction(q * p, 1);
      gemm<double>(false, false, 1.0, x, rhs, 0.0, prediction);
      path.scores.push_back(score_coupled(system, rows, penalties[l], prediction, [&](Index r, Index s) {
        double sum = 0;
        for (Index c = 0; c < x.cols(); ++c) sum += x(r, c) * x(s, c);
        return sum;
      }));
    }
  }
  finish_path(path, rows);
  return path;
}

std::vector<double> penalty_grid(const NormalSystem& system, double step) {
  // tr(M) = Σ_c g_cc ‖B_c‖²: the squares of one row of features √g_cc.
  const Coupling& coupling = *system.coupling;
  Matrix<double> row(1, coupling.columns());
  for (Index c = 0; c < row.cols(); ++c) row(0, c) = std::sqrt(std::max(0.0, system.gram(c, c)));
  Matrix<double> unfolded(coupling.outputs(), coupling.parameters());
  coupling.dense_rows(row, unfolded);
  double trace = 0;
  for (const double v : unfolded.values()) trace += v * v;
  double scale = trace / (system.weight * static_cast<double>(coupling.outputs()));
  if (!(scale > 0)) scale = 1;
  std::vector<double> grid;
  // Round multiples, so that the chosen number is a short one.
  const double unit = std::pow(10.0, std::round(std::log10(scale)));
  for (double relative = 1e-13; relative < 10.5; relative *= step) grid.push_back(unit * relative);
  return grid;
}

}  // namespace mercer
