// The learned spectrum of a process in the user's units.
#include <mercer/model.hpp>

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "gp/factor.hpp"
#include "model/state.hpp"

namespace mercer {
namespace {

/// How many directions of each component the rows determine: γ_q = Σ over its columns of 1 - v (R⁻¹)_jj (MacKay 1992). The
/// curvature of the likelihood in log w_q is about γ_q/2.
std::vector<double> determined(const SpectralPart& part) {
  const SpectralDraw& draw = part.posterior.draws().front();
  const Index m = draw.process.frequencies.rows();
  std::vector<double> gamma(part.shares.size(), 0.0);
  for (const Matrix<double>& factor : draw.factors) {
    const Matrix<double> inverse = inverse_of(factor);
    Index j = 0;
    for (std::size_t q = 0; q < gamma.size(); ++q) {
      for (const Index end = j + part.shares[q]; j < end; ++j)
        gamma[q] += 2 - draw.process.noise * (inverse(j, j) + inverse(m + j, m + j));
    }
  }
  return gamma;
}

}  // namespace

std::vector<SpectralComponent> Model::spectrum(Index output) const {
  if (output < 0 || output >= outputs()) fail_argument("the model has no output " + std::to_string(output));
  Index own = output;
  for (const SpectralPart& part : state_->spectral) {
    if (own >= part.posterior.outputs()) {
      own -= part.posterior.outputs();
      continue;
    }
    const Mixture& mixture = part.parameters.mixture;
    const std::vector<double> gamma = determined(part);
    double share = 0;  // B_aa
    for (const double l : part.parameters.factor.row(own)) share += l * l;
    const Scaling& scaling = state_->recipe.scaling;
    const double unit = scaling.target_scale[static_cast<std::size_t>(output)];
    std::vector<SpectralComponent> components;
    for (std::size_t q = 0; q < mixture.weights.size(); ++q) {
      SpectralComponent c;
      c.weight = mixture.weights[q] * share * unit * unit;
      c.weight_error = c.weight * std::sqrt(2 / std::max(gamma[q], 1e-6));
      for (Index k = 0; k < mixture.inputs(); ++k) {
        const double scale = scaling.input_scale[static_cast<std::size_t>(k)];
        const double sign = mixture.means(static_cast<Index>(q), 0) < 0 ? -1 : 1;  // cos is even: the first is positive
        c.frequency.push_back(sign * mixture.means(static_cast<Index>(q), k) / scale);
        c.spread.push_back(mixture.scales(static_cast<Index>(q), k) / scale);
      }
      components.push_back(std::move(c));
    }
    std::ranges::stable_sort(components, std::ranges::greater{}, &SpectralComponent::weight);
    return components;
  }
  return {};
}

}  // namespace mercer
