// What a process has learned, in the user's units.
#include <mercer/model.hpp>

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "gp/factor.hpp"
#include "kernel/evaluate.hpp"
#include "model/learned.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// The part of a process that an output belongs to, and its number there.
struct Place {
  const SpectralPart* spectral = nullptr;
  const KernelPosterior* kernel = nullptr;
  Index own = 0;
};

Place place_of(const Model::State& state, Index output) {
  for (const SpectralPart& part : state.spectral) {
    if (output < part.posterior.outputs()) return {&part, nullptr, output};
    output -= part.posterior.outputs();
  }
  for (const KernelPosterior& part : state.kernel_processes) {
    if (output < part.outputs()) return {nullptr, &part, output};
    output -= part.outputs();
  }
  return {};
}

// How many directions of component q the rows determine: γ_q = tr K_qW, with K_q its share of the prior covariance and W
// what the rows take off (MacKay 1992). The curvature of the likelihood in log w_q is about γ_q/2.

/// In weight space: γ_q = Σ over the columns of q of 1 - v (R⁻¹)_jj.
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

/// At the anchors: O(m³ + Qm²).
std::vector<double> determined(const KernelPosterior& posterior, const Mixture& mixture) {
  const Matrix<double>& z = posterior.parts().anchors;
  const Matrix<double> w = posterior.reduction();
  Matrix<double> k(z.rows(), z.rows());
  std::vector<double> gamma;
  for (Index q = 0; q < mixture.components(); ++q) {
    Mixture alone{mixture.envelope,
                  {mixture.weights[at(q)]},
                  Matrix<double>(mixture.means.view().row_range(q, 1)),
                  Matrix<double>(mixture.scales.view().row_range(q, 1))};
    gram(to_kernel(alone), z, z, k);
    double trace = 0;
    for (std::size_t i = 0; i < k.values().size(); ++i) trace += k.values()[i] * w.values()[i];
    gamma.push_back(trace * static_cast<double>(posterior.outputs()));
  }
  return gamma;
}

}  // namespace

std::optional<Mixture> learned_mixture(const Model::State& state, Index output) {
  const Place place = place_of(state, output);
  if (place.spectral != nullptr) return place.spectral->parameters.mixture;
  if (place.kernel != nullptr) return mixture_of(place.kernel->parts().kernel, state.recipe.inputs());
  return {};
}

std::vector<double> learned_mean(const Model::State& state, Index output) {
  const Place place = place_of(state, output);
  if (place.spectral == nullptr && place.kernel == nullptr) return {};
  const Matrix<double>& mean = place.spectral != nullptr ? place.spectral->parameters.mean : place.kernel->parts().mean;
  const Scaling& scaling = state.recipe.scaling;
  const double unit = scaling.target_scale[at(output)];
  std::vector<double> result = {scaling.target_shift[at(output)]};
  if (mean.rows() > 0) result.front() += mean(0, place.own) * unit;
  for (Index k = 1; k < mean.rows(); ++k) result.push_back(mean(k, place.own) * unit / scaling.input_scale[at(k - 1)]);
  return result;
}

Matrix<double> output_covariance(const Model::State& state) {
  if (state.spectral.size() != 1 || state.recipe.outputs() < 2) return {};
  const Matrix<double>& l = state.spectral.front().parameters.factor;
  const std::vector<double>& unit = state.recipe.scaling.target_scale;
  Matrix<double> b(l.rows(), l.rows());
  for (Index i = 0; i < l.rows(); ++i) {
    for (Index j = 0; j < l.rows(); ++j) {
      for (Index k = 0; k <= std::min(i, j); ++k) b(i, j) += l(i, k) * l(j, k) * unit[at(i)] * unit[at(j)];
    }
  }
  return b;
}

std::vector<SpectralComponent> Model::spectrum(Index output) const {
  if (output < 0 || output >= outputs()) fail_argument("the model has no output " + std::to_string(output));
  const std::optional<Mixture> mixture = learned_mixture(*state_, output);
  if (!mixture) return {};
  const Place place = place_of(*state_, output);
  const std::vector<double> gamma =
      place.spectral != nullptr ? determined(*place.spectral) : determined(*place.kernel, *mixture);
  double share = place.spectral != nullptr ? 0 : 1;  // B_aa
  if (place.spectral != nullptr) {
    for (const double l : place.spectral->parameters.factor.row(place.own)) share += l * l;
  }
  const Scaling& scaling = state_->recipe.scaling;
  const double unit = scaling.target_scale[at(output)];
  std::vector<SpectralComponent> components;
  for (Index q = 0; q < mixture->components(); ++q) {
    SpectralComponent c;
    c.weight = mixture->weights[at(q)] * share * unit * unit;
    c.weight_error = c.weight * std::sqrt(2 / std::max(gamma[at(q)], 1e-6));
    const double sign = mixture->means(q, 0) < 0 ? -1 : 1;  // cos is even: the first is positive
    for (Index k = 0; k < mixture->inputs(); ++k) {
      const double scale = scaling.input_scale[at(k)];
      c.frequency.push_back(sign * mixture->means(q, k) / scale);
      c.spread.push_back(mixture->scales(q, k) / scale);
    }
    components.push_back(std::move(c));
  }
  std::ranges::stable_sort(components, std::ranges::greater{}, &SpectralComponent::weight);
  return components;
}

}  // namespace mercer
