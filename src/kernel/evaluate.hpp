#pragma once
#include <mercer/kernel.hpp>

#include <vector>

#include "base/matrix.hpp"

namespace mercer {

// All of these take resolved kernels (no `median`, no files).

/// k(x, z). O(d).
double value(const Kernel& kernel, Point x, Point z);

/// ∂k/∂x, written to `gradient` (d).
void input_gradient(const Kernel& kernel, Point x, Point z, MutPoint gradient);

/// ∂²k/∂δ∂δᵀ at δ = x - z for shift-invariant kernels (d × d). Throws Error for linear and polynomial.
void shift_hessian(const Kernel& kernel, Point x, Point z, MutMatrix hessian);

/// The parameters of a kernel in the order they are printed (length scales, then named ones, depth first), and back.
std::vector<double> parameters(const Kernel& kernel);
std::vector<std::string> parameter_names(const Kernel& kernel);
Kernel with_parameters(const Kernel& kernel, std::span<const double> parameters);

/// ∂k/∂parameters at (x, z), same order as parameters().  ν of Matérn and degrees are not parameters: they are fixed
/// choices.
void parameter_gradient(const Kernel& kernel, Point x, Point z, MutPoint gradient);

/// out(i, j) = k(x_i, z_j): parallel over tiles, equal to value() to 1e-12.
void gram(const Kernel& kernel, ConstMatrix x, ConstMatrix z, MutMatrix out);

/// K(x, z), p × p.
void value(const OperatorKernel& kernel, Point x, Point z, MutMatrix block);

/// out(i·p + a, j·p + b) = K(x_i, z_j)_ab, (n·p) × (m·p).
void gram(const OperatorKernel& kernel, ConstMatrix x, ConstMatrix z, Index outputs, MutMatrix out);

/// Shift-invariant: a function of x - z alone (no linear or polynomial part).
bool is_shift_invariant(const Kernel& kernel);
/// E‖ω‖² < ∞ under the spectral law: twice differentiable at 0. False for kernels that are not shift-invariant.
bool has_second_moment(const Kernel& kernel);

}  // namespace mercer
