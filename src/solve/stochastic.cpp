#include "solve/stochastic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "solve/feature_rows.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// The state of the descent: system 0 is the fit, the others are draws of the posterior (targets ε/√w, ridge centred at a
/// draw of the prior, an intercept of their own so that the features count as centred), all stepping along the same rows.
template <class Real>
class Descent {
 public:
  Descent(const FeatureMap& map, const StochasticOptions& options, Index draws)
      : map_(map),
        options_(options),
        systems_(draws + 1),
        theta_(systems_, map.coupling().parameters()),
        mean_(systems_, map.coupling().parameters()),
        centre_(systems_, map.coupling().parameters()),
        intercept_(at(systems_ * map.outputs()), 0.0),
        mean_intercept_(at(map.outputs()), 0.0),
        weights_(map.columns(), systems_ * map.outputs()) {}

  void set_scale(double step, Index batch, double total_weight, Index rows) {
    step_ = step;
    batch_ = batch;
    row_weight_ = static_cast<double>(rows) / total_weight;
    const Stream stream(0, "posterior prior");
    const double spread = 1 / std::sqrt(options_.penalty * total_weight);
    for (Index s = 1; s < systems_; ++s) {
      for (Index k = 0; k < centre_.cols(); ++k) {
        centre_(s, k) = spread * stream.normal(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(s));
      }
    }
  }

  /// One step on the given rows of a block; `averaging` adds the new iterate to the mean. Fewer rows than a batch take a
  /// proportionally shorter step: a step of full size on one row alone could overshoot.
  void step(const FeatureRows<Real>& block, MatrixView<const Real> phi, MatrixView<const Real> targets,
            const std::vector<Index>& chosen, bool averaging) {
    const Index p = map_.outputs();
    const auto b = static_cast<Index>(chosen.size());
    Matrix<Real> features(b, map_.columns());
    for (Index i = 0; i < b; ++i) std::ranges::copy(phi.row(chosen[at(i)]), features.row(i).begin());
    expand_all();
    Matrix<Real> f(b, systems_ * p);
    gemm<Real>(false, false, Real(1), features, weights_, Real(0), f);
    std::vector<double> shift(at(f.cols()), 0.0);
    for (Index i = 0; i < b; ++i) {
      const Index row = chosen[at(i)];
      const double w = block.weight(row) * row_weight_ / static_cast<double>(b);
      for (Index k = 0; k < f.cols(); ++k) {
        const Index a = k % p;
        double residual = static_cast<double>(f(i, k)) + intercept_[at(k)];
        if (k < p) {
          residual -= static_cast<double>(targets(row, a));
        } else if (block.weight(row) > 0) {
          residual -= noise_.normal(static_cast<std::uint64_t>(block.first_row() + row), static_cast<std::uint64_t>(k)) /
                      std::sqrt(block.weight(row));
        }
        shift[at(k)] += w * residual;
        f(i, k) = static_cast<Real>(w * residual);
      }
    }
    Matrix<Real> gradient(map_.columns(), f.cols());
    gemm<Real>(true, false, Real(1), features, f, Real(0), gradient);
    const double length = std::min(1.0, static_cast<double>(b) / static_cast<double>(batch_));
    descend(gradient, length * step_, averaging);
    if (options_.intercept) {
      // The intercept has curvature 1; it takes steps of at most ½.
      for (std::size_t k = 0; k < shift.size(); ++k) intercept_[k] -= length * std::min(step_, 0.5) * shift[k];
    }
    if (averaging) {
      for (Index a = 0; a < p; ++a) {
        mean_intercept_[at(a)] += (intercept_[at(a)] - mean_intercept_[at(a)]) / static_cast<double>(averaged_);
      }
    }
  }

  Matrix<double> mean_weights(Index system) const {
    Matrix<double> w(map_.columns(), map_.outputs());
    map_.coupling().expand(mean_.row(system), w);
    return w;
  }
  const Matrix<double>& mean() const { return mean_; }
  const std::vector<double>& intercept() const { return mean_intercept_; }

 private:
  void expand_all() {
    const Index p = map_.outputs();
    Matrix<double> one(map_.columns(), p);
    for (Index s = 0; s < systems_; ++s) {
      map_.coupling().expand(theta_.row(s), one);
      for (Index c = 0; c < one.rows(); ++c) {
        for (Index a = 0; a < p; ++a) weights_(c, s * p + a) = static_cast<Real>(one(c, a));
      }
    }
  }
  void descend(const Matrix<Real>& gradient, double step, bool averaging) {
    const Index p = map_.outputs();
    Matrix<double> one(map_.columns(), p);
    std::vector<double> g(at(theta_.cols()));
    if (averaging) ++averaged_;
    for (Index s = 0; s < systems_; ++s) {
      for (Index c = 0; c < one.rows(); ++c) {
        for (Index a = 0; a < p; ++a) one(c, a) = static_cast<double>(gradient(c, s * p + a));
      }
      map_.coupling().contract(one, g);
      for (Index k = 0; k < theta_.cols(); ++k) {
        theta_(s, k) -= step * (g[at(k)] + options_.penalty * (theta_(s, k) - centre_(s, k)));
        if (averaging) mean_(s, k) += (theta_(s, k) - mean_(s, k)) / static_cast<double>(averaged_);
      }
    }
  }

  const FeatureMap& map_;
  const StochasticOptions& options_;
  Index systems_;
  Matrix<double> theta_;
  Matrix<double> mean_;
  Matrix<double> centre_;
  std::vector<double> intercept_;  ///< of every system and output
  std::vector<double> mean_intercept_;
  Matrix<Real> weights_;
  Stream noise_{0, "posterior rows"};
  double step_ = 1;
  Index batch_ = 1;
  double row_weight_ = 1;
  Index averaged_ = 0;
};

struct Scale {
  double weight = 0;
  Index rows = 0;
  double largest = 0;  ///< L: largest eigenvalue of (1/n) Σ w Φ Φᵀ, by power iteration on the first block
  double row = 0;  ///< R²: bound on the squared norm of a row's feature operator, times its weight relative to the mean one
};

/// max_i w_i ‖Φ_i‖² over weighted rows √w φ, with ‖Φ_i‖² = ‖K~(x_i, x_i)‖ bounded by its largest row sum (Gershgorin).
double largest_row(const Coupling& coupling, ConstMatrix phi) {
  constexpr Index rows = 16;  // unfolded at a time
  const Index p = coupling.outputs();
  Matrix<double> unfolded(rows * p, coupling.parameters());
  double largest = 0;
  for (Index first = 0; first < phi.rows; first += rows) {
    const Index count = std::min(rows, phi.rows - first);
    coupling.dense_rows(phi.row_range(first, count), unfolded);
    for (Index i = 0; i < count; ++i) {
      for (Index a = 0; a < p; ++a) {
        double sum = 0;
        for (Index c = 0; c < p; ++c) {
          const auto u = unfolded.row(i * p + a);
          const auto v = unfolded.row(i * p + c);
          sum += std::abs(std::inner_product(u.begin(), u.end(), v.begin(), 0.0));
        }
        largest = std::max(largest, sum);
      }
    }
  }
  return largest;
}

template <class Real>
Scale measure(const FeatureMap& map, RowSource& rows) {
  constexpr int power_steps = 12;
  Scale scale;
  FeatureRows<Real> blocks(map, rows);
  blocks.rewind();
  const Coupling& coupling = map.coupling();
  const Index p = map.outputs();
  while (blocks.next()) {
    if (scale.rows == 0) {
      Matrix<double> phi(blocks.count(), map.columns());
      for (Index i = 0; i < phi.rows(); ++i) {
        const double root = std::sqrt(blocks.weight(i));
        for (Index c = 0; c < phi.cols(); ++c) phi(i, c) = root * static_cast<double>(blocks.features()(i, c));
      }
      scale.row = largest_row(coupling, phi);
      std::vector<double> theta(at(coupling.parameters()));
      const Stream stream(0, "power iteration");
      for (std::size_t k = 0; k < theta.size(); ++k) theta[k] = stream.normal(k, 0);
      Matrix<double> w(map.columns(), p);
      Matrix<double> f(phi.rows(), p);
      for (int t = 0; t < power_steps; ++t) {
        const double norm = std::sqrt(std::inner_product(theta.begin(), theta.end(), theta.begin(), 0.0));
        for (double& v : theta) v /= norm > 0 ? norm : 1;
        coupling.expand(theta, w);
        gemm<double>(false, false, 1.0, phi, w, 0.0, f);
        double energy = 0;
        for (const double v : f.values()) energy += v * v;
        scale.largest = energy / static_cast<double>(phi.rows());
        gemm<double>(true, false, 1.0, phi, f, 0.0, w);
        coupling.contract(w, theta);
      }
    }
    for (Index i = 0; i < blocks.count(); ++i) scale.weight += blocks.weight(i);
    scale.rows += blocks.count();
  }
  if (!(scale.weight > 0)) fail_argument("there are no rows with positive weight to learn from");
  // Gradients are taken with weights relative to their mean.
  const double relative = static_cast<double>(scale.rows) / scale.weight;
  if (!std::isfinite(scale.row)) {
    fail_argument("the features overflow: scale the data (standardize) or lower the degree of the kernel");
  }
  scale.largest *= relative;
  scale.row *= relative;
  return scale;
}

/// Fisher-Yates on row numbers, addressed by (pass, block).
std::vector<Index> shuffled(Index count, const Stream& stream) {
  std::vector<Index> order(at(count));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = count - 1; i > 0; --i) {
    const auto j = static_cast<Index>(stream.below(static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(i), 0));
    std::swap(order[at(i)], order[at(j)]);
  }
  return order;
}

template <class Real>
RidgeSolution solve_in(const FeatureMap& map, RowSource& rows, const StochasticOptions& options, Progress* progress) {
  if (options.penalty <= 0) fail_argument("the sgd solver needs a penalty above 0");
  const Scale scale = measure<Real>(map, rows);
  const bool keep = resolve(options.keep, full_posterior_limit + 1) != Uncertainty::none;
  const Index draws = keep ? posterior_samples : 8;
  Descent<Real> descent(map, options, draws);
  const Index batch = std::min(options.batch, scale.rows);
  const double curvature = scale.largest + scale.row / static_cast<double>(batch) + options.penalty;
  descent.set_scale(1 / curvature, batch, scale.weight, scale.rows);

  Matrix<double> before;
  for (int pass = 0; pass < options.passes; ++pass) {
    report(progress, "stochastic gradients", static_cast<double>(pass) / options.passes);
    if (pass + 1 == options.passes) before = descent.mean_weights(0);
    FeatureRows<Real> blocks(map, rows);
    blocks.rewind();
    const Stream order(options.seed, "sgd");
    while (blocks.next()) {
      check_stop();
      const auto shuffle = shuffled(blocks.count(), order.child("pass", static_cast<std::uint64_t>(pass))
                                                        .child("block", static_cast<std::uint64_t>(blocks.first_row())));
      for (Index first = 0; first < blocks.count(); first += batch) {
        const Index last = std::min(first + batch, blocks.count());
        descent.step(blocks, blocks.features(), blocks.targets(), {shuffle.begin() + first, shuffle.begin() + last},
                     2 * (pass + 1) > options.passes);
      }
    }
  }

  RidgeSolution solution;
  solution.solver = "sgd";
  solution.iterations = options.passes;
  solution.weight = scale.weight;
  solution.weights = descent.mean_weights(0);
  solution.intercept = descent.intercept();
  double moved = 0;
  double size = 0;
  for (Index i = 0; i < before.size(); ++i) {
    moved += std::pow(solution.weights.data()[i] - before.data()[i], 2);
    size += std::pow(solution.weights.data()[i], 2);
  }
  solution.residual = size > 0 ? std::sqrt(moved / size) : 0;
  solution.note = "averaged stochastic gradients give an approximate answer: the mean moved by a relative " +
                  shortest(std::round(solution.residual * 1e6) / 1e6) +
                  " in the last pass and may have farther to go; degrees of freedom come out too large and noise with them, "
                  "by far where the penalty is small";

  const Index p = map.outputs();
  std::vector<double> rss(at(p), 0.0);
  solution.posterior.mean_feature.assign(at(map.columns()), 0.0);
  FeatureRows<double> blocks(map, rows);
  blocks.rewind();
  while (blocks.next()) {
    Matrix<double> f(blocks.count(), p);
    gemm<double>(false, false, 1.0, blocks.features(), solution.weights, 0.0, f);
    for (Index i = 0; i < blocks.count(); ++i) {
      for (Index a = 0; a < p; ++a) {
        const double r = blocks.targets()(i, a) - f(i, a) - solution.intercept[at(a)];
        rss[at(a)] += blocks.weight(i) * r * r;
      }
      if (!options.intercept) continue;
      for (Index c = 0; c < map.columns(); ++c) {
        solution.posterior.mean_feature[at(c)] += blocks.weight(i) * blocks.features()(i, c) / scale.weight;
      }
    }
  }
  double inverse_trace = 0;
  for (Index s = 1; s <= draws; ++s) {
    for (const double v : descent.mean().row(s)) inverse_trace += v * v / static_cast<double>(draws);
  }
  const double ridge = options.penalty * scale.weight;
  const auto parameters = static_cast<double>(map.coupling().parameters());
  const double trace = std::clamp(parameters - ridge * inverse_trace, 0.0, parameters);
  solution.degrees_of_freedom = trace / static_cast<double>(p) + (options.intercept ? 1 : 0);
  for (const double r : rss) {
    solution.noise.push_back(r / std::max(scale.weight - solution.degrees_of_freedom, 0.01 * scale.weight));
  }
  solution.posterior.ridge = ridge;
  solution.posterior.intercept_variance = options.intercept ? 1 / scale.weight : 0;
  if (!keep) return solution;
  solution.posterior.kind = Posterior::Kind::samples;
  solution.posterior.factor = Matrix<double>(posterior_samples * p, map.columns());
  for (Index s = 0; s < posterior_samples; ++s) {
    solution.posterior.set_draw(s, descent.mean_weights(s + 1));
  }
  return solution;
}

}  // namespace

RidgeSolution solve_stochastic(const FeatureMap& map, RowSource& rows, Precision precision, const StochasticOptions& options,
                               Progress* progress) {
  return precision == Precision::single_ ? solve_in<float>(map, rows, options, progress)
                                         : solve_in<double>(map, rows, options, progress);
}

}  // namespace mercer
