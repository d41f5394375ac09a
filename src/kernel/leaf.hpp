#pragma once
#include <mercer/kernel.hpp>

#include <concepts>
#include <span>

namespace mercer {

// Kernels without children. For each:  leaf_value: k(x, z);  leaf_gradient: ∂k/∂x;  leaf_hessian: ∂²k/∂δ∂δᵀ, δ = x - z;
// leaf_parameter_gradient: ∂k/∂parameters in the order of evaluate.hpp's parameters(). All outputs are overwritten. O(d),
// O(d²) for the Hessian; times the number of components for spectral mixtures.

/// k(δ) = g(s), s = Σ δ_i²/ℓ_i².
template <class Leaf>
concept Radial = std::same_as<Leaf, Gaussian> || std::same_as<Leaf, Matern> || std::same_as<Leaf, RationalQuadratic>;

/// g, g' and g'' at s. Where a derivative does not exist at 0 it is infinite.
struct Profile {
  double value = 0;
  double first = 0;
  double second = 0;
};
Profile profile(const Gaussian& kernel, double s);
Profile profile(const Matern& kernel, double s);
Profile profile(const RationalQuadratic& kernel, double s);
/// Replaces each s by g(s).
void apply_profile(const Gaussian& kernel, std::span<double> s);
void apply_profile(const Matern& kernel, std::span<double> s);
void apply_profile(const RationalQuadratic& kernel, std::span<double> s);

template <Radial Leaf>
double leaf_value(const Leaf& kernel, Point x, Point z);
template <Radial Leaf>
void leaf_gradient(const Leaf& kernel, Point x, Point z, MutPoint gradient);
template <Radial Leaf>
void leaf_hessian(const Leaf& kernel, Point x, Point z, MutMatrix hessian);
template <Radial Leaf>
void leaf_parameter_gradient(const Leaf& kernel, Point x, Point z, MutPoint gradient);

double leaf_value(const Laplacian& kernel, Point x, Point z);
/// 0 along inputs where δ_i = 0, the middle of the kink.
void leaf_gradient(const Laplacian& kernel, Point x, Point z, MutPoint gradient);
/// Throws Error where some δ_i = 0.
void leaf_hessian(const Laplacian& kernel, Point x, Point z, MutMatrix hessian);
void leaf_parameter_gradient(const Laplacian& kernel, Point x, Point z, MutPoint gradient);

double leaf_value(const Cauchy& kernel, Point x, Point z);
void leaf_gradient(const Cauchy& kernel, Point x, Point z, MutPoint gradient);
void leaf_hessian(const Cauchy& kernel, Point x, Point z, MutMatrix hessian);
void leaf_parameter_gradient(const Cauchy& kernel, Point x, Point z, MutPoint gradient);

double leaf_value(const SpectralMixture& kernel, Point x, Point z);
void leaf_gradient(const SpectralMixture& kernel, Point x, Point z, MutPoint gradient);
void leaf_hessian(const SpectralMixture& kernel, Point x, Point z, MutMatrix hessian);
void leaf_parameter_gradient(const SpectralMixture& kernel, Point x, Point z, MutPoint gradient);

double leaf_value(const Linear& kernel, Point x, Point z);
void leaf_gradient(const Linear& kernel, Point x, Point z, MutPoint gradient);
void leaf_hessian(const Linear& kernel, Point x, Point z, MutMatrix hessian);  // throws Error
void leaf_parameter_gradient(const Linear& kernel, Point x, Point z, MutPoint gradient);

double leaf_value(const Polynomial& kernel, Point x, Point z);
void leaf_gradient(const Polynomial& kernel, Point x, Point z, MutPoint gradient);
void leaf_hessian(const Polynomial& kernel, Point x, Point z, MutMatrix hessian);  // throws Error
void leaf_parameter_gradient(const Polynomial& kernel, Point x, Point z, MutPoint gradient);

/// base^exponent for exponent ≥ 0 by squaring; relative error below exponent·eps.
double integer_power(double base, int exponent);

/// Where ∂k/∂ℓ for input i is added: one place for all inputs, or one each.
inline double& scale_slot(const LengthScale& scale, Index i, MutPoint gradient) {
  return gradient[scale.values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

}  // namespace mercer
