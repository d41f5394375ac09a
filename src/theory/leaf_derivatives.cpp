#include "theory/leaf_derivatives.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "base/fail.hpp"
#include "kernel/visit.hpp"
#include "theory/matern_profile.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

ShiftDerivatives empty_derivatives(Index d, bool with_third) {
  ShiftDerivatives out;
  out.gradient.assign(at(d), 0.0);
  out.hessian = Matrix<double>(d, d);
  out.fourth = Matrix<double>(d, d);
  if (with_third) out.third = Matrix<double>(d, d * d);
  return out;
}

/// For k = f(s) with ∇s = g and ∇∇ᵀs = diag(λ) constant, which covers both radial kernels (s = ½Σλ_iδ_i²) and, with complex
/// g, the plane waves of a spectral mixture (f = exp). Adds weight · (real part of):
///   ∂_i k = f'g_i,  ∂_ij k = f''g_ig_j + f'Λ_ij,  ∂_ijr k = f'''g_ig_jg_r + f''(Λ_ijg_r + Λ_irg_j + Λ_jrg_i),
///   Σ_r ∂_rrij k = f''''|g|²g_ig_j + f'''(|g|²Λ_ij + trΛ g_ig_j + 2(Λg)_ig_j + 2g_i(Λg)_j) + f''(trΛ Λ_ij + 2Λ²_ij).
template <class Number>
void add_profile(const std::array<Number, 5>& f, const std::vector<Number>& g, const std::vector<double>& lambda,
                 double weight, ShiftDerivatives& out) {
  const auto d = static_cast<Index>(g.size());
  const auto real = [weight](const Number& x) { return weight * std::real(x); };
  const Number square = std::inner_product(g.begin(), g.end(), g.begin(), Number(0));
  const double trace = std::accumulate(lambda.begin(), lambda.end(), 0.0);
  out.value += real(f[0]);
  for (Index i = 0; i < d; ++i) {
    const Number gi = g[at(i)];
    const double li = lambda[at(i)];
    out.gradient[at(i)] += real(f[1] * gi);
    out.hessian(i, i) += real(f[1]) * li;
    out.fourth(i, i) += real(f[3] * square + f[2] * (trace + 2 * li)) * li;
    for (Index j = 0; j < d; ++j) {
      const Number gij = gi * g[at(j)];
      out.hessian(i, j) += real(f[2] * gij);
      out.fourth(i, j) += real((f[4] * square + f[3] * (trace + 2 * li + 2 * lambda[at(j)])) * gij);
    }
  }
  if (out.third.empty()) return;
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < d; ++j) {
      for (Index r = 0; r < d; ++r) {
        Number sum = f[3] * g[at(i)] * g[at(j)] * g[at(r)];
        if (i == j) sum += f[2] * lambda[at(i)] * g[at(r)];
        if (i == r) sum += f[2] * lambda[at(i)] * g[at(j)];
        if (j == r) sum += f[2] * lambda[at(j)] * g[at(i)];
        out.third(i, j * d + r) += real(sum);
      }
    }
  }
}

template <class Profile>
ShiftDerivatives radial(const LengthScale& scale, Point delta, bool with_third, const Profile& profile) {
  const auto d = static_cast<Index>(delta.size());
  std::vector<double> lambda(at(d));
  std::vector<double> g(at(d));
  double s = 0;
  for (Index i = 0; i < d; ++i) {
    lambda[at(i)] = 1 / (scale[i] * scale[i]);
    g[at(i)] = lambda[at(i)] * delta[at(i)];
    s += 0.5 * g[at(i)] * delta[at(i)];
  }
  ShiftDerivatives out = empty_derivatives(d, with_third);
  out.value = 0;
  add_profile<double>(profile(s), g, lambda, 1, out);
  return out;
}

ShiftDerivatives mixture(const SpectralMixture& form, Point delta, bool with_third) {
  using Complex = std::complex<double>;
  const auto d = static_cast<Index>(delta.size());
  const double total = std::accumulate(form.weights.begin(), form.weights.end(), 0.0);
  ShiftDerivatives out = empty_derivatives(d, with_third);
  out.value = 0;
  std::vector<double> lambda(at(d));
  std::vector<Complex> g(at(d));
  for (std::size_t q = 0; q < form.weights.size(); ++q) {
    // exp(s) with s = i⟨c, δ⟩ - ½δᵀSδ,  c = 2πμ, S = 4π²σ².
    Complex s = 0;
    for (std::size_t i = 0; i < delta.size(); ++i) {
      const double c = 2 * std::numbers::pi * form.means[q][i];
      const double variance = std::pow(2 * std::numbers::pi * form.scales[q][i], 2);
      lambda[i] = -variance;
      g[i] = Complex(-variance * delta[i], c);
      s += Complex(-0.5 * variance * delta[i] * delta[i], c * delta[i]);
    }
    const Complex e = std::exp(s);
    add_profile<Complex>({e, e, e, e, e}, g, lambda, form.weights[q] / total, out);
  }
  return out;
}

/// c⁽ⁿ⁾/c of c(x) = 1/(1+x²), n = 0…4, from (1+x²)c⁽ⁿ⁾ + 2nx c⁽ⁿ⁻¹⁾ + n(n-1)c⁽ⁿ⁻²⁾ = 0.
std::array<double, 5> cauchy_ratios(double x) {
  std::array<double, 5> q{1, 0, 0, 0, 0};
  for (std::size_t n = 1; n < 5; ++n) {
    const auto order = static_cast<double>(n);
    q[n] = -(2 * order * x * q[n - 1] + (n > 1 ? order * (order - 1) * q[n - 2] : 0)) / (1 + x * x);
  }
  return q;
}

/// Separable: a mixed derivative is the product of one-dimensional ones.
ShiftDerivatives separable(const Cauchy& form, Point delta, bool with_third) {
  const auto d = static_cast<Index>(delta.size());
  ShiftDerivatives out = empty_derivatives(d, with_third);
  std::vector<std::array<double, 5>> q(at(d));
  out.value = 1;
  double second_sum = 0;
  for (Index i = 0; i < d; ++i) {
    const double x = delta[at(i)] / form.length_scale[i];
    out.value /= 1 + x * x;
    q[at(i)] = cauchy_ratios(x);
    for (int n = 1; n < 5; ++n) q[at(i)][at(n)] *= std::pow(form.length_scale[i], -n);
    second_sum += q[at(i)][2];
  }
  for (Index i = 0; i < d; ++i) {
    const auto& a = q[at(i)];
    out.gradient[at(i)] = out.value * a[1];
    for (Index j = 0; j < d; ++j) {
      const auto& b = q[at(j)];
      out.hessian(i, j) = out.value * (i == j ? a[2] : a[1] * b[1]);
      const double rest = second_sum - a[2] - (i == j ? 0 : b[2]);
      out.fourth(i, j) = out.value * (i == j ? a[4] + a[2] * rest : a[3] * b[1] + a[1] * b[3] + a[1] * b[1] * rest);
    }
  }
  if (!with_third) return out;
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < d; ++j) {
      for (Index r = 0; r < d; ++r) {
        double product = out.value;
        if (i == j && j == r) {
          product *= q[at(i)][3];
        } else if (i == j) {
          product *= q[at(i)][2] * q[at(r)][1];
        } else if (i == r) {
          product *= q[at(i)][2] * q[at(j)][1];
        } else if (j == r) {
          product *= q[at(j)][2] * q[at(i)][1];
        } else {
          product *= q[at(i)][1] * q[at(j)][1] * q[at(r)][1];
        }
        out.third(i, j * d + r) = product;
      }
    }
  }
  return out;
}

std::array<double, 5> gaussian_profile(double s) {
  const double e = std::exp(-s);
  return {e, -e, e, -e, e};
}

/// f(s) = (1 + s/α)^-α.
std::array<double, 5> rational_profile(double alpha, double s) {
  const double base = 1 + s / alpha;
  std::array<double, 5> f{};
  f[0] = std::pow(base, -alpha);
  for (std::size_t n = 1; n < 5; ++n) f[n] = -f[n - 1] * (alpha + static_cast<double>(n) - 1) / (alpha * base);
  return f;
}

}  // namespace

ShiftDerivatives leaf_derivatives(const Kernel& leaf, Point delta, bool with_third) {
  return std::visit(
      Overload{[&](const Gaussian& form) { return radial(form.length_scale, delta, with_third, gaussian_profile); },
               [&](const Matern& form) {
                 return radial(form.length_scale, delta, with_third, [&](double s) { return matern_profile(form.nu, s); });
               },
               [&](const RationalQuadratic& form) {
                 return radial(form.length_scale, delta, with_third,
                               [&](double s) { return rational_profile(form.alpha, s); });
               },
               [&](const Cauchy& form) { return separable(form, delta, with_third); },
               [&](const SpectralMixture& form) { return mixture(form, delta, with_third); },
               [&](const auto&) -> ShiftDerivatives { fail_internal("this kernel has no fourth derivative at 0"); }},
      leaf.form);
}

}  // namespace mercer
