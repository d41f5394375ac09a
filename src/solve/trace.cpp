#include "solve/trace.hpp"

#include <algorithm>

#include "backend/backend.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

template <class Real>
double trace_of(MatrixView<const Real> factor) {
  constexpr Index exact_limit = 1000;
  constexpr Index most_probes = 64;
  const bool exact = factor.rows <= exact_limit;
  // Relative to the number of unknowns, the error is that of probes times unknowns.
  const Index probes = exact ? factor.rows : std::clamp<Index>(most_probes * 4000 / factor.rows, 16, most_probes);
  const Stream stream(0, "trace");
  Matrix<Real> z(factor.rows, probes);
  parallel_rows(z.rows(), probes, [&](Index first, Index end) {
    for (Index k = first; k < end; ++k) {
      const std::uint64_t signs = stream.bits(static_cast<std::uint64_t>(k), 0);
      for (Index s = 0; s < probes; ++s) {
        const bool positive = ((signs >> static_cast<unsigned>(s % 64)) & 1U) != 0;
        z(k, s) = static_cast<Real>(exact ? (k == s ? 1.0 : 0.0) : (positive ? 1.0 : -1.0));
      }
    }
  });
  solve_lower(factor, z);
  double sum = 0;
  for (const Real v : z.values()) sum += static_cast<double>(v) * static_cast<double>(v);
  return exact ? sum : sum / static_cast<double>(probes);
}

}  // namespace

double trace(ConstMatrix a) {
  double sum = 0;
  for (Index i = 0; i < a.rows; ++i) sum += a(i, i);
  return sum;
}

double inverse_trace(ConstMatrix factor) {
  return trace_of<double>(factor);
}
double inverse_trace(MatrixView<const float> factor) {
  return trace_of<float>(factor);
}

}  // namespace mercer
