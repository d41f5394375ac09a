#pragma once
#include <functional>
#include <span>
#include <vector>

#include "base/matrix.hpp"
#include "solve/feature_chunks.hpp"

namespace mercer {

/// How far S = Σ w φ~(φ~ᵀW) by a pass in float is from that in double, W a few columns: some rows, about one in fifty,
/// are done both ways, and what they differ by stands for all. Cost: a fiftieth of a pass in double.
class RoundingSample {
 public:
  using Chunk = FeatureChunks<float>::Chunk;
  /// φ~ = φ - mean, W of so many columns; sums are kept apart for each slot.
  RoundingSample(const FeatureMap& map, ConstMatrix w, std::span<const double> mean, Index slots);

  /// Every chunk of the pass, with its F = w φ~ᵀW in float. Slots may come at a time.
  void look(const Chunk& chunk, MatrixView<const float> f);

  /// Root mean square difference of features, relative.
  double unit() const;
  /// ‖S in float - S‖ of every column of what `reduce` makes of S (size × columns), for all rows passed: with g the
  /// differences of G groups of rows of the sample, V = Σ‖g - mean‖²·G/(G-1), and R = rows per row of the sample,
  ///     ‖·‖² ≈ R²·(‖Σg‖² - V) + R·V,
  /// rows that err alike and rows that err by chance.
  std::vector<double> errors(Index size, Index columns,
                             const std::function<void(ConstMatrix s, MutMatrix out)>& reduce) const;

 private:
  struct Slot {
    Matrix<double> difference;  ///< k × m
    std::vector<double> ones;   ///< of Σ F
    double square = 0;          ///< Σ (φ in float - φ)²
    double all = 0;             ///< Σ φ²
    Index rows = 0;             ///< of the sample
    Index passed = 0;           ///< of all
  };

  const FeatureMap& map_;
  Matrix<double> w_;  ///< k × m
  std::span<const double> mean_;
  std::vector<double> offset_;  ///< φ¯ᵀW
  std::vector<Slot> slots_;
};

/// F := w·(F - φ¯ᵀW).
template <class Real>
void weigh(const auto& chunk, const std::vector<double>& offset, MatrixView<Real> f) {
  for (Index i = 0; i < f.rows; ++i) {
    const double weight = chunk.weight(i);
    for (Index k = 0; k < f.cols; ++k)
      f(i, k) = static_cast<Real>(weight * (static_cast<double>(f(i, k)) - offset[static_cast<std::size_t>(k)]));
  }
}

/// φ¯ᵀW, of W as columns × k.
std::vector<double> mean_times(std::span<const double> mean, ConstMatrix w);

}  // namespace mercer
