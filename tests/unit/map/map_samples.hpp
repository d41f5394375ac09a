#pragma once
#include <mercer/error.hpp>
#include <mercer/kernel.hpp>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/matrix.hpp"
#include "base/random.hpp"
#include "kernel/resolve.hpp"
#include "map/fourier.hpp"

namespace mercer::samples {

using Dense = ::Eigen::MatrixXd;
using Vector = ::Eigen::VectorXd;

inline Dense dense(ConstMatrix a) {
  Dense m(a.rows, a.cols);
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) m(i, j) = a(i, j);
  }
  return m;
}

inline Matrix<double> matrix(const Dense& a) {
  Matrix<double> m(a.rows(), a.cols());
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) m(i, j) = a(i, j);
  }
  return m;
}

inline Matrix<double> normals(Index rows, Index cols, std::string_view what, std::uint64_t seed = 1) {
  const Stream stream(seed, what);
  Matrix<double> m(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) m(i, j) = stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
  }
  return m;
}

inline OperatorKernel kernel_of(const std::string& text, Index inputs, Index outputs) {
  DataFacts facts;
  facts.inputs = inputs;
  facts.outputs = outputs;
  return resolve(parse_kernel(text), facts);
}

inline FourierMap map_of(const std::string& text, Index inputs, Index outputs, Index frequencies,
                         Sampling sampling = Sampling::automatic, std::uint64_t seed = 0) {
  return {kernel_of(text, inputs, outputs), inputs, outputs, FourierRecipe{frequencies, sampling, seed}};
}

inline Matrix<double> features(const FourierMap& map, ConstMatrix x) {
  Matrix<double> phi(x.rows, map.columns());
  map.features(x, phi);
  return phi;
}

/// Φᵀ of all rows: (n·p) × parameters.
inline Dense operator_rows(const FourierMap& map, ConstMatrix x) {
  Matrix<double> rows(x.rows * map.outputs(), map.coupling().parameters());
  map.coupling().dense_rows(features(map, x), rows);
  return dense(rows);
}

/// A kernel of each kind, with its numbers of inputs and outputs.
struct Sample {
  std::string name;
  std::string kernel;
  Index inputs;
  Index outputs;
};

/// What GoogleTest shows of a failing one.
inline void PrintTo(const Sample& sample, std::ostream* out) {
  *out << sample.name;
}

inline std::vector<Sample> kernel_samples() {
  return {
      {"scalar", "gaussian(0.8)", 2, 1},
      {"identity", "gaussian(0.8)", 2, 3},
      {"full", "decomposable(gaussian(0.8), [[2,0.5,0],[0.5,1,0.3],[0,0.3,0.7]])", 2, 3},
      {"deficient", "decomposable(gaussian(0.8), [[1,2],[2,4]])", 3, 2},
      {"curl2", "curl_free(gaussian(0.8))", 2, 2},
      {"curl3", "curl_free(gaussian(1.1))", 3, 3},
      {"divergence2", "divergence_free(gaussian(0.8))", 2, 2},
      {"divergence3", "divergence_free(gaussian(1.1))", 3, 3},
      {"helmholtz2", "helmholtz(gaussian(0.8), 0.3)", 2, 2},
      {"helmholtz3", "helmholtz(gaussian(1.1), 0.3)", 3, 3},
      {"sum", "curl_free(gaussian(0.8)) + 0.5*decomposable(matern(1.2, nu=2.5), [[1,0.2],[0.2,0.5]]) + linear()", 2, 2},
      {"explicit", "gaussian(1) + 0.3*linear()", 3, 2},
  };
}

}  // namespace mercer::samples
