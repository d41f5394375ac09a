// The joint uncertainty of predictions, for loops that choose the next row by it.
#include <mercer/model.hpp>

#include <limits>
#include <string>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "kernel/evaluate.hpp"
#include "map/anchor_map.hpp"
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

/// The covariance of an output of a learned spectrum.
void spectral_covariance(const Model::State& state, ConstMatrix x, Index output, MutMatrix out) {
  for (const SpectralPart& part : state.spectral) {
    if (output < part.posterior.outputs()) {
      part.posterior.covariance(x, output, out);
      return;
    }
    output -= part.posterior.outputs();
  }
}

/// out += k(x, x') - φ(x)φ(x')ᵀ: the prior that the features do not see.
void add_missed_prior(const Model::State& state, ConstMatrix x, ConstMatrix phi, MutMatrix out) {
  Matrix<double> prior(x.rows, x.rows);
  gram(one_scalar_kernel(state.recipe.kernel), x, x, prior);
  gemm<double>(false, true, -1.0, phi, phi, 1.0, prior);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index j = 0; j < x.rows; ++j) out(i, j) += prior(i, j);
  }
}

/// Cov f in scaled units.
void scaled_covariance(const Model::State& state, ConstMatrix x, Index output, MutMatrix out) {
  const double noise = state.noise[at(output)];
  if (!state.spectral.empty()) {
    spectral_covariance(state, x, output, out);
  } else if (state.problem) {
    covariance_exact(*state.problem, state.exact, x, output, out);
    multiply(out, noise);
  } else {
    Matrix<double> phi(x.rows, state.map->columns());
    state.map->features(x, phi);
    Matrix<double> centred = phi;
    state.posterior.covariance(state.map->coupling(), centred, output, out);
    multiply(out, noise);
    if (state.completes_prior) add_missed_prior(state, x, phi, out);
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
