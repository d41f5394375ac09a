#pragma once
#include <mercer/kernel.hpp>

#include <optional>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// A spectral law that is a mixture of Gaussians N(mean, diag(variance)), up to ω → -ω, under which all that is asked here
/// is unchanged. Only these laws give ‖ω‖² exponential moments.
struct GaussianMixture {
  struct Component {
    double probability = 1;
    std::vector<double> mean;
    std::vector<double> variance;
  };
  std::vector<Component> components;

  double largest_variance() const;
  /// max over components of ‖mean‖².
  double largest_mean() const;
  /// E exp(t‖ω‖²); infinity from t = 1/(2 largest_variance()) on.
  double exponential_moment(double t) const;
  /// E[exp(t‖ω‖²) ωωᵀ]: each component tilted to N(m/(1-2tS), S/(1-2tS)). t below the pole. O(Q d²).
  Matrix<double> tilted_second(double t) const;
};

/// The law of ω when every factor is Gaussian or a spectral mixture; nothing for other laws, or beyond 10 000 components.
std::optional<GaussianMixture> gaussian_mixture(const std::vector<Kernel>& factors, Index inputs);

}  // namespace mercer
