#pragma once
#include <mercer/kernel.hpp>

#include <random>
#include <string>
#include <vector>

#include "base/matrix.hpp"

namespace mercer::samples {

inline Kernel scalar(const std::string& text) {
  return std::get<Decomposable>(parse_kernel(text).terms.front().form).kernel;
}

/// Every scalar form, one length scale and one each, alone and combined, for d = 3.
inline const std::vector<std::string>& scalar_texts() {
  static const std::vector<std::string> texts = {
      "gaussian(0.8)",
      "gaussian([0.8, 1.3, 2])",
      "matern(0.9, nu=0.3)",
      "matern(0.9, nu=0.5)",
      "matern([0.5, 1, 2], nu=0.7)",
      "matern(1.1, nu=1)",
      "matern(0.7, nu=1.5)",
      "matern([0.5, 1, 2], nu=2)",
      "matern(0.7, nu=2.5)",
      "matern(0.7, nu=3.7)",
      "matern([0.5, 1, 2], nu=10)",
      "matern(0.7, nu=60)",
      "laplacian(1.4)",
      "laplacian([0.5, 1, 2])",
      "cauchy(0.9)",
      "cauchy([0.5, 1, 2])",
      "rational_quadratic(0.6, alpha=1)",
      "rational_quadratic([0.5, 1, 2], alpha=1.7)",
      "rational_quadratic(0.6, alpha=1e9)",
      "spectral_mixture(weights=[0.7, 1.9], means=[[0.1, 0, -0.3], [0.5, 0.2, 0]], scales=[[0.1, 0.2, 0.05], [0.3, 0, "
      "0.1]])",
      "linear()",
      "polynomial(degree=1, offset=0)",
      "polynomial(degree=3, offset=0.5)",
      "0.5*gaussian(1.2) + linear()",
      "gaussian([1, 2, 3])*cauchy(2)*matern(1, nu=2.2)",
      "2.5*(gaussian(1) + 0.3*matern(2, nu=1.5))*(rational_quadratic(1, alpha=2) + laplacian(3))",
      "linear()*gaussian(1) + 3*(0.1*(polynomial(degree=2, offset=1)*cauchy(1)))",
  };
  return texts;
}

inline std::vector<double> normals(std::mt19937_64& engine, std::size_t count, double scale = 1, double shift = 0) {
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = shift + scale * normal(engine);
  return values;
}

inline Matrix<double> normal_rows(std::uint64_t seed, Index rows, Index cols, double scale = 1, double shift = 0) {
  std::mt19937_64 engine(seed);
  Matrix<double> result(rows, cols);
  std::normal_distribution<double> normal;
  for (double& value : result.values()) value = shift + scale * normal(engine);
  return result;
}

}  // namespace mercer::samples
