#include "solve/row_operator.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {
std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}
}  // namespace

template <class Real>
RowOperator<Real>::RowOperator(const FeatureMap& map, RowSource& rows, bool intercept, Index memory_bytes,
                               Progress* progress)
    : map_(map), rows_(rows), progress_(progress) {
  const Index m = map.columns();
  const Index p = rows.target_count();
  keep_ = rows.row_count() >= 0 &&
          static_cast<double>(rows.row_count()) * static_cast<double>(m) * sizeof(Real) <= static_cast<double>(memory_bytes);
  NormalSystem& s = system_;
  s.coupling = &map.coupling();
  s.intercept = intercept;
  s.mean_feature.assign(at(m), 0);
  s.mean_target.assign(at(p), 0);
  s.target_square.assign(at(p), 0);
  s.cross = Matrix<double>(m, p);
  FeatureRows<Real> blocks(map, rows);
  blocks.rewind();
  while (blocks.next()) {
    const auto phi = blocks.features();
    Matrix<Real> weighted(blocks.count(), p + 1);  // w·[1, y]
    for (Index i = 0; i < blocks.count(); ++i) {
      const double w = blocks.weight(i);
      weighted(i, 0) = static_cast<Real>(w);
      s.weight += w;
      for (Index a = 0; a < p; ++a) {
        const auto y = static_cast<double>(blocks.targets()(i, a));
        weighted(i, a + 1) = static_cast<Real>(w * y);
        s.mean_target[at(a)] += w * y;
        s.target_square[at(a)] += w * y * y;
      }
    }
    Matrix<Real> products(m, p + 1);
    gemm<Real>(true, false, Real(1), phi, weighted, Real(0), products);
    for (Index c = 0; c < m; ++c) {
      s.mean_feature[at(c)] += static_cast<double>(products(c, 0));
      for (Index a = 0; a < p; ++a) s.cross(c, a) += static_cast<double>(products(c, a + 1));
    }
    if (keep_) {
      kept_.push_back({Matrix<Real>(MatrixView<const Real>(phi)),
                       {blocks.weights().begin(), blocks.weights().end()},
                       blocks.first_row()});
    }
    report(progress, "reading features", static_cast<double>(blocks.first_row()) / static_cast<double>(rows.row_count()));
  }
  if (!(s.weight > 0)) fail_argument("there are no rows with positive weight to learn from");
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!std::ranges::all_of(s.mean_feature, finite) || !std::ranges::all_of(s.cross.values(), finite)) {
    fail_argument(
        "the sums of features or targets overflow: scale the data (standardize) or lower the degree of the kernel");
  }
  for (double& v : s.mean_feature) v = intercept ? v / s.weight : 0;
  for (double& v : s.mean_target) v = intercept ? v / s.weight : 0;
  for (Index a = 0; a < p; ++a) {
    const double mean = s.weight * s.mean_target[at(a)];
    s.target_square[at(a)] -= mean * s.mean_target[at(a)];
    for (Index c = 0; c < m; ++c) s.cross(c, a) -= mean * s.mean_feature[at(c)];
  }
}

template <class Real>
Index RowOperator<Real>::size() const {
  return coupling().is_constant() ? map_.columns() : coupling().parameters();
}

template <class Real>
template <class Consumer>
void RowOperator<Real>::for_blocks(const Consumer& consume) {
  if (keep_) {
    for (const Kept& k : kept_) {
      check_stop();
      consume(MatrixView<const Real>(k.features), std::span<const double>(k.weights), k.first_row);
    }
    return;
  }
  FeatureRows<Real> blocks(map_, rows_);
  blocks.rewind();
  while (blocks.next()) {
    check_stop();
    consume(MatrixView<const Real>(blocks.features()), blocks.weights(), blocks.first_row());
  }
}

template <class Real>
Matrix<double> RowOperator<Real>::expand(ConstMatrix v) const {
  if (coupling().is_constant()) return Matrix<double>(v);
  const Index p = coupling().outputs();
  Matrix<double> w(map_.columns(), v.cols * p);
  Matrix<double> one(map_.columns(), p);
  std::vector<double> theta(at(v.rows));
  for (Index s = 0; s < v.cols; ++s) {
    for (Index k = 0; k < v.rows; ++k) theta[at(k)] = v(k, s);
    coupling().expand(theta, one);
    for (Index c = 0; c < w.rows(); ++c) std::ranges::copy(one.row(c), w.row(c).subspan(at(s * p)).begin());
  }
  return w;
}

template <class Real>
void RowOperator<Real>::contract(ConstMatrix s, MutMatrix out) const {
  if (coupling().is_constant()) {
    for (Index c = 0; c < s.rows; ++c) std::ranges::copy(s.row(c), out.row(c).begin());
    return;
  }
  const Index p = coupling().outputs();
  std::vector<double> theta(at(out.rows));
  for (Index k = 0; k < out.cols; ++k) {
    coupling().contract(s.col_range(k * p, p), theta);
    for (Index i = 0; i < out.rows; ++i) out(i, k) = theta[at(i)];
  }
}

template <class Real>
template <class Fill>
Matrix<double> RowOperator<Real>::adjoint_pass(Index cols, const Fill& fill) {
  const Index m = map_.columns();
  Matrix<double> sum(m, cols);
  std::vector<double> column_sum(at(cols), 0.0);
  Matrix<Real> product(m, cols);
  for_blocks([&](MatrixView<const Real> phi, std::span<const double> weights, Index first_row) {
    Matrix<Real> f(phi.rows, cols);
    fill(phi, weights, first_row, f.view());
    for (Index i = 0; i < f.rows(); ++i) {
      for (Index k = 0; k < cols; ++k) column_sum[at(k)] += static_cast<double>(f(i, k));
    }
    gemm<Real>(true, false, Real(1), phi, f, Real(0), product);
    for (Index i = 0; i < sum.size(); ++i) sum.data()[i] += static_cast<double>(product.data()[i]);
  });
  for (Index c = 0; c < m; ++c) {
    for (Index k = 0; k < cols; ++k) sum(c, k) -= system_.mean_feature[at(c)] * column_sum[at(k)];
  }
  return sum;
}

template <class Real>
void RowOperator<Real>::apply(ConstMatrix v, MutMatrix out) {
  contract(gram_times(expand(v)), out);
}

template <class Real>
Matrix<double> RowOperator<Real>::gram_times(ConstMatrix w) {
  std::vector<double> offset(at(w.cols), 0.0);  // φ¯ᵀW
  Matrix<Real> narrow(w.rows, w.cols);
  for (Index c = 0; c < w.rows; ++c) {
    for (Index k = 0; k < w.cols; ++k) {
      offset[at(k)] += system_.mean_feature[at(c)] * w(c, k);
      narrow(c, k) = static_cast<Real>(w(c, k));
    }
  }
  return adjoint_pass(w.cols, [&](auto phi, auto weights, Index, MatrixView<Real> f) {
    gemm<Real>(false, false, Real(1), phi, narrow, Real(0), f);
    for (Index i = 0; i < f.rows; ++i) {
      const double weight = weights.empty() ? 1.0 : weights[at(i)];
      for (Index k = 0; k < f.cols; ++k)
        f(i, k) = static_cast<Real>(weight * (static_cast<double>(f(i, k)) - offset[at(k)]));
    }
  });
}

template <class Real>
void RowOperator<Real>::random_rhs(std::string_view what, MutMatrix out) {
  const Index p = coupling().is_constant() ? 1 : coupling().outputs();
  const Stream stream(0, what);
  const Matrix<double> sum = adjoint_pass(out.cols * p, [&](auto phi, auto weights, Index first_row, MatrixView<Real> f) {
    for (Index i = 0; i < phi.rows; ++i) {
      const double root = weights.empty() ? 1.0 : std::sqrt(weights[at(i)]);
      for (Index k = 0; k < f.cols; ++k) {
        f(i, k) = static_cast<Real>(root *
                                    stream.normal(static_cast<std::uint64_t>(first_row + i), static_cast<std::uint64_t>(k)));
      }
    }
  });
  contract(sum, out);
}

template <class Real>
Matrix<double> RowOperator<Real>::sample_rows(Index count, double& weight) {
  const Index p = coupling().is_constant() ? 1 : coupling().outputs();
  const Index n = rows_.row_count();
  const Index every = std::max<Index>(1, n / std::max<Index>(1, count / p));
  const Index kept = (n + every - 1) / every;
  Matrix<double> result(kept * p, size());
  Index next = 0;
  weight = 0;
  for_blocks([&](MatrixView<const Real> phi, std::span<const double> weights, Index first_row) {
    Matrix<double> one(1, map_.columns());
    for (Index i = 0; i < phi.rows; ++i) {
      if ((first_row + i) % every != 0) continue;
      const double root = weights.empty() ? 1.0 : std::sqrt(weights[at(i)]);
      weight += root * root;
      for (Index c = 0; c < phi.cols; ++c) one(0, c) = root * (static_cast<double>(phi(i, c)) - system_.mean_feature[at(c)]);
      if (coupling().is_constant()) {
        std::ranges::copy(one.row(0), result.row(next).begin());
      } else {
        coupling().dense_rows(one, result.view().row_range(next, p));
      }
      next += p;
    }
  });
  return result;
}

template class RowOperator<float>;
template class RowOperator<double>;

}  // namespace mercer
