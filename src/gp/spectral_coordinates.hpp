#pragma once
#include <span>
#include <string>
#include <vector>

#include "gp/divergence.hpp"
#include "gp/mixture.hpp"
#include "gp/sparse_likelihood.hpp"

namespace mercer {

/// The hyperparameters of a sparse-spectrum process in their own units.
struct SpectralParameters {
  Mixture mixture;
  double noise = 1;       ///< v
  Matrix<double> mean;    ///< mean_rows × p
  Matrix<double> factor;  ///< lower triangular L with positive diagonal: B = LLᵀ couples the outputs; [1] for one output
};

/// Derivatives by the same.
struct SpectralGradient {
  std::vector<double> log_weights;  ///< Q
  MixtureGradient mixture;
  double log_noise = 0;
  Matrix<double> mean;
  Matrix<double> outputs;  ///< symmetric ∂/∂B
};

enum class Parametrization {
  general,  ///< μ and log σ
  natural,  ///< η₁ = μ/σ² and log(-2η₂) = -2 log σ
};
Parametrization parse_parametrization(const std::string& text);
const char* to_string(Parametrization parametrization);

/// Unconstrained coordinates: [log w | Q·d locations | Q·d spreads | log(v - 1e-8) | mean | L with the log of its diagonal
/// when p > 1]. Locations are in units u of the scales given at construction, so that a step of 1 means the same everywhere:
///   general:  μ = u t,      σ = e^z;        natural:  η₁ = t/u, so μ = t σ²/u,   σ = e^{-z/2}.
/// Positive numbers are positive by construction; nothing is clipped.
class SpectralCoordinates {
 public:
  SpectralCoordinates(const SpectralParameters& shape, Parametrization parametrization);

  Index size() const;
  std::vector<double> coordinates(const SpectralParameters& parameters) const;
  SpectralParameters parameters(std::span<const double> coordinates) const;
  /// The chain rule at `parameters`.
  void pull_back(const SpectralParameters& parameters, const SpectralGradient& gradient, std::span<double> out) const;

 private:
  SpectralParameters shape_;
  Parametrization parametrization_;
};

}  // namespace mercer
