#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/backend.hpp"
#include "kernel/tile.hpp"

namespace mercer {
namespace {

constexpr Index direct_inputs = 16;
constexpr double cancelled = 1e-2;

/// (rows - centre)·inverse_scale.
Matrix<double> centred(ConstMatrix rows, const std::vector<double>& centre, const std::vector<double>& inverse_scale) {
  Matrix<double> result(rows.rows, rows.cols);
  for (Index i = 0; i < rows.rows; ++i) {
    for (Index k = 0; k < rows.cols; ++k) {
      const auto at = static_cast<std::size_t>(k);
      result(i, k) = (rows(i, k) - centre[at]) * inverse_scale[at];
    }
  }
  return result;
}

std::vector<double> squared_norms(const Matrix<double>& rows) {
  std::vector<double> result(static_cast<std::size_t>(rows.rows()));
  for (Index i = 0; i < rows.rows(); ++i) {
    const auto row = rows.row(i);
    result[static_cast<std::size_t>(i)] = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  }
  return result;
}

std::vector<double> column_means(ConstMatrix rows) {
  std::vector<double> mean(static_cast<std::size_t>(rows.cols));
  for (Index i = 0; i < rows.rows; ++i) {
    for (Index k = 0; k < rows.cols; ++k) mean[static_cast<std::size_t>(k)] += rows(i, k) / static_cast<double>(rows.rows);
  }
  return mean;
}

double direct(std::span<const double> x, std::span<const double> z, const std::vector<double>& inverse_scale) {
  double s = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double t = (x[k] - z[k]) * inverse_scale[k];
    s += t * t;
  }
  return s;
}

}  // namespace

SquaredDistances::SquaredDistances(const LengthScale& scale, ConstMatrix x, ConstMatrix z)
    : x_(x), z_(z), inverse_scale_(static_cast<std::size_t>(x.cols)) {
  for (Index k = 0; k < x.cols; ++k) inverse_scale_[static_cast<std::size_t>(k)] = 1 / scale[k];
  if (x.cols <= direct_inputs) return;
  const std::vector<double> centre = column_means(x);
  scaled_x_ = centred(x, centre, inverse_scale_);
  scaled_z_ = centred(z, centre, inverse_scale_);
  norm_x_ = squared_norms(scaled_x_);
  norm_z_ = squared_norms(scaled_z_);
}

void SquaredDistances::fill(Index first_row, Index first_col, MutMatrix tile) const {
  if (x_.cols <= direct_inputs) {
    const Index inputs = x_.cols;
    std::vector<double> columns(
        static_cast<std::size_t>(inputs * tile.cols));  // z transposed, so that the inner loop is dense
    for (Index j = 0; j < tile.cols; ++j) {
      for (Index k = 0; k < inputs; ++k) columns[static_cast<std::size_t>(k * tile.cols + j)] = z_(first_col + j, k);
    }
    for (Index i = 0; i < tile.rows; ++i) {
      squared_distances(columns.data(), inputs, tile.cols, x_.row(first_row + i).data(), inverse_scale_.data(),
                        tile.data + i * tile.stride);
    }
    return;
  }
  gemm<double>(false, true, -2.0, scaled_x_.view().row_range(first_row, tile.rows),
               scaled_z_.view().row_range(first_col, tile.cols), 0.0, tile);
  for (Index i = 0; i < tile.rows; ++i) {
    const double norm = norm_x_[static_cast<std::size_t>(first_row + i)];
    const double* norms = norm_z_.data() + first_col;
    double* out = tile.data + i * tile.stride;
    if (add_norms(norms, tile.cols, norm, cancelled, out)) continue;
    for (Index j = 0; j < tile.cols; ++j) {
      const double sum = norm + norms[j];
      if (!(out[j] >= cancelled * sum && std::isfinite(sum)))
        out[j] = direct(x_.row(first_row + i), z_.row(first_col + j), inverse_scale_);
    }
  }
}

}  // namespace mercer
