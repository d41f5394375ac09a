#pragma once
#include <algorithm>
#include <cmath>

namespace mercer {

/// A power of 2 near 1/x, which scales numbers as large as x without rounding them: squares of tiny or huge ones would leave
/// the range of doubles, and they themselves that of floats. 1 where there is none.
inline double power_near_inverse(double x) {
  constexpr int most = 1000;
  return x > 0 && std::isfinite(x) ? std::ldexp(1.0, -std::clamp(std::ilogb(x), -most, most)) : 1.0;
}

}  // namespace mercer
