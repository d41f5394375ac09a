#include "theory/moments.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/fail.hpp"
#include "kernel/visit.hpp"
#include "theory/derivatives.hpp"
#include "theory/small_matrix.hpp"

namespace mercer {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// E Q³ of a sum Q of independent terms from its first three cumulants.
double third_raw_moment(double k1, double k2, double k3) {
  return k3 + 3 * k2 * k1 + k1 * k1 * k1;
}

/// E‖ω‖⁶ of ω = √τ g/ℓ, g ~ N(0, I): E τ³ times the third moment of Σ λ_i χ²₁, λ = ℓ⁻².
double scale_mixture_sixth(const LengthScale& scale, Index inputs, double tau_cubed) {
  double k1 = 0;
  double k2 = 0;
  double k3 = 0;
  for (Index i = 0; i < inputs; ++i) {
    const double lambda = 1 / (scale[i] * scale[i]);
    k1 += lambda;
    k2 += 2 * lambda * lambda;
    k3 += 8 * lambda * lambda * lambda;
  }
  return tau_cubed * third_raw_moment(k1, k2, k3);
}

/// ω_i Laplace(0, b): ω_i² has raw moments 2b², 24b⁴, 720b⁶, so cumulants 2b², 20b⁴, 592b⁶.
double laplace_sixth(const LengthScale& scale, Index inputs) {
  double k1 = 0;
  double k2 = 0;
  double k3 = 0;
  for (Index i = 0; i < inputs; ++i) {
    const double b2 = 1 / (scale[i] * scale[i]);
    k1 += 2 * b2;
    k2 += 20 * b2 * b2;
    k3 += 592 * b2 * b2 * b2;
  }
  return third_raw_moment(k1, k2, k3);
}

/// ‖ω‖² of N(c, diag S) has cumulants 2ⁿ⁻¹(n-1)! Σ_i (S_iⁿ + n c_i² S_iⁿ⁻¹); the sign of c does not matter.
double mixture_sixth(const SpectralMixture& form) {
  const double total = std::accumulate(form.weights.begin(), form.weights.end(), 0.0);
  double sum = 0;
  for (std::size_t q = 0; q < form.weights.size(); ++q) {
    double k1 = 0;
    double k2 = 0;
    double k3 = 0;
    for (std::size_t i = 0; i < form.means[q].size(); ++i) {
      const double c2 = std::pow(2 * std::numbers::pi * form.means[q][i], 2);
      const double s = std::pow(2 * std::numbers::pi * form.scales[q][i], 2);
      k1 += s + c2;
      k2 += 2 * (s * s + 2 * c2 * s);
      k3 += 8 * (s * s * s + 3 * c2 * s * s);
    }
    sum += form.weights[q] / total * third_raw_moment(k1, k2, k3);
  }
  return sum;
}

double leaf_sixth(const Kernel& leaf, Index inputs) {
  return std::visit(Overload{[&](const Gaussian& form) { return scale_mixture_sixth(form.length_scale, inputs, 1); },
                             [&](const Matern& form) {  // τ = ν/Gamma(ν, 1)
                               const double v = form.nu;
                               return scale_mixture_sixth(form.length_scale, inputs,
                                                          v * v * v / ((v - 1) * (v - 2) * (v - 3)));
                             },
                             [&](const RationalQuadratic& form) {  // τ ~ Gamma(α, rate α)
                               const double a = form.alpha;
                               return scale_mixture_sixth(form.length_scale, inputs, (a + 1) * (a + 2) / (a * a));
                             },
                             [&](const Cauchy& form) { return laplace_sixth(form.length_scale, inputs); },
                             [&](const SpectralMixture& form) { return mixture_sixth(form); },
                             [&](const auto&) -> double { fail_internal("this kernel has no sixth spectral moment"); }},
                    leaf.form);
}

/// E[ωωᵀ] and E[‖ω‖²ωωᵀ]: minus the Hessian, and the contracted fourth derivative, of k at 0.
ShiftDerivatives at_zero(const std::vector<Kernel>& factors, Index inputs) {
  return shift_derivatives(factors, std::vector<double>(static_cast<std::size_t>(inputs), 0.0));
}

double sum_of_inverse_squares(const LengthScale& scale, Index inputs) {
  double sum = 0;
  for (Index i = 0; i < inputs; ++i) sum += 1 / (scale[i] * scale[i]);
  return sum;
}

/// O(d): serves decomposable kernels of many inputs, where nothing d × d may be made.
double leaf_second(const Kernel& leaf, Index inputs) {
  return std::visit(
      Overload{
          [&](const Matern& form) { return form.nu / (form.nu - 1) * sum_of_inverse_squares(form.length_scale, inputs); },
          [&](const Cauchy& form) { return 2 * sum_of_inverse_squares(form.length_scale, inputs); },
          [&](const SpectralMixture& form) {
            const double total = std::accumulate(form.weights.begin(), form.weights.end(), 0.0);
            double sum = 0;
            for (std::size_t q = 0; q < form.weights.size(); ++q) {
              for (std::size_t i = 0; i < form.means[q].size(); ++i) {
                sum +=
                    form.weights[q] / total * (form.means[q][i] * form.means[q][i] + form.scales[q][i] * form.scales[q][i]);
              }
            }
            return 4 * std::numbers::pi * std::numbers::pi * sum;
          },
          [&](const Gaussian& form) { return sum_of_inverse_squares(form.length_scale, inputs); },
          [&](const RationalQuadratic& form) { return sum_of_inverse_squares(form.length_scale, inputs); },
          [&](const auto&) -> double { fail_internal("this kernel has no second spectral moment"); }},
      leaf.form);
}

/// E[ωωᵀ] when only two moments may exist.
Matrix<double> second_moment_matrix(const std::vector<Kernel>& factors, Index inputs) {
  Matrix<double> sum(inputs, inputs);
  for (const Kernel& leaf : factors) {
    const auto* matern = std::get_if<Matern>(&leaf.form);
    if (matern != nullptr && matern->nu <= 2) {
      for (Index i = 0; i < inputs; ++i) {
        sum(i, i) += matern->nu / (matern->nu - 1) / (matern->length_scale[i] * matern->length_scale[i]);
      }
    } else {
      add_scaled(sum, -1, at_zero({leaf}, inputs).hessian);
    }
  }
  return sum;
}

Matrix<double> filled(Index n, double value) {
  Matrix<double> m(n, n);
  for (double& x : m.values()) x = value;
  return m;
}

}  // namespace

double second_moment(const std::vector<Kernel>& factors, Index inputs) {
  if (tail_index(factors) <= 2) return infinity;
  double sum = 0;
  for (const Kernel& leaf : factors) sum += leaf_second(leaf, inputs);
  return sum;
}

double sixth_moment(const std::vector<Kernel>& factors, Index inputs) {
  if (tail_index(factors) <= 6) return infinity;
  // ω = u + v, independent and symmetric:  E‖ω‖⁶ = E(a+b)³ + 12 E(a+b)⟨u,v⟩², a = ‖u‖², b = ‖v‖².
  std::vector<Kernel> done{factors[0]};
  double sixth = leaf_sixth(factors[0], inputs);
  for (std::size_t f = 1; f < factors.size(); ++f) {
    const ShiftDerivatives u = at_zero(done, inputs);
    const ShiftDerivatives v = at_zero({factors[f]}, inputs);
    const double a1 = -trace(u.hessian);
    const double b1 = -trace(v.hessian);
    const double cross = -trace(product(u.fourth, v.hessian)) - trace(product(u.hessian, v.fourth));
    sixth += 3 * trace(u.fourth) * b1 + 3 * a1 * trace(v.fourth) + leaf_sixth(factors[f], inputs) + 12 * cross;
    done.push_back(factors[f]);
  }
  return sixth;
}

Matrix<double> mean_operator(const RandomPart& part, Index inputs) {
  if (!part.field) {
    Matrix<double> a(part.outputs.rows(), part.outputs.cols());
    add_scaled(a, part.scale, part.outputs);
    return a;
  }
  if (tail_index(part.factors) <= 2) return filled(inputs, infinity);
  const Matrix<double> second = second_moment_matrix(part.factors, inputs);
  Matrix<double> a(inputs, inputs);
  add_scaled(a, part.scale * (part.curl - part.divergence), second);
  add_identity(a, part.scale * part.divergence * trace(second));
  return a;
}

Matrix<double> mean_square_operator(const RandomPart& part, Index inputs) {
  if (!part.field) {
    const Matrix<double> a = mean_operator(part, inputs);
    return product(a, a);
  }
  if (tail_index(part.factors) <= 4) return filled(inputs, infinity);
  // A² = scale²‖ω‖²(curl² ωωᵀ + divergence²(‖ω‖²I - ωωᵀ)).
  const ShiftDerivatives k = at_zero(part.factors, inputs);
  const double c2 = part.scale * part.scale * part.curl * part.curl;
  const double d2 = part.scale * part.scale * part.divergence * part.divergence;
  Matrix<double> a(inputs, inputs);
  add_scaled(a, c2 - d2, k.fourth);
  add_identity(a, d2 * trace(k.fourth));
  return a;
}

Matrix<double> variance_operator(const RandomPart& part, Index inputs) {
  if (!part.field) return {part.outputs.rows(), part.outputs.cols()};
  Matrix<double> v = mean_square_operator(part, inputs);
  if (tail_index(part.factors) <= 4) return v;
  const Matrix<double> mean = mean_operator(part, inputs);
  add_scaled(v, -1, product(mean, mean));
  return v;
}

double lipschitz_moment(const RandomPart& part, Index inputs) {
  const double c = operator_norm_factor(part);
  if (c == 0) return 0;
  return c * c * (part.field ? sixth_moment(part.factors, inputs) : second_moment(part.factors, inputs));
}

}  // namespace mercer
