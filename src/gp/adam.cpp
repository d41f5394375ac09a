#include "gp/adam.hpp"

#include <cmath>

namespace mercer {

void Adam::step(std::span<const double> gradient, double rate, std::span<double> at) {
  constexpr double keep_mean = 0.9;
  constexpr double keep_square = 0.999;
  ++steps_;
  const double mean_share = 1 - std::pow(keep_mean, steps_);
  const double square_share = 1 - std::pow(keep_square, steps_);
  for (std::size_t i = 0; i < at.size(); ++i) {
    mean_[i] = keep_mean * mean_[i] + (1 - keep_mean) * gradient[i];
    square_[i] = keep_square * square_[i] + (1 - keep_square) * gradient[i] * gradient[i];
    at[i] -= rate * (mean_[i] / mean_share) / (std::sqrt(square_[i] / square_share) + 1e-8);
  }
}

}  // namespace mercer
