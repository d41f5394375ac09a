#pragma once
#include <span>
#include <vector>

#include "base/matrix.hpp"
#include "gp/mean_basis.hpp"

namespace mercer {

/// Coefficients of a mean function: b_0, b_1, …, b_d.
inline Index mean_rows(MeanForm kind, Index inputs) {
  return kind == MeanForm::none ? 0 : kind == MeanForm::constant ? 1 : 1 + inputs;
}
/// y - m(x), rows × p; `mean` is mean_rows × p.
Matrix<double> without_mean(ConstMatrix x, ConstMatrix y, ConstMatrix mean);

/// How the p outputs share one scalar process: B = U diag(values) Uᵀ, so that the rotated outputs Uᵀy are independent.
/// B = [1] for one output.
struct OutputShare {
  std::vector<double> values{1.0};       ///< p, non-negative
  Matrix<double> rotation{1, 1, {1.0}};  ///< p × p: eigenvectors as columns
  Index outputs() const { return rotation.rows(); }
};
OutputShare output_share(ConstMatrix b);

/// A sparse-spectrum process:  y = m(x) + Φ(x)θ B^{1/2} + noise,  Φ = [a_j cos 2π⟨s_j, x⟩ | a_j sin 2π⟨s_j, x⟩].
struct SparseProcess {
  Matrix<double> frequencies;      ///< M × d, cycles per unit
  std::vector<double> amplitudes;  ///< M
  double noise = 1;                ///< v > 0
  Matrix<double> mean;             ///< mean_rows × p
  OutputShare share;

  Index columns() const { return 2 * frequencies.rows(); }
};

/// rows × 2M: cos 2π⟨s_j, x_i⟩ for all j, then the sines: features of amplitude 1.
void unit_features(ConstMatrix x, const Matrix<double>& frequencies, MutMatrix phi);

/// Φ(x) with its amplitudes, rows × 2M.
Matrix<double> sparse_features(ConstMatrix x, const SparseProcess& process);

/// What the likelihood of one process needs of the rows, for points of amplitude 1. One pass: n(2M)²(1 + d) flops.
struct SparseStatistics {
  Index rows = 0;
  Matrix<double> gram;                   ///< ΦᵀΦ, 2M × 2M
  std::vector<Matrix<double>> weighted;  ///< d × Φᵀdiag(x_k)Φ; empty when no gradient is wanted
  Matrix<double> cross;                  ///< Φᵀ[r, x_1∘r, …, x_d∘r, 1, x], 2M × (p(1 + d) + 1 + d)
  Matrix<double> residual_gram;          ///< rᵀr, p × p
  Matrix<double> mean_cross;             ///< [1, x]ᵀr, (1 + d) × p
};

/// Memory that one evaluation after the other uses: fresh pages cost as much as the sums that are written on them.
struct SparseWorkspace {
  struct Sums {
    Matrix<double> gram;
    std::vector<Matrix<double>> weighted;
    Matrix<double> cross;
    Matrix<double> features;    ///< of a block of rows
    Matrix<double> tilted;      ///< the same times √x
    Matrix<double> companions;  ///< of the block: r, x∘r, 1, x
  };
  struct Squares {
    Matrix<double> r;  ///< R, its factor, its inverse
    Matrix<double> t;  ///< T
    Matrix<double> work;
  };
  std::vector<Sums> sums;                    ///< by draw and chunk of rows
  std::vector<SparseStatistics> statistics;  ///< by draw
  std::vector<Squares> squares;              ///< by draw
};

/// The statistics of each of `frequencies` (one set per Monte Carlo draw, equal sizes) for residuals r = y - m(x), draws and
/// blocks of rows in parallel, left in workspace.statistics. `memory_bytes` bounds the partial sums; results do not depend
/// on the number of threads.
void sparse_statistics(ConstMatrix x, ConstMatrix residuals, const std::vector<Matrix<double>>& frequencies, bool gradient,
                       Index memory_bytes, SparseWorkspace& workspace);

/// The part of the statistics that does not depend on frequencies: rows, rᵀr, [1, x]ᵀr.
void residual_products(ConstMatrix x, ConstMatrix residuals, SparseStatistics& statistics);

struct SparseGradient {
  Matrix<double> frequencies;         ///< M × d
  std::vector<double> log_amplitude;  ///< M
  double log_noise = 0;
  Matrix<double> mean;     ///< as SparseProcess::mean
  Matrix<double> outputs;  ///< ∂/∂B, p × p symmetric
};

/// -log p(y | s) and, when `gradient` is given, its derivatives. With R = bΦᵀΦ + vI, β = R⁻¹√bΦᵀr for each rotated output:
///   (1/2v)(rᵀr - √b rᵀΦβ) + ½ log|R| + ½(n - 2M) log v + ½ n log 2π.
/// Everything comes from the statistics: there is no second pass over rows. O((2M)³ p). Infinity when R is not
/// positive definite in floating point.
double sparse_likelihood(const SparseStatistics& statistics, const SparseProcess& process, SparseGradient* gradient,
                         SparseWorkspace::Squares& squares);

/// The same from the rows themselves by n × n matrices, r = y - m(x): O(n³p + n²M). For fewer rows than columns.
double small_likelihood(ConstMatrix x, ConstMatrix residuals, const SparseProcess& process, SparseGradient* gradient);

/// U A Uᵀ.
Matrix<double> rotated_back(const Matrix<double>& rotation, const Matrix<double>& a);

}  // namespace mercer
