#include "solve/sampled_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backend/backend.hpp"
#include "base/fail.hpp"

namespace mercer {
namespace {
std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// a += b, column k of it times factor[k].
void add_scaled(const Matrix<double>& b, const std::vector<double>& factor, Matrix<double>& a) {
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index k = 0; k < a.cols(); ++k) a(i, k) += factor[at(k)] * b(i, k);
  }
}
}  // namespace

void SampledErrors::scale(const std::vector<double>& factor) {
  if (std::ranges::all_of(factor, [](double f) { return f == 1; })) return;
  for (Matrix<double>& g : groups) {
    for (Index i = 0; i < g.rows(); ++i) {
      for (Index k = 0; k < g.cols(); ++k) g(i, k) *= factor[at(k)];
    }
  }
}

void SampledErrors::add(SampledErrors&& other, const std::vector<double>& step) {
  if (groups.empty()) {
    *this = std::move(other);
    scale(step);
    return;
  }
  if (groups.size() != other.groups.size()) fail_internal("errors of different samples cannot be added");
  caution = std::max(caution, other.caution);
  for (std::size_t i = 0; i < groups.size(); ++i) add_scaled(other.groups[i], step, groups[i]);
}

std::vector<double> SampledErrors::norms() const {
  return estimate([](const Matrix<double>& e) -> const Matrix<double>& { return e; });
}

std::vector<double> SampledErrors::norms(const BlockOperator& inverse) const {
  return estimate([&](const Matrix<double>& e) {
    Matrix<double> z(e.rows(), e.cols());
    inverse(e, z);
    return z;
  });
}

/// `image` is linear: that of the sum is the sum of those of the groups.
template <class Image>
std::vector<double> SampledErrors::estimate(const Image& image) const {
  if (groups.empty()) fail_internal("there is no sample of the errors");
  const Index columns = groups.front().cols();
  const std::vector<double> ones(at(columns), 1.0);
  Matrix<double> sum(groups.front().rows(), columns);
  Matrix<double> sum_image(sum.rows(), columns);
  std::vector<double> squares(at(columns), 0.0);  // Σ ‖g‖²
  for (const Matrix<double>& g : groups) {
    const Matrix<double>& z = image(g);
    const std::vector<double> square = column_dots(g, z);
    for (std::size_t k = 0; k < square.size(); ++k) squares[k] += square[k];
    add_scaled(g, ones, sum);
    add_scaled(z, ones, sum_image);
  }
  const std::vector<double> sums = column_dots(sum, sum_image);
  const auto count = static_cast<double>(groups.size());
  std::vector<double> norms(at(columns));
  for (std::size_t k = 0; k < norms.size(); ++k) {
    const double scatter = count > 1 ? std::max(0.0, (squares[k] - sums[k] / count) * count / (count - 1)) : 0.0;
    const double square = alike * alike * std::max(0.0, sums[k] - scatter) + by_chance * scatter;
    const bool known = std::isfinite(square) && std::isfinite(sums[k]);
    norms[k] = known ? caution * std::sqrt(square) : std::numeric_limits<double>::infinity();
  }
  return norms;
}

}  // namespace mercer
