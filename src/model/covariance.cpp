// The joint uncertainty of predictions, for loops that choose the next row by it.
#include <mercer/model.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/fail.hpp"
#include "model/state.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

void multiply(MutMatrix a, double factor) {
  for (Index i = 0; i < a.rows; ++i) {
    for (double& v : a.row(i)) v *= factor;
  }
}

const SpectralPosterior& posterior_of(const SpectralPart& part) {
  return part.posterior;
}
const KernelPosterior& posterior_of(const KernelPosterior& part) {
  return part;
}

/// use(posterior, output within it) for the part that output `output` belongs to.
template <class Part, class Use>
void for_part_of(const std::vector<Part>& parts, Index output, const Use& use) {
  for (const Part& part : parts) {
    const auto& posterior = posterior_of(part);
    if (output < posterior.outputs()) return use(posterior, output);
    output -= posterior.outputs();
  }
}

/// Cov f in scaled units.
void scaled_covariance(const Model::State& state, ConstMatrix x, Index output, MutMatrix out) {
  const double noise = state.noise[at(output)];
  if (!state.spectral.empty()) {
    for_part_of(state.spectral, output, [&](const SpectralPosterior& part, Index own) { part.covariance(x, own, out); });
  } else if (!state.kernel_processes.empty()) {
    for_part_of(state.kernel_processes, output, [&](const KernelPosterior& part, Index /*alike for all*/) {
      const Matrix<double> covariance = part.covariance(x);
      for (Index i = 0; i < out.rows; ++i) std::ranges::copy(covariance.row(i), out.row(i).begin());
    });
  } else if (state.problem) {
    covariance_exact(*state.problem, state.exact, x, output, out);
    multiply(out, noise);
  } else {
    Matrix<double> phi(x.rows, state.map->columns());
    state.map->features(x, phi);
    state.posterior.covariance(state.map->coupling(), phi, output, out);
    multiply(out, noise);
  }
}

}  // namespace

void Model::covariance(ConstMatrix x, Index output, MutMatrix covariance, bool latent) const {
  if (state_->coding.classifies()) fail_argument("covariances are for regression; this model tells classes apart");
  if (output < 0 || output >= outputs()) fail_argument("the model has no output " + std::to_string(output));
  if (x.cols != inputs() || covariance.rows != x.rows || covariance.cols != x.rows)
    fail_argument("the array for covariances, or the rows, have the wrong shape");
  const Scaling& scaling = state_->recipe.scaling;
  Matrix<double> scaled(x.rows, x.cols);
  const std::vector<bool> bad = scale_inputs(scaling, x, scaled);
  scaled_covariance(*state_, scaled, output, covariance);
  for (Index i = 0; i < x.rows && !latent; ++i) covariance(i, i) += state_->noise[at(output)];
  const double unit = scaling.target_scale[state_->recipe.target_of(output)];
  multiply(covariance, unit * unit);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < x.rows; ++j) {
      if (bad[at(i)] || bad[at(j)]) covariance(i, j) = std::numeric_limits<double>::quiet_NaN();
    }
  }
}

}  // namespace mercer
