#include "loss/balance_signs.hpp"

#include <cstddef>
#include <vector>

namespace mercer {

void balance_signs(Point weights, MutMatrix a) {
  struct Mass {
    double positive = 0;
    double negative = 0;
  };
  std::vector<Mass> columns(static_cast<std::size_t>(a.cols));
  for (Index i = 0; i < a.rows; ++i) {
    const double weight = weights.empty() ? 1 : weights[static_cast<std::size_t>(i)];
    for (Index j = 0; j < a.cols; ++j) {
      Mass& mass = columns[static_cast<std::size_t>(j)];
      (a(i, j) > 0 ? mass.positive : mass.negative) += weight * (a(i, j) > 0 ? a(i, j) : -a(i, j));
    }
  }
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) {
      const Mass& mass = columns[static_cast<std::size_t>(j)];
      if (a(i, j) > 0 && mass.positive > mass.negative) a(i, j) *= mass.negative / mass.positive;
      if (a(i, j) < 0 && mass.negative > mass.positive) a(i, j) *= mass.positive / mass.negative;
    }
  }
}

}  // namespace mercer
