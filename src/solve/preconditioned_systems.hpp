#pragma once
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"
#include "solve/ridge.hpp"

namespace mercer {

/// 1 and -1 by chance, always the same ones.
std::vector<double> random_signs(Index count);

/// (γ_k A + ridge) x_k = rhs_k, their preconditioner M, and the trace of the hat matrix it implies.
struct PreconditionedSystems {
  Channels channels;  ///< of constant couplings
  Matrix<double> rhs;
  std::vector<double> gain;
  Matrix<double> factor;        ///< L of the preconditioner; or empty:
  Matrix<float> single_factor;  ///< the same where float will do; or empty:
  Eigen eigen;                  ///< the eigenbasis that several gains share
  double shift = 0;             ///< of the preconditioner, beyond the ridge
  double trace = 0;
  double gram_norm = 0;  ///< ‖G‖_F

  /// keep(L), whichever it is: roundings of a factor in float are among what conjugate gradients see of the preconditioner.
  template <class Keep>
  void take_factor(const Keep& keep) {
    if (single_factor.empty()) {
      keep(std::move(factor));
    } else {
      keep(std::move(single_factor));
    }
  }
  /// Whether M = LLᵀ has no eigenvalue that is clearly less than the ridge, of which there would be many: inverse iteration
  /// from a few random vectors.
  bool is_above(double ridge) const;
  /// A right-hand side of random signs, for the largest gain.
  void add_probe();
  /// z := M⁻¹r, for the columns of all systems, or several times all of them.
  void precondition(ConstMatrix r, MutMatrix z, double ridge) const;
};

}  // namespace mercer
