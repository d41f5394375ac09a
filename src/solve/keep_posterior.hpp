#pragma once
#include <vector>

#include "solve/posterior.hpp"
#include "solve/ridge.hpp"

namespace mercer {

/// What a factored system leaves for standard deviations. `keep` is resolved: full, samples or none.

void keep_posterior_base(const NormalSystem& system, double ridge, Posterior& posterior);

/// For the channels of one `run` of equal gains γ: L of γG + ridge, in any precision. In full where it is the only one; the
/// draws of several add up, one call after the other.
template <class Real>
void keep_channels(const Channels& channels, const std::vector<Index>& run, Uncertainty keep, Matrix<Real>&& factor,
                   Posterior& posterior);

/// For channels of several gains, exactly: G = UΛUᵀ serves them all.
void keep_eigen(Eigen&& eigen, Posterior& posterior);

/// For coupled outputs: L of the whole normal matrix.
template <class Real>
void keep_coupled(const Coupling& coupling, Uncertainty keep, Matrix<Real>&& factor, Posterior& posterior);

}  // namespace mercer
