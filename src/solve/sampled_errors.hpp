#pragma once
#include <functional>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

using BlockOperator = std::function<void(ConstMatrix in, MutMatrix out)>;

/// What a sum over all rows is off by, known from a sample of them: with g what G groups of the sample contribute,
/// V = Σ‖g - mean‖²·G/(G-1), R = Σw/Σw of the sample and Q = Σw²/Σw² of it, w the weights of stretches of rows,
///     ‖·‖² ≈ R²·(‖Σg‖² - V) + Q·V,
/// stretches that err alike and stretches that err by chance. Several such sums stand side by side, as columns.
struct SampledErrors {
  std::vector<Matrix<double>> groups;  ///< g, size × columns
  double alike = 1;                    ///< R
  double by_chance = 1;                ///< Q
  double caution = 1;                  ///< what estimates are multiplied by

  /// Those of column k times factor[k].
  void scale(const std::vector<double>& factor);
  /// Of the sum plus step[k] times column k of another, by the same rows in the same groups.
  void add(SampledErrors&& other, const std::vector<double>& step);

  /// Of every column. Infinite where the sample says nothing: it has no weight, or is not finite.
  std::vector<double> norms() const;
  /// √(eᵀM⁻¹e) instead of ‖e‖. One application of M⁻¹ to every group.
  std::vector<double> norms(const BlockOperator& inverse) const;

 private:
  template <class Image>
  std::vector<double> estimate(const Image& image) const;
};

}  // namespace mercer
