#pragma once
#include <mercer/view.hpp>

#include <optional>
#include <string>
#include <vector>

#include "theory/rate.hpp"

namespace mercer {

/// Theorem 3.1 for one part: from one point to all of {x - z : x, z ∈ C}, C of diameter l.
///
/// The differences lie in a ball of radius l, covered by T = (1 + 2l/r)^d ≤ (4l/r)^d balls of radius r ≤ 2l. K~ - K is
/// Lipschitz with L ≤ (1/D)Σ_j s_j + E s, s = ‖ω‖‖A(ω)‖, so E L² ≤ E s² + 3(E s)² ≤ 4σ_p² (the paper's σ_p² takes the
/// maximiser δ* as if it did not depend on the draw). If ‖K~ - K‖ < ηε at all centres and L < (1-η)ε/r then ‖K~ - K‖ < ε
/// everywhere; by Markov
///     P ≤ κ₁r^-d + κ₂r²,   κ₁ = 2N(4l)^d exp(-D I(ηε)),   κ₂ = 4σ_p²/((1-η)ε)²,
/// least at r = (dκ₁/2κ₂)^{1/(d+2)}, where it is ((d/2)^{-d/(d+2)} + (d/2)^{2/(d+2)}) κ₁^{2/(d+2)} κ₂^{d/(d+2)} (at r = 2l
/// when that is smaller). The paper's η = ½ gives C_d = 2^{(8d+2)/(d+2)}N^{2/(d+2)}(…), not 2^{(6d+2)/(d+2)}; any η is
/// allowed, the best is taken.
struct UniformBound {
  Index inputs = 1;
  double lipschitz = 0;     ///< σ_p
  std::vector<Rate> rates;  ///< empty: the part has no error

  /// ln of the bound on P{sup ‖K~ - K‖ ≥ epsilon}, at most 0: the best over rates and η. Decreases in D and epsilon,
  /// increases in l.
  double log_failure(double frequencies, double diameter, double epsilon) const;
  /// The same for one rate and one η.
  double log_failure(const Rate& rate, double eta, double frequencies, double diameter, double epsilon) const;
  /// Smallest epsilon (to 12 digits, rounded up) with log_failure ≤ log_probability.
  double error(double frequencies, double diameter, double log_probability) const;
};

/// Nothing, with the reason, when σ_p or all rates are infinite or the part is not shift-invariant.
std::optional<UniformBound> uniform_bound(const RandomPart& part, Index inputs, std::string* why_not = nullptr);

}  // namespace mercer
