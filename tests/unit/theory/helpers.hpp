#pragma once
#include <mercer/kernel.hpp>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "kernel/spectral.hpp"
#include "theory/parts.hpp"

namespace mercer::test {

inline LengthScale scale(std::vector<double> values) {
  return {std::move(values), false};
}
inline Kernel gaussian(std::vector<double> l) {
  return {Gaussian{scale(std::move(l))}};
}
inline Kernel matern(double nu, std::vector<double> l) {
  return {Matern{scale(std::move(l)), nu}};
}
inline Kernel cauchy(std::vector<double> l) {
  return {Cauchy{scale(std::move(l))}};
}
inline Kernel laplacian(std::vector<double> l) {
  return {Laplacian{scale(std::move(l))}};
}
inline Kernel rational(double alpha, std::vector<double> l) {
  return {RationalQuadratic{scale(std::move(l)), alpha}};
}
inline Kernel mixture(std::vector<double> w, std::vector<std::vector<double>> m, std::vector<std::vector<double>> s) {
  return {SpectralMixture{std::move(w), std::move(m), std::move(s)}};
}
inline Kernel times(std::vector<Kernel> factors) {
  return {Product{std::move(factors)}};
}

template <class Form>
OperatorKernel operator_kernel(Form form, double weight = 1) {
  return OperatorKernel{{OperatorTerm{weight, std::move(form)}}};
}
inline OperatorKernel curl(Kernel k, double weight = 1) {
  return operator_kernel(CurlFree{std::move(k)}, weight);
}
inline OperatorKernel divergence(Kernel k, double weight = 1) {
  return operator_kernel(DivergenceFree{std::move(k)}, weight);
}
inline OperatorKernel helmholtz(Kernel k, double share, double weight = 1) {
  return operator_kernel(Helmholtz{std::move(k), share}, weight);
}
inline OperatorKernel scalar(Kernel k, double weight = 1) {
  return operator_kernel(Decomposable{std::move(k), IdentityOutputs{}}, weight);
}
inline OperatorKernel decomposable(Kernel k, std::vector<std::vector<double>> a, double weight = 1) {
  return operator_kernel(Decomposable{std::move(k), GivenOutputs{std::move(a)}}, weight);
}
inline OperatorKernel sum(OperatorKernel a, const OperatorKernel& b) {
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  return a;
}

inline RandomPart only_part(const OperatorKernel& kernel, Index inputs) {
  auto parts = random_parts(kernel, inputs, implied_outputs(kernel, inputs));
  if (parts.size() != 1) throw std::runtime_error("expected one part");
  return parts[0];
}

/// A(ω) from its definition.
inline Matrix<double> operator_of(const RandomPart& part, Point omega) {
  const auto d = static_cast<Index>(omega.size());
  if (!part.field) {
    Matrix<double> a = part.outputs;
    for (double& x : a.values()) x *= part.scale;
    return a;
  }
  Matrix<double> a(d, d);
  double square = 0;
  for (double w : omega) square += w * w;
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < d; ++j) {
      const double outer = omega[i] * omega[j];
      a(i, j) = part.scale * (part.curl * outer + part.divergence * ((i == j ? square : 0) - outer));
    }
  }
  return a;
}

inline Matrix<double> frequencies(const RandomPart& part, Index inputs, Index count, std::uint64_t seed) {
  SpectralTerm term;
  term.monomials.push_back({1, std::vector<int>(static_cast<std::size_t>(inputs), 0)});
  term.factors = part.factors;
  return sample_frequencies(term, inputs, count, Sampling::monte_carlo, Stream(seed, "theory test"));
}

}  // namespace mercer::test
