#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "gp/vfe.hpp"
#include "map/nystrom.hpp"

namespace mercer {
namespace {

constexpr Index chunk_rows = 4096;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// 1/standard deviation of each input; 0 for constant ones.
std::vector<double> inverse_spreads(ConstMatrix x) {
  std::vector<double> result;
  for (Index k = 0; k < x.cols; ++k) {
    double mean = 0;
    for (Index i = 0; i < x.rows; ++i) mean += x(i, k) / static_cast<double>(x.rows);
    double square = 0;
    for (Index i = 0; i < x.rows; ++i) square += (x(i, k) - mean) * (x(i, k) - mean);
    const double spread = std::sqrt(square / static_cast<double>(x.rows));
    result.push_back(spread > 0 && std::isfinite(spread) ? 1 / spread : 0);
  }
  return result;
}

}  // namespace

std::vector<Index> choose_inducing(ConstMatrix x, Index most, const Stream& stream) {
  std::vector<Index> chosen;
  if (x.rows == 0 || most <= 0) return chosen;
  const std::vector<double> inverse = inverse_spreads(x);
  std::vector<double> nearest(at(x.rows), std::numeric_limits<double>::infinity());
  chosen.push_back(static_cast<Index>(stream.below(static_cast<std::uint64_t>(x.rows), 0, 0)));
  while (static_cast<Index>(chosen.size()) < std::min(most, x.rows)) {
    check_stop();
    const Index last = chosen.back();
    parallel_for((x.rows + chunk_rows - 1) / chunk_rows, [&](Index task) {
      for (Index i = task * chunk_rows; i < std::min(x.rows, (task + 1) * chunk_rows); ++i) {
        double square = 0;
        for (Index k = 0; k < x.cols; ++k) {
          const double t = (x(i, k) - x(last, k)) * inverse[at(k)];
          square += t * t;
        }
        nearest[at(i)] = std::min(nearest[at(i)], square);
      }
    });
    double total = 0;
    for (const double square : nearest) total += square;
    if (!(total > 0)) break;
    chosen.push_back(draw_by_weight(nearest, total, stream.uniform(static_cast<std::uint64_t>(chosen.size()), 1)));
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace mercer
