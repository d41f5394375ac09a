#pragma once
#include <functional>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// A matrix for every system of several, applied to the columns that belong to them. Preconditioners may get several columns
/// for each: of the first, the second, … and again the first.
using BlockOperator = std::function<void(ConstMatrix in, MutMatrix out)>;

/// What a sum over all rows is off by, known from a sample of them: with g what G groups of the sample contribute,
/// V = Σ‖g - mean‖²·G/(G-1), R = Σw/Σw of the sample and Q = Σw²/Σw² of it, w the weights of stretches of rows,
///     ‖·‖² ≈ R²·(‖Σg‖² - V) + Q·V,
/// stretches that err alike and stretches that err by chance. There are several such sums.
struct SampledErrors {
  std::vector<Matrix<double>> groups;  ///< g of every sum, as columns; each is made by the thread that fills it
  double alike = 1;                    ///< R
  double by_chance = 1;                ///< Q
  double caution = 1;                  ///< what estimates are multiplied by

  /// Those of sum k times factor[k].
  void scale(const std::vector<double>& factor);
  /// Of the sums plus step[k] times sum k of another, by the same rows in the same groups.
  void add(SampledErrors&& other, const std::vector<double>& step);

  /// Of every sum. Infinite where the sample says nothing: it has no weight, or is not finite.
  std::vector<double> norms() const;
  /// What they do to solutions. One application of M⁻¹ to all groups side by side.
  struct Weighed {
    std::vector<double> energy;  ///< √(eᵀM⁻¹e)
    std::vector<double> norm;    ///< ‖M⁻¹e‖
  };
  Weighed weigh(const BlockOperator& inverse) const;

 private:
  Index size() const { return groups.empty() ? 0 : groups.front().rows(); }
  Index columns() const { return groups.empty() ? 0 : groups.front().cols(); }  ///< the number of sums
  /// √(uᵀv) of the sums, given what each of them is for every group.
  std::vector<double> estimate(const std::vector<ConstMatrix>& u, const std::vector<ConstMatrix>& v) const;
};

}  // namespace mercer
