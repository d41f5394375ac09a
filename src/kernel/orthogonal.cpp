#include "kernel/orthogonal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "kernel/spectral_quantile.hpp"

// This file is compiled with -ffp-contract=off: every rounding is the same on every machine.
//
// G. W. Stewart, SIAM J. Numer. Anal. 17 (1980): with x_0, x_1, … Gaussian vectors of length d, d-1, … and H_k the
// reflection that turns x_k into a multiple of its first axis, the columns of the Q factor of a Gaussian matrix are
//     q_j = H_0 H_1 … H_{j-1} (0, …, 0, x_j/‖x_j‖),
// exactly Haar, orthogonal to rounding without a second pass, at a third of the cost of Gram-Schmidt done twice; and the
// first rows of a block need neither the later ones nor their number.

namespace mercer {
namespace {

constexpr Index lanes = 8;          // accumulators of a sum: fixed, so that vector units of any width give the same bits
constexpr Index tile_rows = 32;     // rows a task turns together: a tile of 784 inputs stays in the second-level cache
constexpr Index group_rows = 2048;  // reflectors held at once, unless one block is longer

double dot(const double* a, const double* b, Index n) {
  std::array<double, lanes> sum{};
  Index i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (Index l = 0; l < lanes; ++l) sum[static_cast<std::size_t>(l)] += a[i + l] * b[i + l];
  }
  for (Index l = 0; i < n; ++i, ++l) sum[static_cast<std::size_t>(l)] += a[i] * b[i];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/// y -= a·x.
void subtract(double a, const double* x, double* y, Index n) {
  for (Index i = 0; i < n; ++i) y[i] -= a * x[i];
}

/// Row k of its block: direction = (0, …, 0, x/‖x‖), and the reflector v of H = I - v vᵀ,
/// v = (x ± ‖x‖e_k)/√(‖x‖(‖x‖ + |x_k|)).
void start_row(const Stream& normals, Index row, Index k, Index d, double* direction, double* reflector) {
  for (Index i = k; i < d; ++i) {
    reflector[i] = normals.normal(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(i));
  }
  const double norm = std::sqrt(dot(reflector + k, reflector + k, d - k));
  for (Index i = k; i < d; ++i) direction[i] = reflector[i] / norm;
  const double scale = std::sqrt(norm * (norm + std::abs(reflector[k])));
  reflector[k] += reflector[k] < 0 ? -norm : norm;
  for (Index i = k; i < d; ++i) reflector[i] /= scale;
}

/// Applies H_{j-1}, …, H_0 to rows j = first … last - 1 of one block.
void turn_rows(ConstMatrix reflectors, MutMatrix directions, Index first, Index last) {
  const Index d = directions.cols;
  for (Index k = last - 2; k >= 0; --k) {
    const double* v = &reflectors(k, k);
    for (Index j = std::max(first, k + 1); j < last; ++j) {
      double* q = &directions(j, k);
      subtract(dot(v, q, d - k), v, q, d - k);
    }
  }
}

/// Rows begin … end - 1 of consecutive blocks, block by block.
void turn_blocks(ConstMatrix reflectors, MutMatrix directions, Index begin, Index end) {
  const Index d = directions.cols;
  while (begin < end) {
    const Index block = begin / d * d;
    const Index stop = std::min(end, block + d);
    turn_rows(reflectors.row_range(block, stop - block), directions.row_range(block, stop - block), begin - block,
              stop - block);
    begin = stop;
  }
}

}  // namespace

Matrix<double> orthogonal_gaussian(Index count, Index d, const Stream& stream) {
  Matrix<double> result(count, d);
  if (result.empty()) return result;
  const Stream normals = stream.child("direction");
  const Stream radii = stream.child("length");
  const Index group = std::max<Index>(1, group_rows / d) * d;
  Matrix<double> reflectors(std::min(group, count), d);
  const auto size = static_cast<double>(d);
  for (Index first = 0; first < count; first += group) {
    const Index rows = std::min(group, count - first);
    const MutMatrix directions = result.view().row_range(first, rows);
    const Index tiles = (rows + tile_rows - 1) / tile_rows;
    parallel_for(tiles, [&](Index t) {
      check_stop();
      for (Index j = t * tile_rows; j < std::min(rows, (t + 1) * tile_rows); ++j) {
        start_row(normals, first + j, j % d, d, &directions(j, 0), &reflectors(j, 0));
      }
    });
    parallel_for(tiles, [&](Index t) {
      check_stop();
      const Index end = std::min(rows, (t + 1) * tile_rows);
      turn_blocks(reflectors, directions, t * tile_rows, end);
      for (Index j = t * tile_rows; j < end; ++j) {
        // chi_d: its square is d times a Gamma(d/2) of mean 1.
        const double length =
            std::sqrt(size * gamma_quantile(size / 2, radii.uniform(static_cast<std::uint64_t>(first + j), 0)));
        for (double& value : directions.row(j)) value *= length;
      }
    });
  }
  return result;
}

}  // namespace mercer
