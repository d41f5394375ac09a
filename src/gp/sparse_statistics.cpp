#include <algorithm>
#include <cmath>
#include <numbers>

#include "backend/backend.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "gp/sparse_likelihood.hpp"

namespace mercer {
namespace {

constexpr Index block_rows = 256;   // features of a block stay in the second cache
constexpr Index chunk_least = 500;  // rows that are worth partial sums of their own
constexpr Index most_chunks = 8;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

using Sums = SparseWorkspace::Sums;

/// Of this shape and 0, in the memory it has where that will do.
void clear(Matrix<double>& m, Index rows, Index cols) {
  if (m.rows() != rows || m.cols() != cols) {
    m = Matrix<double>(rows, cols);
  } else {
    std::ranges::fill(m.values(), 0.0);
  }
}

void shape(Matrix<double>& m, Index rows, Index cols) {
  if (m.rows() != rows || m.cols() != cols) m = Matrix<double>(rows, cols);
}

/// rows × (p(1 + d) + 1 + d): r, x_1∘r, …, x_d∘r, 1, x.
void fill_companions(ConstMatrix x, ConstMatrix r, MutMatrix out) {
  for (Index i = 0; i < x.rows; ++i) {
    double* next = &out(i, 0);
    next = std::copy_n(&r(i, 0), r.cols, next);
    for (Index k = 0; k < x.cols; ++k) {
      for (Index a = 0; a < r.cols; ++a) *next++ = x(i, k) * r(i, a);
    }
    *next++ = 1;
    std::copy_n(&x(i, 0), x.cols, next);
  }
}

/// Weighted sums are Φᵀdiag(x_k - least_k)Φ: weights that are not negative make it a syrk.
void accumulate(ConstMatrix x, ConstMatrix r, const Matrix<double>& turns, std::span<const double> least, Sums& sums) {
  for (Index first = 0; first < x.rows; first += block_rows) {
    check_stop();
    const Index rows = std::min(block_rows, x.rows - first);
    const ConstMatrix block = x.row_range(first, rows);
    const MutMatrix features = sums.features.view().row_range(0, rows);
    unit_features(block, turns, features);
    fill_companions(block, r.row_range(first, rows), sums.companions.view().row_range(0, rows));
    accumulate_gram<double>(features, sums.gram);
    gemm<double>(true, false, 1.0, features, sums.companions.view().row_range(0, rows), 1.0, sums.cross);
    for (Index k = 0; k < static_cast<Index>(sums.weighted.size()); ++k) {
      for (Index i = 0; i < rows; ++i) {
        const double root = std::sqrt(block(i, k) - least[at(k)]);
        const std::span<const double> from = features.row(i);
        std::ranges::transform(from, sums.tilted.row(i).begin(), [&](double f) { return root * f; });
      }
      accumulate_gram<double>(sums.tilted.view().row_range(0, rows), sums.weighted[at(k)]);
    }
  }
}

void add(const Matrix<double>& from, Matrix<double>& to) {
  std::ranges::transform(from.values(), to.values(), to.values().begin(), std::plus<>());
}

/// Adds the chunks in order and undoes the shift of the weights: Φᵀdiag(x_k)Φ = Φᵀdiag(x_k - least_k)Φ + least_k ΦᵀΦ.
void finish(std::span<Sums> chunks, std::span<const double> least, SparseStatistics& statistics) {
  Sums& total = chunks[0];
  for (const Sums& chunk : chunks.subspan(1)) {
    add(chunk.gram, total.gram);
    add(chunk.cross, total.cross);
    for (std::size_t k = 0; k < total.weighted.size(); ++k) add(chunk.weighted[k], total.weighted[k]);
  }
  for (std::size_t k = 0; k < total.weighted.size(); ++k) {
    if (least[k] != 0) {
      std::ranges::transform(total.weighted[k].values(), total.gram.values(), total.weighted[k].values().begin(),
                             [&](double a, double g) { return a + least[k] * g; });
    }
    mirror_lower(total.weighted[k]);
  }
  mirror_lower(total.gram);
  std::swap(statistics.gram, total.gram);
  std::swap(statistics.weighted, total.weighted);
  std::swap(statistics.cross, total.cross);
}

std::vector<double> column_minima(ConstMatrix x) {
  std::vector<double> least(at(x.cols), 0.0);
  for (Index k = 0; k < x.cols; ++k) {
    for (Index i = 0; i < x.rows; ++i) least[at(k)] = i == 0 ? x(i, k) : std::min(least[at(k)], x(i, k));
  }
  return least;
}

}  // namespace

void unit_features(ConstMatrix x, const Matrix<double>& frequencies, MutMatrix phi) {
  const Index m = frequencies.rows();
  Matrix<double> phase(x.rows, m);
  gemm<double>(false, true, 2 * std::numbers::pi, x, frequencies, 0.0, phase);
  for (Index i = 0; i < x.rows; ++i) cos_sin<double>(&phase(i, 0), m, 1.0, &phi(i, 0), &phi(i, m));
}

Matrix<double> sparse_features(ConstMatrix x, const SparseProcess& process) {
  Matrix<double> phi(x.rows, process.columns());
  unit_features(x, process.frequencies, phi);
  const Index m = process.frequencies.rows();
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < m; ++j) {
      phi(i, j) *= process.amplitudes[at(j)];
      phi(i, m + j) *= process.amplitudes[at(j)];
    }
  }
  return phi;
}

void residual_products(ConstMatrix x, ConstMatrix residuals, SparseStatistics& statistics) {
  statistics.rows = x.rows;
  statistics.residual_gram = Matrix<double>(residuals.cols, residuals.cols);
  gemm<double>(true, false, 1.0, residuals, residuals, 0.0, statistics.residual_gram);
  statistics.mean_cross = Matrix<double>(1 + x.cols, residuals.cols);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index a = 0; a < residuals.cols; ++a) {
      statistics.mean_cross(0, a) += residuals(i, a);
      for (Index k = 0; k < x.cols; ++k) statistics.mean_cross(1 + k, a) += x(i, k) * residuals(i, a);
    }
  }
}

void sparse_statistics(ConstMatrix x, ConstMatrix residuals, const std::vector<Matrix<double>>& frequencies, bool gradient,
                       Index memory_bytes, SparseWorkspace& workspace) {
  const auto draws = static_cast<Index>(frequencies.size());
  const Index columns = 2 * frequencies.front().rows();
  const Index d = x.cols;
  const Index tables = gradient ? 1 + d : 1;
  const Index companions = residuals.cols * (1 + d) + 1 + d;
  const Index partial_bytes = checked_product(checked_product(columns, columns), tables * draws * 8);
  const Index chunks =
      std::clamp(std::min(x.rows / chunk_least, memory_bytes / std::max<Index>(partial_bytes, 1)), Index{1}, most_chunks);
  const Index chunk_rows = (x.rows + chunks - 1) / chunks;
  const std::vector<double> least = column_minima(x);
  workspace.sums.resize(at(draws * chunks));
  parallel_for(draws * chunks, [&](Index task) {
    Sums& sums = workspace.sums[at(task)];
    clear(sums.gram, columns, columns);
    clear(sums.cross, columns, companions);
    sums.weighted.resize(gradient ? at(d) : 0);
    for (Matrix<double>& weighted : sums.weighted) clear(weighted, columns, columns);
    shape(sums.features, block_rows, columns);
    shape(sums.tilted, gradient ? block_rows : 0, columns);
    shape(sums.companions, block_rows, companions);
    const Index first = std::min(x.rows, task % chunks * chunk_rows);
    const Index rows = std::min(chunk_rows, x.rows - first);
    accumulate(x.row_range(first, rows), residuals.row_range(first, rows), frequencies[at(task / chunks)], least, sums);
  });
  SparseStatistics common;
  residual_products(x, residuals, common);
  workspace.statistics.resize(at(draws));
  parallel_for(draws, [&](Index k) {
    SparseStatistics& statistics = workspace.statistics[at(k)];
    statistics.rows = common.rows;
    statistics.residual_gram = common.residual_gram;
    statistics.mean_cross = common.mean_cross;
    finish(std::span(workspace.sums).subspan(at(k * chunks), at(chunks)), least, statistics);
  });
}

}  // namespace mercer
