#include "gp/samples.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/fail.hpp"

namespace mercer {
namespace {

using Rows = std::vector<std::pair<double, double>>;

Rows finite_rows(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size()) {
    fail_argument("a spectrum needs as many targets as inputs, got " + std::to_string(y.size()) + " and " +
                  std::to_string(x.size()));
  }
  Rows rows;
  rows.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x[i]) && std::isfinite(y[i])) rows.emplace_back(x[i], y[i]);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// Takes the mean off y (twice, so that an offset of 1e9 leaves no rounding error of its own) and returns the variance.
double centre(Rows& rows) {
  const auto count = static_cast<double>(rows.size());
  for (int pass = 0; pass < 2; ++pass) {
    double mean = 0;
    for (const auto& row : rows) mean += row.second / count;
    for (auto& row : rows) row.second -= mean;
  }
  double variance = 0;
  for (const auto& row : rows) variance += row.second * row.second / count;
  return variance;
}

bool evenly_spaced(const std::vector<double>& place) {
  const double step = place.back() / static_cast<double>(place.size() - 1);
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (std::abs(place[i] - static_cast<double>(i) * step) > 1e-3 * step) return false;
  }
  return true;
}

}  // namespace

Samples ordered_samples(std::span<const double> x, std::span<const double> y) {
  Rows rows = finite_rows(x, y);
  Samples samples;
  if (rows.empty()) return samples;
  double largest = 0;
  for (const auto& row : rows) largest = std::max(largest, std::abs(row.second));
  samples.variance = centre(rows);
  if (!std::isfinite(samples.variance))
    fail_argument("the variance of the target overflows: divide the target by a power of ten");
  if (!std::isfinite(rows.back().first - rows.front().first)) {
    fail_argument("the range of an input overflows: divide the input by a power of ten");
  }
  // Equal values whose mean is not a floating-point number differ from it by rounding alone: that is no variance.
  constexpr double rounding = 1e-15;
  if (std::sqrt(samples.variance) <= rounding * largest) samples.variance = 0;
  const auto count = static_cast<double>(rows.size());
  const double first = rows.front().first;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i;
    double mean = 0;
    while (end < rows.size() && rows[end].first == rows[i].first) mean += rows[end++].second;
    mean /= static_cast<double>(end - i);
    samples.place.push_back(rows[i].first - first);
    samples.value.push_back(samples.variance > 0 ? mean : 0);
    samples.weight.push_back(static_cast<double>(end - i) / count);
    for (; i < end; ++i) samples.scatter += (rows[i].second - mean) * (rows[i].second - mean) / count;
  }
  samples.scatter = std::min(samples.scatter, samples.variance);
  if (samples.size() < 2) return samples;
  const auto places = static_cast<double>(samples.size());
  samples.length = samples.place.back() * (places / (places - 1));
  const auto [least, most] = std::minmax_element(samples.weight.begin(), samples.weight.end());
  samples.even = *least == *most && evenly_spaced(samples.place);
  return samples;
}

Line fit_line(const Samples& samples) {
  const std::size_t n = samples.place.size();
  Line line;
  for (std::size_t i = 0; i < n; ++i) line.centre += samples.weight[i] * samples.place[i];
  double square = 0;
  double product = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double away = (samples.place[i] - line.centre) / samples.length;
    square += samples.weight[i] * away * away;
    product += samples.weight[i] * away * samples.value[i];
  }
  if (!(square > 0)) return line;
  line.slope = product / square / samples.length;
  line.variance = product / square * product;
  return line;
}

}  // namespace mercer
