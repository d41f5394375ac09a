#include "theory/derivatives.hpp"

#include <string>

#include "base/fail.hpp"
#include "theory/leaf_derivatives.hpp"
#include "theory/small_matrix.hpp"

namespace mercer {
namespace {

constexpr Index most_inputs_of_products = 200;

/// Σ_r third_rri.
std::vector<double> contracted_third(const Matrix<double>& third) {
  const Index d = third.rows();
  std::vector<double> out(static_cast<std::size_t>(d), 0.0);
  for (Index r = 0; r < d; ++r) {
    for (Index i = 0; i < d; ++i) out[static_cast<std::size_t>(i)] += third(r, r * d + i);
  }
  return out;
}

/// Adds the terms of Σ_r ∂_rrij(kh) with one or three derivatives on k, by symmetry of the roles called once each way:
///   2Σ_r k_r h_rij + k_i h_rrj + k_j h_rri.
void add_one_and_three(const ShiftDerivatives& k, const ShiftDerivatives& h, Matrix<double>& out) {
  const Index d = out.rows();
  const std::vector<double> c = contracted_third(h.third);
  const auto& g = k.gradient;
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < d; ++j) {
      const auto a = static_cast<std::size_t>(i);
      const auto b = static_cast<std::size_t>(j);
      double sum = g[a] * c[b] + g[b] * c[a];
      for (Index r = 0; r < d; ++r) sum += 2 * g[static_cast<std::size_t>(r)] * h.third(r, i * d + j);
      out(i, j) += sum;
    }
  }
}

Matrix<double> third_of_product(const ShiftDerivatives& k, const ShiftDerivatives& h) {
  const Index d = k.hessian.rows();
  Matrix<double> out(d, d * d);
  const auto& a = k.gradient;
  const auto& b = h.gradient;
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < d; ++j) {
      for (Index r = 0; r < d; ++r) {
        const auto x = static_cast<std::size_t>(i);
        const auto y = static_cast<std::size_t>(j);
        const auto z = static_cast<std::size_t>(r);
        out(i, j * d + r) = k.third(i, j * d + r) * h.value + k.value * h.third(i, j * d + r) + k.hessian(i, j) * b[z] +
                            k.hessian(i, r) * b[y] + k.hessian(j, r) * b[x] + h.hessian(i, j) * a[z] +
                            h.hessian(i, r) * a[y] + h.hessian(j, r) * a[x];
      }
    }
  }
  return out;
}

ShiftDerivatives leibniz(const ShiftDerivatives& k, const ShiftDerivatives& h) {
  const Index d = k.hessian.rows();
  ShiftDerivatives out;
  out.value = k.value * h.value;
  out.gradient.resize(k.gradient.size());
  out.hessian = Matrix<double>(d, d);
  for (Index i = 0; i < d; ++i) {
    const auto a = static_cast<std::size_t>(i);
    out.gradient[a] = k.gradient[a] * h.value + k.value * h.gradient[a];
    for (Index j = 0; j < d; ++j) {
      const auto b = static_cast<std::size_t>(j);
      out.hessian(i, j) = k.hessian(i, j) * h.value + k.value * h.hessian(i, j) + k.gradient[a] * h.gradient[b] +
                          k.gradient[b] * h.gradient[a];
    }
  }
  out.third = third_of_product(k, h);
  // Two derivatives on each: Δk ∂_ij h + ∂_ij k Δh + 2Σ_r (k_ri h_rj + k_rj h_ri).
  out.fourth = Matrix<double>(d, d);
  add_scaled(out.fourth, h.value, k.fourth);
  add_scaled(out.fourth, k.value, h.fourth);
  add_scaled(out.fourth, trace(k.hessian), h.hessian);
  add_scaled(out.fourth, trace(h.hessian), k.hessian);
  add_scaled(out.fourth, 4, symmetric_product(k.hessian, h.hessian));
  add_one_and_three(k, h, out.fourth);
  add_one_and_three(h, k, out.fourth);
  return out;
}

}  // namespace

ShiftDerivatives shift_derivatives(const std::vector<Kernel>& factors, Point delta) {
  if (factors.size() == 1) return leaf_derivatives(factors[0], delta, false);
  if (static_cast<Index>(delta.size()) > most_inputs_of_products) {
    fail_argument("the variance of a field with a product of kernels is only worked out up to " +
                  std::to_string(most_inputs_of_products) + " inputs, got " + std::to_string(delta.size()));
  }
  ShiftDerivatives out = leaf_derivatives(factors[0], delta, true);
  for (std::size_t f = 1; f < factors.size(); ++f) out = leibniz(out, leaf_derivatives(factors[f], delta, true));
  return out;
}

}  // namespace mercer
