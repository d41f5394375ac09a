#pragma once
#include <algorithm>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"
#include "map/coupling.hpp"
#include "solve/ridge.hpp"

namespace mercer {

/// Between the systems that are solved (channels, or a θ of all outputs) and the weights of the outputs, which is where
/// targets are. Other systems that go along stand behind either.
class OutputWeights {
 public:
  OutputWeights(const Coupling& coupling, const Channels& channels, Index systems)
      : coupling_(coupling), channels_(channels), systems_(systems) {}

  Matrix<double> weights(ConstMatrix v) const {
    const Index m = coupling_.columns();
    const Index p = coupling_.outputs();
    if (coupling_.is_constant()) {
      const Index others = v.cols - systems_;
      Matrix<double> w(m, p + others);
      gemm<double>(false, true, 1.0, v.col_range(0, systems_), channels_.factor, 0.0, w.view().col_range(0, p));
      copy(v.col_range(systems_, others), w.view().col_range(p, others));
      return w;
    }
    Matrix<double> w(m, p * v.cols);
    Matrix<double> one(m, p);
    std::vector<double> theta(static_cast<std::size_t>(v.rows));
    for (Index s = 0; s < v.cols; ++s) {
      for (Index i = 0; i < v.rows; ++i) theta[static_cast<std::size_t>(i)] = v(i, s);
      coupling_.expand(theta, one);
      copy(one, w.view().col_range(s * p, p));
    }
    return w;
  }

  /// What sums over φ are for the systems: Bᵀ times them.
  void reduce(ConstMatrix s, MutMatrix out) const {
    const Index p = coupling_.outputs();
    if (coupling_.is_constant()) {
      gemm<double>(false, false, 1.0, s.col_range(0, p), channels_.factor, 0.0, out.col_range(0, systems_));
      copy(s.col_range(p, s.cols - p), out.col_range(systems_, s.cols - p));
      return;
    }
    std::vector<double> theta(static_cast<std::size_t>(out.rows));
    for (Index k = 0; k < out.cols; ++k) {
      coupling_.contract(s.col_range(k * p, p), theta);
      for (Index i = 0; i < out.rows; ++i) out(i, k) = theta[static_cast<std::size_t>(i)];
    }
  }

 private:
  static void copy(ConstMatrix from, MutMatrix to) {
    for (Index i = 0; i < from.rows; ++i) std::ranges::copy(from.row(i), to.row(i).begin());
  }

  const Coupling& coupling_;
  const Channels& channels_;
  Index systems_;
};

}  // namespace mercer
