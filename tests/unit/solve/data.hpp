#pragma once
#include <mercer/rows.hpp>

#include <vector>

#include "unit/map/map_samples.hpp"

namespace mercer::samples {

/// Rows of smooth functions of normal inputs with some noise; `weights` empty means all 1.
struct Data {
  Matrix<double> x;
  Matrix<double> y;
  std::vector<double> weights;

  ArrayRows rows() const { return ArrayRows(x, y, weights); }
  std::vector<double> all_weights() const {
    return weights.empty() ? std::vector<double>(static_cast<std::size_t>(x.rows()), 1.0) : weights;
  }
  double total() const {
    double sum = 0;
    for (const double w : all_weights()) sum += w;
    return sum;
  }
};

inline Data data(Index n, Index inputs, Index outputs, double noise = 0.1, std::uint64_t seed = 3) {
  Data s;
  s.x = normals(n, inputs, "inputs", seed);
  s.y = normals(n, outputs, "noise", seed);
  for (Index i = 0; i < n; ++i) {
    for (Index a = 0; a < outputs; ++a) {
      double f = 0.5 * static_cast<double>(a + 1);
      for (Index k = 0; k < inputs; ++k)
        f += std::sin(s.x(i, k) * static_cast<double>(1 + (a + k) % 3) + static_cast<double>(a));
      s.y(i, a) = noise * s.y(i, a) + f;
    }
  }
  return s;
}

/// Weights 1, 2, 3, 1, 2, 3, …
inline std::vector<double> counts(Index n) {
  std::vector<double> w;
  for (Index i = 0; i < n; ++i) w.push_back(static_cast<double>(1 + i % 3));
  return w;
}

/// Every row as often as its (whole) weight says.
inline Data repeated(const Data& s) {
  Index n = 0;
  for (const double w : s.weights) n += static_cast<Index>(w);
  Data r;
  r.x = Matrix<double>(n, s.x.cols());
  r.y = Matrix<double>(n, s.y.cols());
  Index next = 0;
  for (Index i = 0; i < s.x.rows(); ++i) {
    for (int k = 0; k < static_cast<int>(s.weights[static_cast<std::size_t>(i)]); ++k, ++next) {
      std::ranges::copy(s.x.row(i), r.x.row(next).begin());
      std::ranges::copy(s.y.row(i), r.y.row(next).begin());
    }
  }
  return r;
}

}  // namespace mercer::samples
