#include "solve/sampled_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {
std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

std::vector<ConstMatrix> views(const std::vector<Matrix<double>>& groups) {
  return {groups.begin(), groups.end()};
}

}  // namespace

void SampledErrors::scale(const std::vector<double>& factor) {
  if (std::ranges::all_of(factor, [](double f) { return f == 1; })) return;
  parallel_rows(size(), columns() * std::ssize(groups), [&](Index first, Index end) {
    for (Matrix<double>& group : groups) {
      for (Index i = first; i < end; ++i) {
        for (Index k = 0; k < group.cols(); ++k) group(i, k) *= factor[at(k)];
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
  if (groups.size() != other.groups.size() || size() != other.size() || columns() != other.columns())
    fail_internal("errors of different samples cannot be added");
  caution = std::max(caution, other.caution);
  parallel_rows(size(), columns() * std::ssize(groups), [&](Index first, Index end) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (Index i = first * columns(); i < end * columns(); ++i) groups[g].data()[i] += other.groups[g].data()[i];
    }
  });
}

std::vector<double> SampledErrors::norms() const {
  return estimate(views(groups), views(groups));
}

SampledErrors::Weighed SampledErrors::weigh(const BlockOperator& inverse) const {
  Matrix<double> beside(size(), columns() * std::ssize(groups));
  parallel_rows(size(), beside.cols(), [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) {
      auto out = beside.row(i).begin();
      for (const Matrix<double>& group : groups) out = std::ranges::copy(group.row(i), out).out;
    }
  });
  Matrix<double> image(beside.rows(), beside.cols());
  inverse(beside, image);
  std::vector<ConstMatrix> images;
  for (Index k = 0; k < image.cols(); k += columns()) images.push_back(image.view().col_range(k, columns()));
  return {estimate(views(groups), images), estimate(images, images)};
}

std::vector<double> SampledErrors::estimate(const std::vector<ConstMatrix>& u, const std::vector<ConstMatrix>& v) const {
  if (groups.empty() || columns() == 0) fail_internal("there is no sample of the errors");
  constexpr Index stretch = 256;
  const Index stretches = (size() + stretch - 1) / stretch;
  Matrix<double> squares(stretches, columns());  // Σ_g u_gᵀv_g
  Matrix<double> sums(stretches, columns());     // (Σ_g u_g)ᵀ(Σ_g v_g)
  parallel_rows(stretches, stretch * columns() * std::ssize(groups), [&](Index first, Index end) {
    std::vector<double> u_sum(at(columns()));
    std::vector<double> v_sum(at(columns()));
    for (Index i = first * stretch; i < std::min(size(), end * stretch); ++i) {
      std::ranges::fill(u_sum, 0.0);
      std::ranges::fill(v_sum, 0.0);
      const std::span<double> square = squares.row(i / stretch);
      for (std::size_t g = 0; g < u.size(); ++g) {
        for (std::size_t k = 0; k < u_sum.size(); ++k) {
          const double left = u[g].row(i)[k];
          const double right = v[g].row(i)[k];
          square[k] += left * right;
          u_sum[k] += left;
          v_sum[k] += right;
        }
      }
      for (std::size_t k = 0; k < u_sum.size(); ++k) sums.row(i / stretch)[k] += u_sum[k] * v_sum[k];
    }
  });
  const auto count = static_cast<double>(groups.size());
  std::vector<double> norms(at(columns()));
  for (Index k = 0; k < columns(); ++k) {
    double squared = 0;
    double sum = 0;
    for (Index part = 0; part < stretches; ++part) {
      squared += squares(part, k);
      sum += sums(part, k);
    }
    const double scatter = count > 1 ? std::max(0.0, (squared - sum / count) * count / (count - 1)) : 0.0;
    const double square = alike * alike * std::max(0.0, sum - scatter) + by_chance * scatter;
    const bool known = std::isfinite(square) && std::isfinite(sum);
    norms[at(k)] = known ? caution * std::sqrt(square) : std::numeric_limits<double>::infinity();
  }
  return norms;
}

}  // namespace mercer
