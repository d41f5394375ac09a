#include "gp/contraction.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "gp/tile_gradient.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/tile.hpp"

namespace mercer {
namespace {

constexpr Index tile_edge = 128;
constexpr Index chunk_rows = 256;

Index tile_count(Index size) {
  return (size + tile_edge - 1) / tile_edge;
}

void check_weights(const Kernel& kernel, ConstMatrix x, ConstMatrix z, ConstMatrix weights) {
  check_gram(kernel, x, z);
  if (weights.rows != x.rows || weights.cols != z.rows) fail_internal("weights of another shape than the Gram matrix");
}

/// The sum of the rows, in order.
std::vector<double> sum_rows(const Matrix<double>& parts) {
  std::vector<double> sum(static_cast<std::size_t>(parts.cols()), 0.0);
  for (Index i = 0; i < parts.rows(); ++i) {
    for (Index j = 0; j < parts.cols(); ++j) sum[static_cast<std::size_t>(j)] += parts(i, j);
  }
  return sum;
}

/// A tile of a symmetric matrix of which the lower triangle is given, folded: entries under the diagonal twice, none above.
void fold(ConstMatrix weights, bool on_diagonal, MutMatrix tile) {
  for (Index i = 0; i < tile.rows; ++i) {
    const Index below = on_diagonal ? i : tile.cols;
    for (Index j = 0; j < below; ++j) tile(i, j) = 2 * weights(i, j);
    if (!on_diagonal) continue;
    tile(i, i) = weights(i, i);
    std::fill_n(&tile(i, i) + 1, tile.cols - i - 1, 0.0);
  }
}

}  // namespace

std::vector<double> contract_parameter_gradient(const Kernel& kernel, ConstMatrix x, ConstMatrix z, ConstMatrix weights) {
  check_weights(kernel, x, z, weights);
  const TileGradient gradient(kernel, x, z);
  const bool symmetric = same_rows(x, z);
  const Index tiles = tile_count(z.rows);
  Matrix<double> parts(tile_count(x.rows) * tiles, gradient.size());
  // for_each_tile visits tiles on and above the diagonal: read as (column, row), those are the ones under it.
  for_each_tile(z.rows, x.rows, symmetric, tile_edge, [&](Index col, Index row, Index cols, Index rows) {
    const ConstMatrix part = weights.row_range(row, rows).col_range(col, cols);
    const MutPoint sums = parts.row(row / tile_edge * tiles + col / tile_edge);
    if (!symmetric) {
      gradient.contract(row, col, part, sums, {});
      return;
    }
    Matrix<double> folded(rows, cols);
    fold(part, row == col, folded);
    gradient.contract(row, col, folded, sums, {});
  });
  return sum_rows(parts);
}

Contraction contract_gradient(const Kernel& kernel, ConstMatrix x, ConstMatrix z, ConstMatrix weights) {
  check_weights(kernel, x, z, weights);
  const TileGradient gradient(kernel, x, z);
  const Index tiles = tile_count(z.rows);
  Matrix<double> parts(tile_count(x.rows) * tiles, gradient.size());
  Matrix<double> inputs(tiles, x.rows * x.cols);  // a row for each tile of columns
  for_each_tile(x.rows, z.rows, false, tile_edge, [&](Index row, Index col, Index rows, Index cols) {
    const MutMatrix slopes(&inputs(col / tile_edge, row * x.cols), rows, x.cols);
    gradient.contract(row, col, weights.row_range(row, rows).col_range(col, cols),
                      parts.row(row / tile_edge * tiles + col / tile_edge), slopes);
  });
  Contraction result{sum_rows(parts), Matrix<double>(x.rows, x.cols)};
  std::ranges::copy(sum_rows(inputs), result.inputs.data());
  return result;
}

std::vector<double> diagonal_parameter_gradient(const Kernel& kernel, ConstMatrix x) {
  check_gram(kernel, x, x);
  const auto size = static_cast<Index>(parameters(kernel).size());
  const bool alike = is_shift_invariant(kernel);
  const Index rows = alike ? std::min<Index>(x.rows, 1) : x.rows;
  Matrix<double> parts((rows + chunk_rows - 1) / chunk_rows, size);
  parallel_for(parts.rows(), [&](Index task) {
    std::vector<double> part(static_cast<std::size_t>(size));
    for (Index i = task * chunk_rows; i < std::min(rows, (task + 1) * chunk_rows); ++i) {
      parameter_gradient(kernel, x.row(i), x.row(i), part);
      for (Index p = 0; p < size; ++p) parts(task, p) += part[static_cast<std::size_t>(p)];
    }
  });
  std::vector<double> sum = sum_rows(parts);
  if (alike) {
    for (double& v : sum) v *= static_cast<double>(x.rows);
  }
  return sum;
}

double diagonal_sum(const Kernel& kernel, ConstMatrix x) {
  if (x.rows == 0) return 0;
  if (is_shift_invariant(kernel)) return static_cast<double>(x.rows) * value(kernel, x.row(0), x.row(0));
  double sum = 0;
  for (Index i = 0; i < x.rows; ++i) sum += value(kernel, x.row(i), x.row(i));
  return sum;
}

}  // namespace mercer
