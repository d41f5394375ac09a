#include "solve/shifted_factor.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backend/backend.hpp"
#include "backend/packed_rows.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

template <class Real>
Index factor_in_place(MatrixView<Real> m, [[maybe_unused]] double ridge, [[maybe_unused]] Factoring factoring) {
  if constexpr (std::is_same_v<Real, float>) {
    constexpr Index worthwhile = 3000;
    // Of the ridge, by any two columns of tiles; those of 8000 unknowns together by up to five times as much. With 0.03
    // iterations gained a sixth less, and divergence-free fields in 3-D took one more. With 0.01 standard deviations of a
    // smooth field were 7 % off, which cost a Gram matrix in float32; with 0.003 they were 0.9 %, as by a precise factor
    // 0.8.
    const double harmless = factoring == Factoring::fine ? 0.003 : 0.01;
    if (factoring != Factoring::precise && m.rows >= worthwhile && active_path(LowNumber::bf16) == PackedPath::amx)
      return split_cholesky(m, harmless * ridge);
  }
  return cholesky(m);
}

}  // namespace

template <class Real>
BasicShiftedFactor<Real> factor_shifted(const std::type_identity_t<std::function<Matrix<Real>()>>& make, double ridge,
                                        Shift shift, Factoring factoring) {
  BasicShiftedFactor<Real> result;
  double least = 0;
  for (int attempt = 0; attempt < 18; ++attempt) {
    Matrix<Real> m = make();
    if (attempt == 0 && shift != Shift::never) {
      double largest = 0;
      double trace = 0;
      for (Index i = 0; i < m.rows(); ++i) {
        for (Index j = 0; j <= i; ++j) largest = std::max(largest, std::abs(static_cast<double>(m(i, j))));
        trace += static_cast<double>(m(i, i));
      }
      const auto rows = static_cast<double>(m.rows());
      const double size = largest > 0 ? rows * largest : 1;  // ≥ ‖A‖
      least = shift == Shift::coarse ? 1e-7 * std::abs(trace) / rows : 1e-15 * size;
    }
    for (Index i = 0; i < m.rows(); ++i) m(i, i) += static_cast<Real>(ridge + result.jitter);
    const Index pivot = factor_in_place<Real>(m, ridge, factoring);
    if (pivot < 0) {
      result.factor = std::move(m);
      return result;
    }
    if (shift == Shift::never) throw NotPositiveDefinite{pivot};
    if (result.failed < 0) result.failed = pivot;
    result.jitter = result.jitter == 0 ? least : 10 * result.jitter;
  }
  fail_internal("the normal matrix could not be factored even with a large shift; are there infinite or huge inputs?");
}

template <class Real>
BasicShiftedFactor<Real> factor_shifted(ConstMatrix a, double scale, double ridge, Shift shift, Factoring factoring) {
  const auto scaled = [&] {
    Matrix<Real> m(a.rows, a.cols, Pages::small);
    parallel_for(a.rows, [&](Index i) {
      for (Index j = 0; j <= i; ++j) m(i, j) = static_cast<Real>(scale * a(i, j));
    });
    return m;
  };
  return factor_shifted<Real>(scaled, ridge, shift, factoring);
}

template BasicShiftedFactor<float> factor_shifted<float>(ConstMatrix, double, double, Shift, Factoring);
template BasicShiftedFactor<double> factor_shifted<double>(ConstMatrix, double, double, Shift, Factoring);
template BasicShiftedFactor<float> factor_shifted<float>(const std::function<Matrix<float>()>&, double, Shift, Factoring);
template BasicShiftedFactor<double> factor_shifted<double>(const std::function<Matrix<double>()>&, double, Shift, Factoring);

}  // namespace mercer
