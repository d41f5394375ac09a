#include "solve/sampled_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {
std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

void SampledErrors::scale(const std::vector<double>& factor) {
  if (std::ranges::all_of(factor, [](double f) { return f == 1; })) return;
  parallel_rows(groups.rows(), groups.cols(), [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) {
      for (Index g = 0; g < groups.cols(); g += columns) {
        for (Index k = 0; k < columns; ++k) groups(i, g + k) *= factor[at(k)];
      }
    }
  });
}

void SampledErrors::add(SampledErrors&& other, const std::vector<double>& step) {
  other.scale(step);
  if (groups.empty()) {
    *this = std::move(other);
    return;
  }
  if (groups.rows() != other.groups.rows() || groups.cols() != other.groups.cols())
    fail_internal("errors of different samples cannot be added");
  caution = std::max(caution, other.caution);
  parallel_rows(groups.rows(), groups.cols(), [&](Index first, Index end) {
    for (Index i = first * groups.cols(); i < end * groups.cols(); ++i) groups.data()[i] += other.groups.data()[i];
  });
}

std::vector<double> SampledErrors::norms() const {
  return estimate(groups, groups);
}

SampledErrors::Weighed SampledErrors::weigh(const BlockOperator& inverse) const {
  Matrix<double> image(groups.rows(), groups.cols());
  inverse(groups, image);
  return {estimate(groups, image), estimate(image, image)};
}

std::vector<double> SampledErrors::estimate(ConstMatrix u, ConstMatrix v) const {
  if (groups.empty() || columns == 0) fail_internal("there is no sample of the errors");
  const auto sum_groups = [&](ConstMatrix a) {
    Matrix<double> sum(a.rows, columns);
    parallel_rows(a.rows, a.cols, [&](Index first, Index end) {
      for (Index i = first; i < end; ++i) {
        for (Index g = 0; g < a.cols; g += columns) {
          for (Index k = 0; k < columns; ++k) sum(i, k) += a(i, g + k);
        }
      }
    });
    return sum;
  };
  const std::vector<double> each = column_dots(u, v);
  const Matrix<double> sum = sum_groups(u);
  const std::vector<double> sums = u.data == v.data ? column_dots(sum, sum) : column_dots(sum, sum_groups(v));
  const Index group_count = groups.cols() / columns;
  const auto count = static_cast<double>(group_count);
  std::vector<double> norms(at(columns));
  for (std::size_t k = 0; k < norms.size(); ++k) {
    double squares = 0;  // Σ ‖g‖²
    for (std::size_t g = k; g < each.size(); g += norms.size()) squares += each[g];
    const double scatter = count > 1 ? std::max(0.0, (squares - sums[k] / count) * count / (count - 1)) : 0.0;
    const double square = alike * alike * std::max(0.0, sums[k] - scatter) + by_chance * scatter;
    const bool known = std::isfinite(square) && std::isfinite(sums[k]);
    norms[k] = known ? caution * std::sqrt(square) : std::numeric_limits<double>::infinity();
  }
  return norms;
}

}  // namespace mercer
