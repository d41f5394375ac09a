#include "solve/preconditioned_systems.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// x = M⁻¹z and xᵀM⁻¹x = ‖L⁻¹x‖².
template <class Real>
bool no_eigenvalue_below(MatrixView<const Real> l, double ridge) {
  constexpr Index probes = 4;
  constexpr double slack = 2e-3;
  const Stream stream(0, "least eigenvalue");
  Matrix<Real> x(l.rows, probes);
  parallel_rows(l.rows, 16 * probes, [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) {
      for (Index k = 0; k < probes; ++k)
        x(i, k) = static_cast<Real>(stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(k)));
    }
  });
  cholesky_solve(l, x.view());
  Matrix<Real> half = x;
  solve_lower(l, half.view());
  for (Index k = 0; k < probes; ++k) {
    double numerator = 0;
    double square = 0;
    for (Index i = 0; i < l.rows; ++i) {
      numerator += std::pow(static_cast<double>(half(i, k)), 2);
      square += std::pow(static_cast<double>(x(i, k)), 2);
    }
    if (!(numerator * ridge <= (1 + slack) * square)) return false;
  }
  return true;
}

}  // namespace

std::vector<double> random_signs(Index count) {
  const Stream stream(0, "probe");
  std::vector<double> signs(at(count));
  for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = (stream.bits(i, 0) & 1U) != 0 ? 1.0 : -1.0;
  return signs;
}

bool FactoredGain::is_above(double ridge) const {
  return single_factor.empty() ? no_eigenvalue_below<double>(factor, ridge)
                               : no_eigenvalue_below<float>(single_factor, ridge);
}

void FactoredGain::solve(ConstMatrix r, MutMatrix z) const {
  if (single_factor.empty()) {
    for (Index i = 0; i < r.rows; ++i) std::ranges::copy(r.row(i), z.row(i).begin());
    cholesky_solve(factor, z);
    return;
  }
  Matrix<float> narrow(r.rows, r.cols);
  parallel_rows(narrow.rows(), narrow.cols(), [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) {
      for (Index k = 0; k < narrow.cols(); ++k) narrow(i, k) = static_cast<float>(r(i, k));
    }
  });
  cholesky_solve(single_factor.view(), narrow.view());
  parallel_rows(narrow.rows(), narrow.cols(), [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) std::ranges::copy(narrow.row(i), z.row(i).begin());
  });
}

void PreconditionedSystems::add_probe() {
  const std::vector<double> signs = random_signs(rhs.rows());
  Matrix<double> wider(rhs.rows(), rhs.cols() + 1);
  for (Index i = 0; i < rhs.rows(); ++i) {
    std::ranges::copy(rhs.row(i), wider.row(i).begin());
    wider(i, rhs.cols()) = signs[at(i)];
  }
  rhs = std::move(wider);
  const auto most = std::ranges::max_element(gain);
  for (FactoredGain& f : factors) {
    if (std::ranges::find(f.systems, most - gain.begin()) != f.systems.end()) f.systems.push_back(rhs.cols() - 1);
  }
  gain.push_back(*most);
}

void PreconditionedSystems::precondition(ConstMatrix r, MutMatrix z, double ridge) const {
  if (factors.size() == 1) return factors.front().solve(r, z);
  for (const FactoredGain& f : factors) {
    std::vector<Index> columns;
    for (Index c = 0; c < r.cols; ++c) {
      if (std::ranges::find(f.systems, c % std::ssize(gain)) != f.systems.end()) columns.push_back(c);
    }
    Matrix<double> part(r.rows, std::ssize(columns));
    for (Index i = 0; i < r.rows; ++i) {
      for (Index k = 0; k < part.cols(); ++k) part(i, k) = r(i, columns[at(k)]);
    }
    Matrix<double> solved(part.rows(), part.cols());
    f.solve(part, solved);
    for (Index i = 0; i < r.rows; ++i) {
      for (Index k = 0; k < part.cols(); ++k) z(i, columns[at(k)]) = solved(i, k);
    }
  }
  if (!factors.empty()) return;
  Matrix<double> rotated(r.rows, r.cols);
  gemm<double>(false, false, 1.0, eigen.vectors, r, 0.0, rotated);
  for (Index i = 0; i < rotated.rows(); ++i) {
    for (Index k = 0; k < rotated.cols(); ++k) rotated(i, k) /= gain[at(k) % gain.size()] * eigen.values[at(i)] + ridge;
  }
  gemm<double>(true, false, 1.0, eigen.vectors, rotated, 0.0, z);
}

}  // namespace mercer
