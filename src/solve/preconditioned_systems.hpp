#pragma once
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"
#include "solve/ridge.hpp"

namespace mercer {

/// 1 and -1 by chance, always the same ones.
std::vector<double> random_signs(Index count);

/// M = LLᵀ, the preconditioner of the systems of one gain.
struct FactoredGain {
  std::vector<Index> systems;        ///< columns
  Matrix<double> factor = {};        ///< L; or empty:
  Matrix<float> single_factor = {};  ///< the same where float will do
  double shift = 0;                  ///< of M, beyond the ridge
  double trace = 0;                  ///< of the hat matrices that M implies, of all its systems

  /// keep(L), whichever it is: roundings of a factor in float are among what conjugate gradients see of the preconditioner.
  template <class Keep>
  void take(const Keep& keep) {
    if (single_factor.empty()) {
      keep(std::move(factor));
    } else {
      keep(std::move(single_factor));
    }
  }
  /// Whether M has no eigenvalue that is clearly less than the ridge, of which there would be many: inverse iteration from a
  /// few random vectors.
  bool is_above(double ridge) const;
  /// z := M⁻¹r.
  void solve(ConstMatrix r, MutMatrix z) const;
};

/// (γ_k A + ridge) x_k = rhs_k, their preconditioners, and the trace of the hat matrices these imply.
struct PreconditionedSystems {
  Channels channels;  ///< of constant couplings
  Matrix<double> rhs;
  std::vector<double> gain;
  std::vector<FactoredGain> factors;  ///< one for every gain; or empty:
  Eigen eigen;                        ///< the eigenbasis that all gains share
  double shift = 0;                   ///< the largest of any preconditioner
  double trace = 0;
  double gram_norm = 0;  ///< ‖G‖_F

  /// A right-hand side of random signs, for the largest gain: one more system, of that.
  void add_probe();
  /// z := M⁻¹r, for the columns of all systems, or several times all of them.
  void precondition(ConstMatrix r, MutMatrix z, double ridge) const;
};

}  // namespace mercer
