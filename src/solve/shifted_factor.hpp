#pragma once
#include <functional>
#include <string>
#include <type_traits>

#include "base/matrix.hpp"

namespace mercer {

template <class Real>
struct BasicShiftedFactor {
  Matrix<Real> factor;  ///< lower Cholesky factor of scale·A + (ridge + jitter)·I
  double jitter = 0;    ///< what had to be added for it to exist
  Index failed = -1;    ///< the first pivot that was not positive without it; -1: none
};
using ShiftedFactor = BasicShiftedFactor<double>;

enum class Shift {
  never,    ///< throw NotPositiveDefinite instead
  rounded,  ///< from the rounding error of double upwards
  coarse,   ///< from 1e-7 of the mean diagonal upwards: A is of low precision and serves as a preconditioner
};
/// In float, factors may be made by bfloat16 where those are many times as fast; A is no better than that.
enum class Factoring {
  precise,
  fine,   ///< off by some hundredth of the ridge, in spectral norm: standard deviations are made of it
  rough,  ///< by some hundredths: conjugate gradients take no more steps for it
};
struct NotPositiveDefinite {
  Index pivot;
};

/// Factors scale·A + ridge·I (lower triangle of A given). Not positive definite means that ridge is below the error of A:
/// then the smallest power-of-ten shift that factors is added, where `shift` allows it.
template <class Real = double>
BasicShiftedFactor<Real> factor_shifted(ConstMatrix a, double scale, double ridge, Shift shift,
                                        Factoring factoring = Factoring::precise);
/// The same with scale 1 for a matrix that `make` can make again, should it be needed: no second copy.
template <class Real = double>
BasicShiftedFactor<Real> factor_shifted(const std::type_identity_t<std::function<Matrix<Real>()>>& make, double ridge,
                                        Shift shift, Factoring factoring = Factoring::precise);

}  // namespace mercer
