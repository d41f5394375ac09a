#pragma once
#include <functional>
#include <span>
#include <string>

#include "gp/objective.hpp"

namespace mercer {

struct LbfgsOptions {
  int max_iterations = 200;
  double gradient_tolerance = 1e-6;  ///< stop when no partial derivative is larger
  double value_tolerance = 1e-10;    ///< stop when an iteration gains less than this times max(|value|, 1)
  int memory = 10;                   ///< pairs of steps and gradient changes kept
  /// Told after each iteration; false stops there.
  std::function<bool(int iteration, double value, std::span<const double> at)> on_iteration = nullptr;
};

struct LbfgsResult {
  double value = 0;
  int iterations = 0;
  int evaluations = 0;
  bool converged = false;  ///< by one of the tolerances
  std::string status;      ///< why it stopped, in words
};

/// Limited-memory BFGS (Liu and Nocedal 1989) with the strong Wolfe line search of Nocedal and Wright (3.5, 3.6; sufficient
/// decrease 1e-4, curvature 0.9, cubic interpolation). Where the value is infinite or NaN the step is shortened. `at` is the
/// start and becomes the best point found: its value never rises. O(memory·size) a step beside the evaluations. Checks for a
/// stop request before each evaluation.
LbfgsResult minimize_lbfgs(Objective& objective, std::span<double> at, const LbfgsOptions& options = {});

}  // namespace mercer
