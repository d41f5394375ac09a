#include "solve/shifted_factor.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {

ShiftedFactor factor_shifted(ConstMatrix a, double scale, double ridge, Shift shift) {
  double largest = 0;
  double trace = 0;
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j <= i; ++j) largest = std::max(largest, std::abs(scale * a(i, j)));
    trace += scale * a(i, i);
  }
  const double size = largest > 0 ? static_cast<double>(a.rows) * largest : 1;  // ≥ ‖scale·A‖
  const double least = shift == Shift::coarse ? 1e-7 * std::abs(trace) / static_cast<double>(a.rows) : 1e-15 * size;
  ShiftedFactor result;
  for (int attempt = 0; attempt < 18; ++attempt) {
    Matrix<double> m(a.rows, a.cols);
    parallel_for(a.rows, [&](Index i) {
      for (Index j = 0; j <= i; ++j) m(i, j) = scale * a(i, j);
      m(i, i) += ridge + result.jitter;
    });
    const Index pivot = cholesky(m);
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

}  // namespace mercer
