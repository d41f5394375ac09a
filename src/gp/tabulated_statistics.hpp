#pragma once
#include <span>
#include <vector>

#include "gp/frequency_table.hpp"
#include "gp/sparse_likelihood.hpp"

namespace mercer {

/// The statistics of a sparse-spectrum process of one input without a pass over the rows. Products of cosines and sines are
/// cosines and sines of sums and differences of frequencies, so ΦᵀΦ, Φᵀdiag(x)Φ and Φᵀ[r, x∘r, 1, x] are values of a few
/// functions of one frequency, Σ_i c_i x_i^j e^{2πi f x_i} with c = 1 and the targets. Those stay the same while frequencies
/// are trained: they are tabulated once (FrequencyTable), and a step costs O(M²), not O(nM²).
class TabulatedStatistics {
 public:
  /// `x` is n × 1; `y`, n × p, stays where it is. `memory_bytes` bounds the tables; `evaluations` of the statistics with a
  /// gradient are to come, so that tables may take as long as that many direct ones.
  TabulatedStatistics(ConstMatrix x, ConstMatrix y, double evaluations, Index memory_bytes);

  /// At this bound, which is far from reached, the likelihood was off by 1e-10 and its gradient by 1e-7, relatively.
  static constexpr double noise_share = 1e-5;

  double centre() const { return interval_.centre; }

  /// As sparse_statistics with a gradient, for features of x - centre: the likelihood and its gradient do not depend on
  /// where frequencies have their origin, since a cosine and its sine share one amplitude. `residuals` are y less the mean
  /// of the processes, which is the same for all. False, and nothing done, where direct sums are called for:
  /// - too little noise: n·table_error·Σa² b > noise_share·v, so that errors of the tables might show in R = bΦᵀΦ + vI;
  /// - tables of frequencies that high would take more memory or time than allowed.
  bool compute(const std::vector<SparseProcess>& processes, ConstMatrix residuals, SparseWorkspace& workspace);

 private:
  bool exact_enough(const SparseProcess& process) const;
  bool worth_making(double most, Index points, Index draws) const;
  void make(double most, const Matrix<double>& mean);
  void fill_rows(std::span<const RowInterval::Place> places, Index first, Index rows, SparseStatistics& out) const;
  void fill_cross(const SparseProcess& process, SparseStatistics& out) const;

  Matrix<double> x_;
  ConstMatrix y_;
  double evaluations_;
  Index memory_bytes_;
  RowInterval interval_;
  double reach_ = -1;                   ///< frequencies the tables hold
  Matrix<double> mean_;                 ///< of the residuals that are tabulated
  std::vector<FrequencyTable> tables_;  ///< of 1, then of the residuals of each target
};

/// From features of x - shift to those of x: (cos, sin) of each point turns by 2πs·shift. ΦᵀΦ and Φᵀ[r, x∘r, 1, x] only:
/// `weighted` is dropped. O(M²).
void turn_features(const SparseProcess& process, double shift, SparseStatistics& statistics);

}  // namespace mercer
