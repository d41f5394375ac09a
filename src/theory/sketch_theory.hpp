#pragma once
#include <mercer/view.hpp>

#include <vector>

#include "map/sketch.hpp"

// The numbers in the theorems on sketched kernel machines (paper 2, sections 2 and 3; docs/theory.md). μ_1 ≥ μ_2 ≥ … are the
// eigenvalues of K/n, k scalar.

namespace mercer {

/// The critical radius, as its square: the least t = δ_n² > 0 with ψ = ((1/n) Σ min(t, μ_i))^½ ≤ t; 0 when every μ is 0.
/// `values` descend; `rest` is the sum of further eigenvalues, taken to be below t one by one. With j eigenvalues above t,
/// n t² = j t + Σ_{i>j} μ_i + rest: the first j that agrees with itself. O(number of values).
double critical_radius_squared(const std::vector<double>& values, double rest, Index rows);

/// d_n = min{j ≥ 1 : μ_j ≤ radius_squared}, at most n; values beyond those given are 0. Since Σ min(δ², μ_i) ≥ (d_n - 1)δ²
/// and nδ⁴ ≤ tr K/n, d_n ≤ 1 + √(n·tr K/n) whatever the kernel.
Index statistical_dimension(const std::vector<double>& values, double radius_squared, Index rows);

/// The largest d_n that eigenvalues μ_i ≥ values_i with Σ(μ_i - values_i) = missed can have: each that is lifted above
/// radius_squared uses up the difference, the nearest first.
Index largest_dimension(const std::vector<double>& values, double missed, double radius_squared, Index rows);

/// Theorem 5: p-SR and p-SG sketches are K-satisfiable for c = (2/√p)(1 + √ln 5) + 1 …
double theorem_constant(double p);
/// … with high probability when s ≥ max(5120 d_n/p², n δ_n²): 5120 is the constant of its proof.
double theorem_size(Index dimension, double radius_squared, Index rows, double p);
/// Corollary 1: p that makes the number of anchors least in that regime.
inline constexpr double theorem_density = 0.7;

/// E s', the rows that a sketch of n rows touches: n(1 - (1-p)^s) for p-SR and p-SG, n(1 - (1-1/n)^{sm}) for accumulation,
/// at most s for Nyström, n for the dense ones.
double expected_anchors(const SketchRecipe& recipe, Index rows);

/// The terms of theorems 2 and 4: with probability 1 - η the risk of the sketched estimator exceeds that of the best
/// function of the unit ball by at most their sum.
struct RiskBound {
  double approximation = 0;  ///< of the sketch and the penalty: LC√(λ + ‖A‖δ_n²), or C²(λ + ‖A‖δ_n²) for the square loss
  double penalty = 0;     ///< λ/2
  double complexity = 0;  ///< 8L√(κ tr A/n), or 8√(tr A)(κ√‖A‖ + √κ)/√n
  double confidence = 0;  ///< 2√(8 ln(4/η)/n)
  double total() const { return approximation + penalty + complexity + confidence; }
};
struct RiskSetting {
  bool square = true;         ///< ½‖z - y‖², targets in the unit ball; else a loss with Lipschitz constant L
  double lipschitz = 1;       ///< L
  double constant = 1;        ///< c of K-satisfiability
  double lambda = 0;          ///< λ of (1/n)Σ loss + (λ/2)‖f‖²
  double radius_squared = 0;  ///< δ_n²
  double largest_kernel = 1;  ///< κ ≥ k(x, x)
  double output_norm = 1;     ///< ‖A‖
  double output_trace = 1;    ///< tr A
  double failure_probability = 0.05;
  Index rows = 1;
};
/// C = 1 + √6·√(c² + 3/2). The paper has 1 + √6 c, but bounds D_1^{-½} by 1/δ_n although μ_{d_n}, its last entry, is below
/// δ_n². Moving that one column to the tail keeps the isometry and makes ‖S U_2 D_2^½‖² ≤ c²δ_n² + ‖Su‖²μ ≤ (c² + 3/2)δ_n².
RiskBound risk_bound(const RiskSetting& setting);

}  // namespace mercer
