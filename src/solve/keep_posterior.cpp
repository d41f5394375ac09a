#include "solve/keep_posterior.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "base/parallel.hpp"
#include "base/random.hpp"

namespace mercer {
namespace {

/// Posterior draws from a factor: L⁻ᵀη has covariance (LLᵀ)⁻¹. Column s of the result is draw s. In the precision of the
/// factor: one of 8000 unknowns in double is 256 MB.
template <class Real>
Matrix<double> draws(const Matrix<Real>& factor, std::string_view what) {
  const Stream stream(0, what);
  Matrix<Real> eta(factor.rows(), posterior_samples);
  for (Index k = 0; k < eta.rows(); ++k) {
    for (Index s = 0; s < posterior_samples; ++s)
      eta(k, s) = static_cast<Real>(stream.normal(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(s)));
  }
  solve_lower_transposed(factor.view(), eta.view());
  if constexpr (std::is_same_v<Real, double>) {
    return eta;
  } else {
    Matrix<double> result(eta.rows(), eta.cols());
    std::ranges::copy(eta.values(), result.values().begin());
    return result;
  }
}

void keep_full(Matrix<double>&& factor, Posterior& posterior) {
  posterior.kind = Posterior::Kind::cholesky;
  posterior.factor = std::move(factor);
}
void keep_full(const Matrix<float>& factor, Posterior& posterior) {
  Matrix<double> wide(factor.rows(), factor.cols(), Pages::small);
  parallel_for(wide.rows(), [&](Index i) { std::copy_n(factor.row(i).begin(), i + 1, wide.row(i).begin()); });
  keep_full(std::move(wide), posterior);
}

/// Adds draw s of channel coefficients (m × count) times B_j to the deviations of W, stored (count·p) × m.
void add_channel_draws(const Matrix<double>& coefficients, const Matrix<double>& b, Index channel,
                       Matrix<double>& deviations) {
  const Index p = b.rows();
  for (Index s = 0; s < coefficients.cols(); ++s) {
    for (Index a = 0; a < p; ++a) {
      for (Index c = 0; c < coefficients.rows(); ++c) deviations(s * p + a, c) += b(a, channel) * coefficients(c, s);
    }
  }
}

}  // namespace

void keep_posterior_base(const NormalSystem& system, double ridge, Posterior& posterior) {
  posterior.ridge = ridge;
  posterior.mean_feature = system.mean_feature;
  posterior.intercept_variance = system.intercept ? 1 / system.weight : 0;
}

template <class Real>
void keep_channels(const Channels& channels, const std::vector<Index>& run, Uncertainty keep, Matrix<Real>&& factor,
                   Posterior& posterior) {
  if (keep == Uncertainty::none) return;
  if (keep == Uncertainty::full) return keep_full(std::move(factor), posterior);
  if (posterior.kind != Posterior::Kind::samples) {
    posterior.kind = Posterior::Kind::samples;
    posterior.factor = Matrix<double>(posterior_samples * channels.factor.rows(), factor.rows());
  }
  for (const Index j : run)
    add_channel_draws(draws(factor, "posterior " + std::to_string(j)), channels.factor, j, posterior.factor);
}

void keep_eigen(Eigen&& eigen, Posterior& posterior) {
  posterior.kind = Posterior::Kind::eigen;
  posterior.factor = std::move(eigen.vectors);
  posterior.spectrum = std::move(eigen.values);
}

template <class Real>
void keep_coupled(const Coupling& coupling, Uncertainty keep, Matrix<Real>&& factor, Posterior& posterior) {
  if (keep == Uncertainty::none) return;
  if (keep == Uncertainty::full) return keep_full(std::move(factor), posterior);
  const Matrix<double> drawn = draws(factor, "posterior");
  const Index p = coupling.outputs();
  posterior.kind = Posterior::Kind::samples;
  posterior.factor = Matrix<double>(posterior_samples * p, coupling.columns());
  Matrix<double> w(coupling.columns(), p);
  std::vector<double> one(static_cast<std::size_t>(coupling.parameters()));
  for (Index s = 0; s < posterior_samples; ++s) {
    for (Index k = 0; k < coupling.parameters(); ++k) one[static_cast<std::size_t>(k)] = drawn(k, s);
    coupling.expand(one, w);
    posterior.set_draw(s, w);
  }
}

template void keep_channels(const Channels&, const std::vector<Index>&, Uncertainty, Matrix<float>&&, Posterior&);
template void keep_channels(const Channels&, const std::vector<Index>&, Uncertainty, Matrix<double>&&, Posterior&);
template void keep_coupled(const Coupling&, Uncertainty, Matrix<float>&&, Posterior&);
template void keep_coupled(const Coupling&, Uncertainty, Matrix<double>&&, Posterior&);

}  // namespace mercer
