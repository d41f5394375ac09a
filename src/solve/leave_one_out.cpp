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

/// e = (I - H)⁻¹ r for a small symmetric H, by Gaussian elimination with pivoting on [I - H | r]; `unknown_error` where that
/// is rounding error.
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
  explicit Scorer(Index outputs) : per_output_(at(outputs), 0.0) {}
  void add(double weight, const std::vector<double>& error) {
    for (std::size_t a = 0; a < error.size(); ++a) per_output_[a] += weight * error[a] * error[a];
    weight_ += weight;
  }
  void add(const Scorer& other) {
    for (std::size_t a = 0; a < per_output_.size(); ++a) per_output_[a] += other.per_output_[a];
    weight_ += other.weight_;
  }
  PenaltyScore result(double penalty) const {
    PenaltyScore score{penalty, 0, per_output_};
    for (double& v : score.per_output) {
      v /= weight_;
      score.mean_square += v;
    }
    return score;
  }

 private:
  std::vector<double> per_output_;
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

/// Errors of constant couplings, in the eigenbasis of A.
class ChannelErrors {
 public:
  ChannelErrors(const NormalSystem& system, const LeaveOneOutRows& rows, const Matrix<double>& b)
      : rows_(rows), b_(b), basis_(output_basis(b)), mean_leverage_(system.intercept ? 1 / system.weight : 0) {}

  /// Of the rows from `first` on: predictions of channels and unit leverages, count × p' each.
  void add(Index first, ConstMatrix prediction, ConstMatrix leverage, Scorer& scorer) const {
    const Index p = b_.rows();
    std::vector<double> error(at(p));
    std::vector<double> rotated(at(p));
    for (Index i = 0; i < prediction.rows; ++i) {
      const Index row = first + i;
      for (Index a = 0; a < p; ++a) {
        double f = 0;
        for (Index j = 0; j < b_.cols(); ++j) f += b_(a, j) * prediction(i, j);
        error[at(a)] = rows_.targets(row, a) - f;
      }
      const double unit = std::min(1.0, rows_.weights[at(row)]);
      for (Index k = 0; k < p; ++k) {
        double r = 0;
        for (Index a = 0; a < p; ++a) r += basis_(k, a) * error[at(a)];
        const double left = 1 - unit * (mean_leverage_ + (k < b_.cols() ? leverage(i, k) : 0.0));
        rotated[at(k)] = left >= least_left ? r / left : stands_alone(unit, mean_leverage_) ? 0 : unknown_error;
      }
      for (Index a = 0; a < p; ++a) {
        double e = 0;
        for (Index k = 0; k < p; ++k) e += basis_(k, a) * rotated[at(k)];
        error[at(a)] = e;
      }
      scorer.add(rows_.weights[at(row)], error);
    }
  }

 private:
  const LeaveOneOutRows& rows_;
  const Matrix<double>& b_;
  Matrix<double> basis_;
  double mean_leverage_;
};

/// Errors of coupled outputs.
class CoupledErrors {
 public:
  CoupledErrors(const NormalSystem& system, const LeaveOneOutRows& rows)
      : rows_(rows), mean_leverage_(system.intercept ? 1 / system.weight : 0) {}

  /// Of one row, given predictions f(a) and entries h(a, c) of the hat matrix per unit weight.
  template <class Predicted, class Hat>
  std::vector<double> of(Index row, const Predicted& f, const Hat& h) const {
    const Index p = rows_.targets.cols();
    const double unit = std::min(1.0, rows_.weights[at(row)]);
    std::vector<double> error(at(p), 0.0);
    if (stands_alone(unit, mean_leverage_)) return error;
    Matrix<double> small(p, p);
    for (Index a = 0; a < p; ++a) {
      error[at(a)] = rows_.targets(row, a) - f(a);
      for (Index c = 0; c < p; ++c) small(a, c) = (a == c ? 1 - unit * mean_leverage_ : 0.0) - unit * h(a, c);
    }
    solve_small(small, error);
    return error;
  }

 private:
  const LeaveOneOutRows& rows_;
  double mean_leverage_;
};

/// work(first, count, scorers) for stretches of rows in parallel, with a scorer for every one of so many penalties; what
/// they add up to, in the order of stretches.
template <class Work>
std::vector<Scorer> scored(const LeaveOneOutRows& rows, Index stretch_rows, std::size_t penalties, const Work& work) {
  const Index n = rows.targets.rows();
  const std::vector<Scorer> none(penalties, Scorer(rows.targets.cols()));
  std::vector<std::vector<Scorer>> parts(at((n + stretch_rows - 1) / stretch_rows), none);
  parallel_for(std::ssize(parts), [&](Index stretch) {
    check_stop();
    const Index first = stretch * stretch_rows;
    work(first, std::min(stretch_rows, n - first), parts[at(stretch)]);
  });
  std::vector<Scorer> all = none;
  for (const auto& part : parts) {
    for (std::size_t l = 0; l < penalties; ++l) all[l].add(part[l]);
  }
  return all;
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

namespace {

/// Several penalties at a time, given V, the rows in the eigenbasis: predictions are V·C and leverages V²·W for a column of
/// C and W of every penalty and channel, products of matrices instead of as many passes over V.
std::vector<Scorer> score_channels(const EigenSystem& eigen, const LeaveOneOutRows& rows, ConstMatrix v, const Channels& ch,
                                   std::span<const double> penalties) {
  constexpr Index stretch_rows = 256;
  const std::vector<double>& values = eigen.eigen().values;
  const Index size = v.cols;
  const Index width = ch.factor.cols();
  const Index columns = std::ssize(penalties) * width;
  Matrix<double> coefficient(size, columns);
  Matrix<double> weight(size, columns);
  for (Index k = 0; k < size; ++k) {
    for (Index c = 0; c < columns; ++c) {
      const Index j = c % width;
      const double inverse = 1 / (ch.gain[at(j)] * values[at(k)] + penalties[at(c / width)] * eigen.system().weight);
      coefficient(k, c) = eigen.rotated()(k, j) * inverse;
      weight(k, c) = ch.gain[at(j)] * inverse;
    }
  }
  const ChannelErrors errors(eigen.system(), rows, ch.factor);
  return scored(rows, stretch_rows, penalties.size(), [&](Index first, Index count, std::vector<Scorer>& scorers) {
    Matrix<double> part(v.row_range(first, count));
    Matrix<double> prediction(count, columns);
    Matrix<double> leverage(count, columns);
    gemm<double>(false, false, 1.0, part, coefficient, 0.0, prediction);
    for (double& x : part.values()) x *= x;
    gemm<double>(false, false, 1.0, part, weight, 0.0, leverage);
    for (std::size_t l = 0; l < scorers.size(); ++l) {
      const Index at_column = static_cast<Index>(l) * width;
      errors.add(first, prediction.view().col_range(at_column, width), leverage.view().col_range(at_column, width),
                 scorers[l]);
    }
  });
}

/// The same of coupled outputs: entries (a, c) of a row's hat matrix are Σ_k v_ak v_ck/(λ_k + ridge).
std::vector<Scorer> score_coupled(const EigenSystem& eigen, const LeaveOneOutRows& rows, ConstMatrix v,
                                  std::span<const double> penalties) {
  constexpr Index room = 1 << 19;  // numbers
  const std::vector<double>& values = eigen.eigen().values;
  const Index size = v.cols;
  const Index p = rows.targets.cols();
  const Index pairs = p * (p + 1) / 2;
  const Index columns = std::ssize(penalties);
  Matrix<double> inverse(size, columns);
  Matrix<double> coefficient(size, columns);
  for (Index k = 0; k < size; ++k) {
    for (Index l = 0; l < columns; ++l) {
      inverse(k, l) = 1 / (values[at(k)] + penalties[at(l)] * eigen.system().weight);
      coefficient(k, l) = eigen.rotated()(k, 0) * inverse(k, l);
    }
  }
  const CoupledErrors errors(eigen.system(), rows);
  const Index stretch_rows = std::clamp<Index>(room / (pairs * std::max<Index>(1, size)), 1, 256);
  return scored(rows, stretch_rows, penalties.size(), [&](Index first, Index count, std::vector<Scorer>& scorers) {
    Matrix<double> products(count * pairs, size);
    for (Index i = 0; i < count; ++i) {
      for (Index a = 0; a < p; ++a) {
        for (Index c = 0; c <= a; ++c) {
          const double* left = v.row((first + i) * p + a).data();
          const double* right = v.row((first + i) * p + c).data();
          double* out = products.row(i * pairs + a * (a + 1) / 2 + c).data();
          for (Index k = 0; k < size; ++k) out[k] = left[k] * right[k];
        }
      }
    }
    Matrix<double> prediction(count * p, columns);
    Matrix<double> hat(count * pairs, columns);
    gemm<double>(false, false, 1.0, v.row_range(first * p, count * p), coefficient, 0.0, prediction);
    gemm<double>(false, false, 1.0, products, inverse, 0.0, hat);
    for (Index i = 0; i < count; ++i) {
      for (Index l = 0; l < columns; ++l) {
        const auto entry = [&](Index a, Index c) {
          return hat(i * pairs + std::max(a, c) * (std::max(a, c) + 1) / 2 + std::min(a, c), l);
        };
        scorers[at(l)].add(rows.weights[at(first + i)],
                           errors.of(
                               first + i, [&](Index a) { return prediction(i * p + a, l); }, entry));
      }
    }
  });
}

}  // namespace

PenaltyPath leave_one_out(const EigenSystem& eigen, const LeaveOneOutRows& rows, const std::vector<double>& penalties) {
  const NormalSystem& system = eigen.system();
  const Coupling& coupling = *system.coupling;
  const Matrix<double>& u = eigen.eigen().vectors;
  const bool constant = coupling.is_constant();
  Matrix<double> dense;
  if (!constant) {
    dense = Matrix<double>(rows.features.rows() * coupling.outputs(), coupling.parameters());
    coupling.dense_rows(rows.features, dense);
  }
  const ConstMatrix z = constant ? ConstMatrix(rows.features) : ConstMatrix(dense);
  Matrix<double> v(z.rows, u.rows());  // rows in the eigenbasis
  gemm<double>(false, true, 1.0, z, u, 0.0, v);
  dense = {};
  const Channels ch = constant ? channels(system) : Channels();
  // As many penalties at a time as make some hundred columns.
  constexpr Index most_columns = 512;
  const auto together = static_cast<std::size_t>(std::max<Index>(1, most_columns / std::max<Index>(1, ch.factor.cols())));
  PenaltyPath path;
  for (std::size_t first = 0; first < penalties.size(); first += together) {
    const std::span<const double> some = std::span(penalties).subspan(first, std::min(together, penalties.size() - first));
    const std::vector<Scorer> scorers =
        constant ? score_channels(eigen, rows, v, ch, some) : score_coupled(eigen, rows, v, some);
    for (std::size_t l = 0; l < some.size(); ++l) path.scores.push_back(scorers[l].result(some[l]));
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
        Scorer scorer(p);
        ChannelErrors(system, rows, ch.factor).add(0, prediction, leverage, scorer);
        path.scores.push_back(scorer.result(penalties[l]));
      }
    } else if (half_solve(1.0, ridge, factor, x)) {
      Matrix<double> rhs(coupling.parameters(), 1);
      coupling.contract(system.cross, rhs.values());
      solve_lower(factor, rhs);
      Matrix<double> prediction(q * p, 1);
      gemm<double>(false, false, 1.0, x, rhs, 0.0, prediction);
      const CoupledErrors errors(system, rows);
      const std::vector<Scorer> scorers = scored(rows, 64, 1, [&](Index first, Index count, std::vector<Scorer>& of_part) {
        for (Index i = first; i < first + count; ++i) {
          const auto hat = [&](Index a, Index c) {
            double sum = 0;
            for (Index k = 0; k < x.cols(); ++k) sum += x(i * p + a, k) * x(i * p + c, k);
            return sum;
          };
          of_part[0].add(rows.weights[at(i)], errors.of(
                                                  i, [&](Index a) { return prediction(i * p + a, 0); }, hat));
        }
      });
      path.scores.push_back(scorers[0].result(penalties[l]));
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
