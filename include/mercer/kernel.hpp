#pragma once
#include <mercer/export.hpp>
#include <mercer/view.hpp>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mercer {

// ---------------------------------------------------------------------------------------------------------------------
// Scalar kernels. Values; built by hand or by parse_kernel, printed back by to_string.

/// One length scale for all inputs, one per input, or "median": to be set from the data when fitting.
struct LengthScale {
  std::vector<double> values;  ///< positive; empty when `median`
  bool median = false;

  double operator[](Index i) const { return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(i)]; }
  bool operator==(const LengthScale&) const = default;
};

/// k(δ) = exp(-½ Σ δ_i²/ℓ_i²).  ω ~ N(0, diag(ℓ⁻²)).
struct Gaussian {
  LengthScale length_scale;
  bool operator==(const Gaussian&) const = default;
};

/// k(δ) = 2^{1-ν}/Γ(ν) (√(2ν) r)^ν K_ν(√(2ν) r), r² = Σ δ_i²/ℓ_i².  ω ~ Student with 2ν degrees of freedom, scale 1/ℓ.
struct Matern {
  LengthScale length_scale;
  double nu = 1.5;
  bool operator==(const Matern&) const = default;
};

/// k(δ) = exp(-Σ |δ_i|/ℓ_i).  ω_i independent Cauchy(0, 1/ℓ_i): no second moment.
struct Laplacian {
  LengthScale length_scale;
  bool operator==(const Laplacian&) const = default;
};

/// k(δ) = Π 1/(1 + δ_i²/ℓ_i²).  ω_i independent Laplace(0, 1/ℓ_i).
struct Cauchy {
  LengthScale length_scale;
  bool operator==(const Cauchy&) const = default;
};

/// k(δ) = (1 + r²/2α)^-α, r² = Σ δ_i²/ℓ_i².  ω = √τ g/ℓ, g ~ N(0, I), τ ~ Gamma(shape α, rate α).
struct RationalQuadratic {
  LengthScale length_scale;
  double alpha = 1;
  bool operator==(const RationalQuadratic&) const = default;
};

/// k(δ) = Σ_q w_q cos(2π ⟨μ_q, δ⟩) Π_i exp(-2π² δ_i² σ_qi²).  ω = 2πs, s ~ Σ w_q ½[N(μ_q, Σ_q) + N(-μ_q, Σ_q)] / Σ w_q.
struct SpectralMixture {
  std::vector<double> weights;              ///< Q, positive
  std::vector<std::vector<double>> means;   ///< Q × d frequencies (cycles per unit of input)
  std::vector<std::vector<double>> scales;  ///< Q × d standard deviations of the frequencies, non-negative
  bool operator==(const SpectralMixture&) const = default;
};

/// k(x, z) = ⟨x, z⟩.
struct Linear {
  bool operator==(const Linear&) const = default;
};

/// k(x, z) = (⟨x, z⟩ + offset)^degree.
struct Polynomial {
  int degree = 2;
  double offset = 1;
  bool operator==(const Polynomial&) const = default;
};

struct Kernel;

struct Sum {
  std::vector<Kernel> terms;
  bool operator==(const Sum&) const;
};
struct Product {
  std::vector<Kernel> factors;
  bool operator==(const Product&) const;
};
struct Scaled {
  double factor = 1;           ///< positive
  std::vector<Kernel> kernel;  ///< exactly one
  bool operator==(const Scaled&) const;
};

struct Kernel {
  using Form = std::variant<Gaussian, Matern, Laplacian, Cauchy, RationalQuadratic, SpectralMixture, Linear, Polynomial, Sum,
                            Product, Scaled>;
  Form form;
  bool operator==(const Kernel&) const = default;
};

inline bool Sum::operator==(const Sum& other) const {
  return terms == other.terms;
}
inline bool Product::operator==(const Product& other) const {
  return factors == other.factors;
}
inline bool Scaled::operator==(const Scaled& other) const {
  return factor == other.factor && kernel == other.kernel;
}

// ---------------------------------------------------------------------------------------------------------------------
// Operator-valued kernels K(x, z) in R^{p×p}.

/// Choices of the output matrix A of a decomposable kernel.
struct IdentityOutputs {
  bool operator==(const IdentityOutputs&) const = default;
};
/// A given symmetric positive semi-definite matrix.
struct GivenOutputs {
  std::vector<std::vector<double>> matrix;
  bool operator==(const GivenOutputs&) const = default;
};
/// The covariance of the training targets (as scaled for fitting).
struct CovarianceOutputs {
  bool operator==(const CovarianceOutputs&) const = default;
};
/// From a graph on the outputs with Laplacian L: (mix·L + (1 - mix)·I)⁻¹, or the pseudo-inverse of L when mix = 1.
struct GraphOutputs {
  std::string file;  ///< CSV of edges: from, to[, weight]; outputs by name or 0-based number
  double mix = 1;
  bool operator==(const GraphOutputs&) const = default;
};
/// A_ij = exp(-gamma (τ_i - τ_j)²): couples the quantile levels τ.
struct QuantileOutputs {
  std::vector<double> levels;
  double gamma = 1;
  bool operator==(const QuantileOutputs&) const = default;
};
using OutputMatrix = std::variant<IdentityOutputs, GivenOutputs, CovarianceOutputs, GraphOutputs, QuantileOutputs>;

/// K(x, z) = k(x, z) A.
struct Decomposable {
  Kernel kernel;
  OutputMatrix outputs;
  bool operator==(const Decomposable&) const = default;
};
/// K(δ) = -∇∇ᵀk(δ), p = d: fields that are gradients.  A(ω) = ωωᵀ.
struct CurlFree {
  Kernel kernel;
  bool operator==(const CurlFree&) const = default;
};
/// K(δ) = (∇∇ᵀ - IΔ)k(δ), p = d: fields without sources.  A(ω) = ‖ω‖²I - ωωᵀ.
struct DivergenceFree {
  Kernel kernel;
  bool operator==(const DivergenceFree&) const = default;
};
/// share·curl_free(k) + (1 - share)·divergence_free(k).
struct Helmholtz {
  Kernel kernel;
  double share = 0.5;  ///< in [0, 1]
  bool operator==(const Helmholtz&) const = default;
};

struct OperatorTerm {
  double weight = 1;  ///< positive
  std::variant<Decomposable, CurlFree, DivergenceFree, Helmholtz> form;
  bool operator==(const OperatorTerm&) const = default;
};

/// A sum of operator-valued terms. A scalar kernel k stands for decomposable(k, identity).
struct OperatorKernel {
  std::vector<OperatorTerm> terms;
  bool operator==(const OperatorKernel&) const = default;
};

/// Reads the text form, e.g. "gaussian(0.3)", "0.5*gaussian(1) + linear()", "helmholtz(gaussian(median), 0.5)".
/// Throws Error(invalid_argument) that names what is wrong and where.
MERCER_API OperatorKernel parse_kernel(std::string_view text);

/// The text form; parse_kernel(to_string(k)) == k, numbers included.
MERCER_API std::string to_string(const OperatorKernel& kernel);
MERCER_API std::string to_string(const Kernel& kernel);

/// True when the kernel is one decomposable term.
MERCER_API bool is_decomposable(const OperatorKernel& kernel);
/// True when a term ties the outputs to the inputs as directions in space (curl_free, divergence_free, helmholtz):
/// then p = d, and inputs share one scale as do outputs.
MERCER_API bool is_vector_field(const OperatorKernel& kernel);

}  // namespace mercer
