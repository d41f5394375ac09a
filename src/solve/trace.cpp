#include "solve/trace.hpp"

#include "backend/backend.hpp"
#include "base/matrix.hpp"
#include "base/random.hpp"

namespace mercer {

double inverse_trace(ConstMatrix factor) {
  constexpr Index probes = 32;
  const Stream stream(0, "trace");
  Matrix<double> z(factor.rows, probes);
  for (Index k = 0; k < z.rows(); ++k) {
    for (Index s = 0; s < probes; ++s) {
      z(k, s) = (stream.bits(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(s)) & 1U) != 0 ? 1.0 : -1.0;
    }
  }
  solve_lower(factor, z);
  double sum = 0;
  for (const double v : z.values()) sum += v * v;
  return sum / probes;
}

}  // namespace mercer
