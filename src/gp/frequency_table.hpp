#pragma once
#include <mercer/view.hpp>

#include <complex>
#include <span>
#include "base/matrix.hpp"

namespace mercer {

/// Where rows of one input lie: what their Fourier sums depend on.
struct RowInterval {
  explicit RowInterval(std::span<const double> x);
  double centre = 0;
  double length = 1;  ///< of the interval they lie in; 1 when that is a point

  /// Frequencies that the tables of frequencies up to `most` have cells for; infinite where they would have no digits left.
  double cells(double most) const;
  double period() const;  ///< one over the width of a cell

  /// f·period = cell + offset with no rounding but that of the offset, |offset| <= ½: sums and differences of frequencies
  /// keep their digits however many cells away they are.
  struct Place {
    double cell, offset;
  };
  Place place(double f) const;
};

/// S(f) = Σ_i c_i e^{2πi f x̃_i},  x̃ = x - centre,  for any |f| up to `reach`, at a cost that does not depend on the rows.
/// With |x̃_i| <= ½ length the function is smooth: around f_k = k/period, period = π/4 length, at f = f_k + u/(2 period),
///   S(f) = Σ_m (2i)^m/m! (Σ_i c_i τ_i^m e^{2πi f_k x̃_i}) u^m,   τ = 2x̃/length,   |u| <= 1,
/// and 24 terms leave less than 2^24/24! = 3e-17 of Σ|c_i|. The sums at all f_k are 12 FFTs (fourier_sums). Sums with c∘x̃
/// and c∘x̃² come from the derivatives of the same polynomials. Errors are below table_error·Σ|c_i| (times powers of
/// ½ length); besides, x̃/period is rounded to double, once for all frequencies: all sums are those of the same rows.
class FrequencyTable {
 public:
  /// O(n + cells log cells), 384 bytes a cell, 1 KB while it is made; a power of two cells, at least those of `most`.
  FrequencyTable(const RowInterval& interval, std::span<const double> x, std::span<const double> c, double most);

  double reach() const;

  /// Σ c e, Σ c x̃ e, Σ c x̃² e with e = e^{2πi f x̃}.
  struct Sums {
    std::complex<double> zeroth, first, second;
  };
  Sums at(double f) const;

  /// For each f = (cell + offset)/period: Re S, Im S and the same of Σ c x̃ e; out holds 4 entries for each.
  void evaluate(std::span<const double> cell, std::span<const double> offset, std::span<double> out) const;

 private:
  RowInterval interval_;
  Matrix<double> coefficients_;  ///< a row for each cell, as cell_polynomials wants them
};

/// Of Σ|c_i| for a hundred rows and more; three times that for two or three rows, whose errors do not average.
inline constexpr double table_error = 2e-15;
/// Bytes for one cell while a table is made, besides the tables.
inline constexpr Index table_work_bytes = 1024;

}  // namespace mercer
