#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel/leaf.hpp"

// One component is w e c with c = cos φ, φ = 2π⟨μ, δ⟩, e = exp(-2π² Σ σ_i²δ_i²). With a_i = 2πμ_i and b_i = 4π²σ_i²δ_i:
//   ∂/∂δ_i = -w e (a_i sin φ + b_i c),   ∂²/∂δ_i∂δ_j = w e (c (b_ib_j - a_ia_j - 4π²σ_i²[i = j]) + sin φ (a_ib_j + b_ia_j)).

namespace mercer {
namespace {

constexpr double two_pi = 2 * std::numbers::pi;

struct Component {
  double envelope = 0;  ///< e
  double cosine = 0;
  double sine = 0;
};

Component component(const SpectralMixture& kernel, std::size_t q, Point x, Point z) {
  double turns = 0;
  double exponent = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double delta = x[i] - z[i];
    const double t = two_pi * kernel.scales[q][i] * delta;
    turns += kernel.means[q][i] * delta;
    exponent += t * t;
  }
  const double phase = two_pi * (turns - std::nearbyint(turns));
  return {std::exp(-exponent / 2), std::cos(phase), std::sin(phase)};
}

}  // namespace

double leaf_value(const SpectralMixture& kernel, Point x, Point z) {
  double sum = 0;
  for (std::size_t q = 0; q < kernel.weights.size(); ++q) {
    const Component part = component(kernel, q, x, z);
    sum += kernel.weights[q] * part.envelope * part.cosine;
  }
  return sum;
}

void leaf_gradient(const SpectralMixture& kernel, Point x, Point z, MutPoint gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  for (std::size_t q = 0; q < kernel.weights.size(); ++q) {
    const Component part = component(kernel, q, x, z);
    const double height = kernel.weights[q] * part.envelope;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double spread = two_pi * kernel.scales[q][i];
      gradient[i] -= height * (two_pi * kernel.means[q][i] * part.sine + spread * spread * (x[i] - z[i]) * part.cosine);
    }
  }
}

void leaf_hessian(const SpectralMixture& kernel, Point x, Point z, MutMatrix hessian) {
  const std::size_t d = x.size();
  for (Index i = 0; i < hessian.rows; ++i) std::fill_n(&hessian(i, 0), hessian.cols, 0.0);
  for (std::size_t q = 0; q < kernel.weights.size(); ++q) {
    const Component part = component(kernel, q, x, z);
    const double height = kernel.weights[q] * part.envelope;
    if (height == 0) continue;  // so far apart that the b_i may overflow
    for (std::size_t i = 0; i < d; ++i) {
      const double variance_i = two_pi * kernel.scales[q][i] * two_pi * kernel.scales[q][i];
      const double a_i = two_pi * kernel.means[q][i];
      const double b_i = variance_i * (x[i] - z[i]);
      for (std::size_t j = 0; j < d; ++j) {
        const double a_j = two_pi * kernel.means[q][j];
        const double b_j = two_pi * kernel.scales[q][j] * two_pi * kernel.scales[q][j] * (x[j] - z[j]);
        const double diagonal = i == j ? variance_i : 0;
        hessian(static_cast<Index>(i), static_cast<Index>(j)) +=
            height * (part.cosine * (b_i * b_j - a_i * a_j - diagonal) + part.sine * (a_i * b_j + b_i * a_j));
      }
    }
  }
}

/// ∂/∂w = e c,  ∂/∂μ_i = -2π w e δ_i sin φ,  ∂/∂σ_i = -4π² w e c σ_i δ_i².  Weights first, then means, then scales, row by
/// row.
void leaf_parameter_gradient(const SpectralMixture& kernel, Point x, Point z, MutPoint gradient) {
  const std::size_t components = kernel.weights.size();
  const std::size_t d = x.size();
  for (std::size_t q = 0; q < components; ++q) {
    const Component part = component(kernel, q, x, z);
    const double height = kernel.weights[q] * part.envelope;
    gradient[q] = part.envelope * part.cosine;
    for (std::size_t i = 0; i < d; ++i) {
      const double turn = two_pi * (x[i] - z[i]);
      gradient[components + q * d + i] = -height * part.sine * turn;
      gradient[components * (1 + d) + q * d + i] = -height * part.cosine * turn * kernel.scales[q][i] * turn;
    }
  }
}

}  // namespace mercer
