#include "gp/mean_basis.hpp"

#include <cmath>
#include <vector>

#include "backend/backend.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add(double factor, const std::vector<double>& a, std::vector<double>& to) {
  for (std::size_t i = 0; i < a.size(); ++i) to[i] += factor * a[i];
}

/// A basis function at the rows, and its coefficients on 1, x_1, …, x_d.
struct Function {
  std::vector<double> values;
  std::vector<double> coefficients;
};

}  // namespace

MeanBasis::MeanBasis(MeanForm form, ConstMatrix x) {
  const Index n = x.rows;
  const Index raw = form == MeanForm::none ? 0 : form == MeanForm::constant ? 1 : 1 + x.cols;
  std::vector<Function> kept;
  for (Index k = 0; k < raw; ++k) {
    Function f{std::vector<double>(at(n), 1.0), std::vector<double>(at(raw), 0.0)};
    for (Index i = 0; k > 0 && i < n; ++i) f.values[at(i)] = x(i, k - 1);
    f.coefficients[at(k)] = 1;
    const double size = std::sqrt(dot(f.values, f.values));
    // Gram-Schmidt, twice for orthogonality to rounding.
    for (int pass = 0; pass < 2; ++pass) {
      for (const Function& other : kept) {
        const double share = dot(other.values, f.values);
        add(-share, other.values, f.values);
        add(-share, other.coefficients, f.coefficients);
      }
    }
    const double norm = std::sqrt(dot(f.values, f.values));
    if (!(norm > 1e-12 * size)) continue;
    for (double& v : f.values) v /= norm;
    for (double& v : f.coefficients) v /= norm;
    kept.push_back(std::move(f));
  }
  const auto rank = static_cast<Index>(kept.size());
  columns_ = Matrix<double>(n, rank);
  transform_ = Matrix<double>(raw, rank);
  for (Index r = 0; r < rank; ++r) {
    for (Index i = 0; i < n; ++i) columns_(i, r) = kept[at(r)].values[at(i)];
    for (Index k = 0; k < raw; ++k) transform_(k, r) = kept[at(r)].coefficients[at(k)];
  }
}

Matrix<double> MeanBasis::coefficients(const Matrix<double>& weights) const {
  Matrix<double> result(transform_.rows(), weights.cols());
  if (!result.empty() && weights.rows() > 0) gemm<double>(false, false, 1.0, transform_, weights, 0.0, result);
  return result;
}

}  // namespace mercer
