#pragma once
#include <span>
#include <vector>

#include "gp/objective.hpp"

namespace mercer {

/// A point on the line at + step·direction, with the function there.
struct LinePoint {
  double step = 0;
  double value = 0;
  double slope = 0;              ///< derivative along the direction
  std::vector<double> at;        ///< empty for the start
  std::vector<double> gradient;  ///< likewise
};

/// A step along `direction` (which descends: slope < 0) that satisfies the strong Wolfe conditions
///     f(step) ≤ f(0) + 1e-4·step·f'(0),   |f'(step)| ≤ 0.9·|f'(0)|,
/// or, after 40 evaluations, the lowest point seen; its step is 0 when none was below the start. Counts `evaluations`.
LinePoint strong_wolfe(Objective& objective, std::span<const double> at, std::span<const double> direction, double value,
                       double slope, double first_step, int& evaluations);

}  // namespace mercer
