#include <mercer/model.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "model/state.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Rows handled at a time. Means of feature maps are cut further by linear_mean; variances multiply their features with a
/// whole matrix.
constexpr Index linear_rows = 8192;
constexpr Index variance_rows = 512;
/// And for functions drawn from a process, each of which costs the same again for every block.
constexpr Index sample_rows = 4096;

/// φ(x)W + c, in chunks whose features stay in the second cache of the thread that computes them: never in memory.
/// n·(2dD + 4Dp) flops and nD pairs of cosine and sine for D frequencies.
template <class Real>
void linear_mean(const Model::State& state, ConstMatrix x, MutMatrix mean) {
  constexpr Index cache_bytes = Index{3} << 18;
  const Index columns = state.map->columns();
  const Index most = std::clamp<Index>(cache_bytes / (static_cast<Index>(sizeof(double)) * columns) / 8 * 8, 8, 512);
  parallel_for((x.rows + most - 1) / most, [&](Index task) {
    thread_local Matrix<Real> narrow;
    thread_local Matrix<Real> phi;
    thread_local Matrix<double> wide;
    const auto shape = []<class T>(Matrix<T>& m, Index rows, Index cols) {
      if (m.rows() < rows || m.cols() != cols) m = Matrix<T>(rows, cols);
    };
    const Index first = task * most;
    const Index rows = std::min(most, x.rows - first);
    shape(narrow, rows, x.cols);
    shape(phi, rows, columns);
    for (Index i = 0; i < rows; ++i) {
      std::ranges::transform(x.row(first + i), narrow.row(i).begin(), [](double v) { return static_cast<Real>(v); });
    }
    const MatrixView<Real> computed = phi.view().row_range(0, rows);
    state.map->features(narrow.view().row_range(0, rows), computed);
    ConstMatrix features;
    if constexpr (std::is_same_v<Real, double>) {
      features = computed;
    } else {
      shape(wide, rows, columns);
      std::transform(phi.data(), phi.data() + rows * columns, wide.data(), [](Real v) { return static_cast<double>(v); });
      features = wide.view().row_range(0, rows);
    }
    const MutMatrix own = mean.row_range(first, rows);
    gemm<double>(false, false, 1.0, features, state.weights, 0.0, own);
    for (Index i = 0; i < rows; ++i) {
      for (Index a = 0; a < own.cols; ++a) own(i, a) += state.intercept[at(a)];
    }
  });
}

/// use(posterior, first output) for each part of a process.
template <class Use>
void for_parts(const Model::State& state, const Use& use) {
  Index first = 0;
  const auto next = [&](const auto& posterior) {
    use(posterior, first);
    first += posterior.outputs();
  };
  for (const SpectralPart& part : state.spectral) next(part.posterior);
  for (const KernelPosterior& part : state.kernel_processes) next(part);
}

/// f in scaled units.
void scaled_mean(const Model::State& state, ConstMatrix x, MutMatrix mean) {
  if (state.is_process()) {
    for_parts(state, [&](const auto& part, Index first) { part.mean(x, mean.col_range(first, part.outputs())); });
  } else if (state.problem) {
    predict_exact(*state.problem, state.exact, x, mean);
  } else if (state.recipe.precision == Precision::single_) {
    linear_mean<float>(state, x, mean);
  } else {
    linear_mean<double>(state, x, mean);
  }
}

/// Var f/σ².
void scaled_variance(const Model::State& state, ConstMatrix x, MutMatrix variance) {
  if (state.is_process()) {
    for_parts(state, [&](const auto& part, Index first) {
      const MutMatrix own = variance.col_range(first, part.outputs());
      part.variance(x, own);
      for (Index i = 0; i < own.rows; ++i) {
        for (double& v : own.row(i)) v /= part.noise();
      }
    });
    return;
  }
  if (state.problem) {
    variance_exact(*state.problem, state.exact, x, variance);
    return;
  }
  Matrix<double> phi(x.rows, state.map->columns());
  state.map->features(x, phi);
  state.posterior.variance(state.map->coupling(), phi, variance);
}

/// Runs `compute` (scaled inputs → rows × p numbers) block by block and hands each row of the answer to `use`.
template <class Compute, class Use>
void for_scaled_blocks(const Model::State& state, ConstMatrix x, Index block_rows, const Compute& compute, const Use& use) {
  for (Index first = 0; first < x.rows; first += block_rows) {
    check_stop();
    const Index count = std::min(block_rows, x.rows - first);
    Matrix<double> scaled(count, x.cols);
    const std::vector<bool> bad = scale_inputs(state.recipe.scaling, x.row_range(first, count), scaled);
    Matrix<double> answer(count, state.recipe.outputs());
    compute(state, scaled, answer);
    for (Index i = 0; i < count; ++i) use(first + i, bad[at(i)], answer.row(i));
  }
}

void check_shapes(const Model& model, ConstMatrix x, MutMatrix mean) {
  if (x.cols != model.inputs()) {
    fail_argument("the model takes " + std::to_string(model.inputs()) + " inputs but the rows have " +
                  std::to_string(x.cols));
  }
  if (mean.rows != x.rows || mean.cols != model.outputs()) fail_argument("the array for predictions has the wrong shape");
}

void check_output(const Model& model, Index output) {
  if (output < 0 || output >= model.outputs()) fail_argument("the model has no output " + std::to_string(output));
}

}  // namespace

Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Index Model::inputs() const {
  return state_->recipe.inputs();
}
Index Model::outputs() const {
  return state_->recipe.classes.empty() ? state_->recipe.outputs() : static_cast<Index>(state_->recipe.classes.size());
}
const std::vector<std::string>& Model::classes() const {
  return state_->recipe.classes;
}
const FitSummary& Model::summary() const {
  return state_->summary;
}
bool Model::has_uncertainty() const {
  if (state_->is_process()) return true;
  return state_->problem ? state_->exact.has_spread() : state_->posterior.kind != Posterior::Kind::none;
}

void Model::predict(ConstMatrix x, MutMatrix mean) const {
  check_shapes(*this, x, mean);
  const Scaling& scaling = state_->recipe.scaling;
  const Index p = state_->recipe.outputs();
  for_scaled_blocks(*state_, x, state_->map && !state_->is_process() ? linear_rows : variance_rows, scaled_mean,
                    [&](Index row, bool bad, std::span<const double> f) {
                      const std::span<double> out = mean.row(row);
                      if (bad) {
                        std::ranges::fill(out, std::numeric_limits<double>::quiet_NaN());
                      } else if (state_->coding.classifies()) {
                        state_->coding.class_scores(f, out);
                      } else {
                        for (Index a = 0; a < p; ++a) {
                          const std::size_t t = state_->recipe.target_of(a);
                          out[at(a)] = f[at(a)] * scaling.target_scale[t] + scaling.target_shift[t];
                        }
                      }
                    });
}

void Model::predict(ConstMatrix x, MutMatrix mean, MutMatrix standard_deviation, bool latent) const {
  if (state_->coding.classifies()) fail_argument("standard deviations are for regression; this model tells classes apart");
  check_shapes(*this, x, standard_deviation);
  predict(x, mean);
  const Scaling& scaling = state_->recipe.scaling;
  const Index p = state_->recipe.outputs();
  for_scaled_blocks(*state_, x, variance_rows, scaled_variance, [&](Index row, bool bad, std::span<const double> variance) {
    for (Index a = 0; a < p; ++a) {
      const double relative = std::max(variance[at(a)], 0.0) + (latent ? 0.0 : 1.0);
      standard_deviation(row, a) = bad ? std::numeric_limits<double>::quiet_NaN()
                                       : std::sqrt(relative * state_->noise[at(a)]) * scaling.target_scale[at(a)];
    }
  });
}

const std::vector<TrainingStep>& Model::training(Index output) const {
  check_output(*this, output);
  static const std::vector<TrainingStep> none;
  if (state_->training.empty()) return none;
  return state_->training.size() == 1 ? state_->training.front() : state_->training[at(output)];
}

void Model::sample(ConstMatrix x, Index count, std::uint64_t seed, MutMatrix values) const {
  if (!state_->is_process())
    fail_argument("functions are drawn from Gaussian processes, models fitted with --gp; this one is another kind");
  const Index p = outputs();
  if (x.cols != inputs() || values.rows != x.rows || values.cols != count * p)
    fail_argument("the array for samples, or the rows, have the wrong shape");
  const Scaling& scaling = state_->recipe.scaling;
  if (x.rows > sample_rows) {
    for (Index first = 0; first < x.rows; first += sample_rows) {
      const Index rows = std::min(sample_rows, x.rows - first);
      sample(x.row_range(first, rows), count, seed, values.row_range(first, rows));
    }
    return;
  }
  Matrix<double> scaled(x.rows, x.cols);
  const std::vector<bool> bad = scale_inputs(scaling, x, scaled);
  for_parts(*state_, [&](const auto& part, Index first) {
    Matrix<double> drawn(x.rows, count * part.outputs());
    part.sample(scaled, count, Stream(seed, "functions").child("part", static_cast<std::uint64_t>(first)), drawn);
    for (Index i = 0; i < x.rows; ++i) {
      for (Index s = 0; s < count; ++s) {
        for (Index a = 0; a < part.outputs(); ++a) {
          const std::size_t t = at(first + a);
          values(i, s * p + first + a) =
              bad[at(i)] ? std::numeric_limits<double>::quiet_NaN()
                         : drawn(i, s * part.outputs() + a) * scaling.target_scale[t] + scaling.target_shift[t];
        }
      }
    }
  });
}

std::vector<Index> Model::classify(ConstMatrix x) const {
  if (!state_->coding.classifies()) fail_argument("this model predicts numbers, not classes");
  Matrix<double> scores(x.rows, outputs());
  predict(x, scores);
  std::vector<Index> result;
  for (Index i = 0; i < x.rows; ++i) {
    result.push_back(std::ranges::max_element(scores.row(i)) - scores.row(i).begin());
  }
  return result;
}

}  // namespace mercer
