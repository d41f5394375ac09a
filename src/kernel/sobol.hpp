#pragma once
#include <memory>

#include "base/matrix.hpp"
#include "base/random.hpp"

namespace mercer {

/// The most dimensions for which direction numbers are at hand (Joe and Kuo 2008, as in Boost).
inline constexpr Index sobol_dimensions = 3667;

/// Sobol points, digitally shifted: the bits of coordinate i are xored with stream.bits(i, 0), which makes every point
/// uniform and keeps the equidistribution.
class ShiftedSobol {
 public:
  /// 1 <= dimensions <= sobol_dimensions.
  ShiftedSobol(Index dimensions, const Stream& stream);
  ~ShiftedSobol();
  ShiftedSobol(ShiftedSobol&&) noexcept;
  ShiftedSobol& operator=(ShiftedSobol&&) noexcept;

  /// Row r is point first + r (the point 0 of the unshifted sequence is the origin), in (0, 1), never 0 or 1.
  void points(Index first, MutMatrix out) const;

 private:
  struct Tables;
  std::unique_ptr<const Tables> tables_;
};

}  // namespace mercer
