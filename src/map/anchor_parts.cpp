// From a drawn sketch to the numbers that a map keeps: S K Sᵀ and its inverse square root.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "kernel/tile.hpp"
#include "map/anchor_map.hpp"

namespace mercer {
namespace {

/// Rows [first, first + h.rows) of the upper triangle of K with the diagonal halved, H: K = H + Hᵀ. Left of `first`: 0.
void half_rows(const TileKernel& kernel, Index first, MutMatrix h) {
  constexpr Index width = 512;
  for (Index i = 0; i < h.rows; ++i) std::fill_n(h.data + i * h.stride, first, 0.0);
  for (Index col = first; col < h.cols; col += width) {
    kernel.fill(first, col, h.col_range(col, std::min(width, h.cols - col)));
  }
  for (Index i = 0; i < h.rows; ++i) {
    std::fill_n(h.data + i * h.stride + first, i, 0.0);
    h(i, first + i) /= 2;
  }
}

/// V = U_r D_r^{-1/2}, largest eigenvalue first. One column of zeros when M is 0: the fit is then its intercept.
Matrix<double> inverse_root(ConstMatrix m) {
  const Eigen e = eigh(m);
  const double cut = static_cast<double>(m.rows) * std::numeric_limits<double>::epsilon() * std::max(0.0, e.values.back());
  const auto first = std::ranges::find_if(e.values, [&](double value) { return value > cut; });
  const auto kept = static_cast<Index>(e.values.end() - first);
  Matrix<double> v(m.rows, std::max<Index>(1, kept));
  for (Index k = 0; k < kept; ++k) {
    const Index from = m.rows - 1 - k;
    const double scale = 1 / std::sqrt(e.values[static_cast<std::size_t>(from)]);
    for (Index i = 0; i < m.rows; ++i) v(i, k) = scale * e.vectors(from, i);
  }
  return v;
}

/// S Hᵀ (s × s') for a sparse S: tiles of K on and below the diagonal, used while they are in the cache.
Matrix<double> mixed_half(const TileKernel& kernel, Index count, const SparseSketch& sketch) {
  constexpr Index edge = 128;
  Matrix<double> result(sketch.size, count);
  parallel_for((count + edge - 1) / edge, [&](Index task) {
    check_stop();
    const Index first = task * edge;
    const Index cols = std::min(edge, count - first);
    const MutMatrix mixed = result.view().col_range(first, cols);
    thread_local Matrix<double> values(edge, edge);
    for (Index row = first; row < count; row += edge) {
      const MutMatrix tile(values.data(), std::min(edge, count - row), cols);
      kernel.fill(row, first, tile);
      for (Index i = 0; row == first && i < cols; ++i) {
        tile(i, i) /= 2;
        std::fill_n(&tile(i, 0) + i + 1, cols - i - 1, 0.0);
      }
      add_mixed(sketch, row, tile, mixed);
    }
  });
  return result;
}

/// S Hᵀ for a dense S, by whole rows of H.
Matrix<double> transformed_half(const TileKernel& kernel, Index count, const Sketch& sketch) {
  const Index rows = std::clamp<Index>((Index{1} << 21) / count, 1, 64);
  Matrix<double> half(count, sketch.size());  // H Sᵀ
  parallel_for((count + rows - 1) / rows, [&](Index task) {
    check_stop();
    const Index first = task * rows;
    Matrix<double> h(std::min(rows, count - first), count);
    half_rows(kernel, first, h);
    apply_right(sketch, h, half.view().row_range(first, h.rows()));
  });
  return transposed(half);
}

}  // namespace

Matrix<double> sketched_gram(const Kernel& kernel, ConstMatrix anchors, const Sketch& sketch) {
  const Index size = sketch.size();
  const TileKernel tiles(kernel, anchors, anchors);
  const auto* sparse = std::get_if<SparseSketch>(&sketch.form);
  const Matrix<double> turned =
      sparse != nullptr ? mixed_half(tiles, anchors.rows, *sparse) : transformed_half(tiles, anchors.rows, sketch);
  Matrix<double> product(size, size);  // (S H Sᵀ)ᵀ
  parallel_for(size, [&](Index r) { apply_right(sketch, turned.view().row_range(r, 1), product.view().row_range(r, 1)); });
  Matrix<double> result(size, size);
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j < size; ++j) result(i, j) = product(i, j) + product(j, i);
  }
  return result;
}

AnchorParts make_parts(const Kernel& kernel, Matrix<double> anchors, const Sketch& sketch, SketchLaw law) {
  const Matrix<double> m = sketched_gram(kernel, anchors, sketch);
  if (!std::ranges::all_of(m.values(), [](double v) { return std::isfinite(v); }))
    fail_argument("the kernel overflows on these rows; standardise the inputs or take a lower degree");
  AnchorParts parts;
  parts.law = law;
  parts.projection = inverse_root(m);
  const auto* sparse = std::get_if<SparseSketch>(&sketch.form);
  // With many anchors S_SG is far cheaper to apply than the dense s' × r product that holds it.
  if (sparse != nullptr && sparse->columns() > sparse->size) {
    parts.mixing = *sparse;
  } else {
    parts.projection = apply_transposed(sketch, parts.projection);
  }
  parts.anchors = std::move(anchors);
  return parts;
}

}  // namespace mercer
