#pragma once
#include <mercer/view.hpp>

#include <span>
#include <vector>

namespace mercer {

/// A series made ready for its spectrum: sorted, one value per place, mean taken off.
struct Samples {
  std::vector<double> place;   ///< x - its least value, ascending, all different
  std::vector<double> value;   ///< y averaged over equal x, less the mean of y
  std::vector<double> weight;  ///< share of the rows at this place; sums to 1
  double variance = 0;         ///< of y, all rows
  double scatter = 0;          ///< the part of it between rows at equal x
  double length = 0;           ///< range of x · n/(n - 1) for n places: n steps
  bool even = false;           ///< steps equal to a thousandth, as many rows at each place

  Index size() const { return static_cast<Index>(place.size()); }
};

/// O(n log n). Leaves out rows that are not finite. Throws when the range of x or the variance of y overflows.
Samples ordered_samples(std::span<const double> x, std::span<const double> y);

/// A straight line through the samples by weighted least squares.
struct Line {
  double slope = 0;
  double centre = 0;    ///< where the line crosses 0, the weighted mean of the places
  double variance = 0;  ///< that the line accounts for
};
Line fit_line(const Samples& samples);

}  // namespace mercer
