#include "gp/spectral_posterior.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

constexpr Index block_rows = 256;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

void add_mean_function(ConstMatrix x, const Matrix<double>& mean, MutMatrix out) {
  for (Index i = 0; i < out.rows && mean.rows() > 0; ++i) {
    for (Index a = 0; a < out.cols; ++a) {
      out(i, a) += mean(0, a);
      for (Index k = 1; k < mean.rows(); ++k) out(i, a) += x(i, k - 1) * mean(k, a);
    }
  }
}

void draw_mean(const SpectralDraw& draw, ConstMatrix x, ConstMatrix phi, MutMatrix out) {
  gemm<double>(false, false, 1.0, phi, draw.weights, 0.0, out);
  add_mean_function(x, draw.process.mean, out);
}

/// Columns √(b v) L_a⁻¹Φᵀ of rotated output a: their Gram matrix is the covariance of that output's function.
Matrix<double> whitened(const SpectralDraw& draw, Index a, ConstMatrix phi) {
  Matrix<double> z = transposed(phi);
  solve_lower(draw.factors[at(a)], z);
  const double scale = std::sqrt(draw.process.share.values[at(a)] * draw.process.noise);
  for (double& value : z.values()) value *= scale;
  return z;
}

void add_draw_variance(const SpectralDraw& draw, ConstMatrix phi, double share, MutMatrix out) {
  const OutputShare& outputs = draw.process.share;
  for (Index a = 0; a < outputs.outputs(); ++a) {
    const Matrix<double> z = whitened(draw, a, phi);
    for (Index i = 0; i < phi.rows; ++i) {
      double sum = 0;
      for (Index j = 0; j < z.rows(); ++j) sum += z(j, i) * z(j, i);
      for (Index o = 0; o < outputs.outputs(); ++o)
        out(i, o) += share * outputs.rotation(o, a) * outputs.rotation(o, a) * sum;
    }
  }
}

SpectralDraw condition_draw(const SparseStatistics& s, SparseProcess process) {
  const Index columns = process.columns();
  const Index p = process.share.outputs();
  std::vector<double> scale = process.amplitudes;
  scale.insert(scale.end(), process.amplitudes.begin(), process.amplitudes.end());
  SpectralDraw draw;
  Matrix<double> rotated(columns, p);
  for (Index a = 0; a < p; ++a) {
    const double b = process.share.values[at(a)];
    Matrix<double> r(columns, columns);
    Matrix<double> beta(columns, 1);
    for (Index i = 0; i < columns; ++i) {
      for (Index j = 0; j <= i; ++j) r(i, j) = b * scale[at(i)] * s.gram(i, j) * scale[at(j)];
      r(i, i) += process.noise;
      for (Index o = 0; o < p; ++o) beta(i, 0) += b * scale[at(i)] * s.cross(i, o) * process.share.rotation(o, a);
    }
    if (cholesky(r) >= 0) fail_argument("the noise is too small for these rows: the posterior cannot be factored");
    cholesky_solve(r, beta);
    for (Index i = 0; i < columns; ++i) rotated(i, a) = beta(i, 0);
    draw.factors.push_back(std::move(r));
  }
  draw.weights = Matrix<double>(columns, p);
  gemm<double>(false, true, 1.0, rotated, process.share.rotation, 0.0, draw.weights);
  draw.process = std::move(process);
  return draw;
}

/// What the sum of squared deviations of K draws' means counts for: (draw K + 1 - m̄)/√(Σ/(K - 1)·(1 + 1/K)) has Student's
/// law of K - 1 degrees, of variance (K - 1)/(K - 3). Nothing is known of it from one draw.
double between_share(double draws) {
  return draws > 1 ? (1 + 1 / draws) / std::max(draws - 3, 1.0) : 0;
}

/// task(first, rows) over blocks of rows, in parallel.
template <class Task>
void for_row_blocks(Index rows, const Task& task) {
  parallel_for((rows + block_rows - 1) / block_rows, [&](Index block) {
    const Index first = block * block_rows;
    task(first, std::min(block_rows, rows - first));
  });
}

}  // namespace

SpectralPosterior SpectralPosterior::condition(ConstMatrix x, ConstMatrix y, const SpectralParameters& parameters,
                                               const std::vector<SpectralPoints>& points, Index memory_bytes) {
  std::vector<SpectralDraw> draws;
  for (const SpectralPoints& drawn : points) draws.push_back({process_of(parameters, drawn), {}, {}});
  return SpectralPosterior(std::move(draws)).conditioned_on(x, y, memory_bytes);
}

SpectralPosterior SpectralPosterior::conditioned_on(ConstMatrix x, ConstMatrix y, Index memory_bytes) const {
  const Matrix<double> residuals = without_mean(x, y, draws_.front().process.mean);
  std::vector<SpectralDraw> draws;
  SparseWorkspace workspace;
  std::optional<TabulatedStatistics> tables;
  if (x.cols == 1 && x.rows > 0) tables.emplace(x, y, 0.5 * static_cast<double>(draws_.size()), memory_bytes);
  for (const SpectralDraw& draw : draws_) {  // one after the other: each needs (2M)² numbers for its sums
    if (tables && tables->compute({draw.process}, residuals, workspace)) {
      turn_features(draw.process, tables->centre(), workspace.statistics.front());
    } else {
      sparse_statistics(x, residuals, {draw.process.frequencies}, false, memory_bytes, workspace);
    }
    draws.push_back(condition_draw(workspace.statistics.front(), draw.process));
  }
  return SpectralPosterior(std::move(draws));
}

void SpectralPosterior::mean(ConstMatrix x, MutMatrix out) const {
  const double share = 1 / static_cast<double>(draws_.size());
  for_row_blocks(x.rows, [&](Index first, Index rows) {
    const ConstMatrix block = x.row_range(first, rows);
    const MutMatrix target = out.row_range(first, rows);
    for (Index i = 0; i < rows; ++i) std::ranges::fill(target.row(i), 0.0);
    Matrix<double> one(rows, out.cols);
    for (const SpectralDraw& draw : draws_) {
      draw_mean(draw, block, sparse_features(block, draw.process), one);
      for (Index i = 0; i < rows; ++i) {
        for (Index a = 0; a < out.cols; ++a) target(i, a) += share * one(i, a);
      }
    }
  });
}

void SpectralPosterior::variance(ConstMatrix x, MutMatrix out) const {
  const auto count = static_cast<double>(draws_.size());
  const double per_square = between_share(count);
  for_row_blocks(x.rows, [&](Index first, Index rows) {
    const ConstMatrix block = x.row_range(first, rows);
    Matrix<double> within(rows, out.cols);
    Matrix<double> mean(rows, out.cols);     // Welford's running mean
    Matrix<double> between(rows, out.cols);  // and sum of squared deviations
    Matrix<double> one(rows, out.cols);
    double seen = 0;
    for (const SpectralDraw& draw : draws_) {
      const Matrix<double> phi = sparse_features(block, draw.process);
      add_draw_variance(draw, phi, 1 / count, within);
      draw_mean(draw, block, phi, one);
      ++seen;
      for (std::size_t i = 0; i < one.values().size(); ++i) {
        const double step = one.values()[i] - mean.values()[i];
        mean.values()[i] += step / seen;
        between.values()[i] += step * (one.values()[i] - mean.values()[i]);
      }
    }
    for (Index i = 0; i < rows; ++i) {
      for (Index a = 0; a < out.cols; ++a) out(first + i, a) = within(i, a) + per_square * between(i, a);
    }
  });
}

void SpectralPosterior::sample(ConstMatrix x, Index count, const Stream& stream, MutMatrix out) const {
  const Index p = outputs();
  const auto draws = static_cast<Index>(draws_.size());
  parallel_for(count, [&](Index s) {
    const SpectralDraw& draw = draws_[at(s % draws)];
    const OutputShare& share = draw.process.share;
    const Matrix<double> phi = sparse_features(x, draw.process);
    Matrix<double> f(x.rows, p);
    draw_mean(draw, x, phi, f);
    Matrix<double> deviation(phi.cols(), p);  // of the weights of Φ: √(b v) L⁻ᵀz per rotated output
    for (Index a = 0; a < p; ++a) {
      Matrix<double> z(phi.cols(), 1);
      for (Index j = 0; j < z.rows(); ++j)
        z(j, 0) = stream.normal(static_cast<std::uint64_t>(s * p + a), static_cast<std::uint64_t>(j));
      solve_lower_transposed(draw.factors[at(a)], z);
      const double scale = std::sqrt(share.values[at(a)] * draw.process.noise);
      for (Index j = 0; j < z.rows(); ++j) {
        for (Index o = 0; o < p; ++o) deviation(j, o) += scale * z(j, 0) * share.rotation(o, a);
      }
    }
    gemm<double>(false, false, 1.0, phi, deviation, 1.0, f);
    for (Index i = 0; i < x.rows; ++i) {
      for (Index a = 0; a < p; ++a) out(i, s * p + a) = f(i, a);
    }
  });
}

void SpectralPosterior::covariance(ConstMatrix x, Index output, MutMatrix out) const {
  const auto count = static_cast<double>(draws_.size());
  Matrix<double> means(static_cast<Index>(draws_.size()), x.rows);
  Matrix<double> sum(x.rows, x.rows);
  for (std::size_t k = 0; k < draws_.size(); ++k) {
    const SpectralDraw& draw = draws_[k];
    const Matrix<double> phi = sparse_features(x, draw.process);
    Matrix<double> f(x.rows, outputs());
    draw_mean(draw, x, phi, f);
    for (Index i = 0; i < x.rows; ++i) means(static_cast<Index>(k), i) = f(i, output);
    for (Index a = 0; a < outputs(); ++a) {
      Matrix<double> z = whitened(draw, a, phi);
      const double scale = draw.process.share.rotation(output, a) / std::sqrt(count);
      for (double& value : z.values()) value *= scale;
      accumulate_gram<double>(z, sum);
    }
  }
  const double root = std::sqrt(between_share(count));
  for (Index i = 0; i < x.rows; ++i) {  // deviations of the draws' means
    double mean = 0;
    for (Index k = 0; k < means.rows(); ++k) mean += means(k, i) / count;
    for (Index k = 0; k < means.rows(); ++k) means(k, i) = root * (means(k, i) - mean);
  }
  accumulate_gram<double>(means, sum);
  mirror_lower(sum);
  for (Index i = 0; i < x.rows; ++i) std::ranges::copy(sum.row(i), out.row(i).begin());
}

}  // namespace mercer
