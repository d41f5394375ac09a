#include "solve/subgradient.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "solve/feature_rows.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

struct TargetFacts {
  Index rows = 0;
  double weight = 0;
  std::vector<double> mean;
  double spread = 0;
};

TargetFacts target_facts(RowSource& rows, const Loss& loss) {
  const Index p = rows.target_count();
  TargetFacts facts;
  facts.mean.assign(at(p), 0.0);
  std::vector<double> square(at(p), 0.0);
  rows.rewind();
  for (RowBlock block; rows.next(8192, block);) {
    check_stop();
    loss.check_targets(block.targets);
    facts.rows += block.rows();
    for (Index i = 0; i < block.rows(); ++i) {
      const double w = block.weights.empty() ? 1.0 : block.weights[at(i)];
      facts.weight += w;
      for (Index a = 0; a < p; ++a) {
        const double y = block.targets(i, a);
        const double before = y - facts.mean[at(a)];
        if (w > 0) facts.mean[at(a)] += w / facts.weight * before;
        square[at(a)] += w * before * (y - facts.mean[at(a)]);
      }
    }
  }
  if (!(facts.weight > 0)) fail_argument("there are no rows with positive weight to learn from");
  facts.spread = std::sqrt(std::accumulate(square.begin(), square.end(), 0.0) / (facts.weight * static_cast<double>(p)));
  return facts;
}

/// (θ, c) as one vector, and the moments of Adam beside it.
class Walk {
 public:
  Walk(const FeatureMap& map, const SubgradientOptions& options, double step)
      : options_(options),
        step_(step),
        size_(at(map.coupling().parameters())),
        position_(size_ + at(map.outputs()), 0.0),
        first_(position_.size(), 0.0),
        second_(position_.size(), 0.0) {}

  std::vector<double>& position() { return position_; }

  /// One step along the mean subgradient over (θ, c) of the loss; the penalty is added here.
  void move(std::vector<double>& gradient, int pass) {
    for (std::size_t k = 0; k < size_; ++k) gradient[k] += options_.penalty * position_[k];
    for (std::size_t k = size_; k < gradient.size() && !options_.intercept; ++k) gradient[k] = 0;
    const double step = step_ / std::sqrt(static_cast<double>(pass));
    if (options_.method == DescentMethod::sgd) {
      for (std::size_t k = 0; k < gradient.size(); ++k) position_[k] -= step * gradient[k];
      return;
    }
    decay_first_ *= keep_first;
    decay_second_ *= keep_second;
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      first_[k] = keep_first * first_[k] + (1 - keep_first) * gradient[k];
      second_[k] = keep_second * second_[k] + (1 - keep_second) * gradient[k] * gradient[k];
      const double mean = first_[k] / (1 - decay_first_);
      const double root = std::sqrt(second_[k] / (1 - decay_second_));
      position_[k] -= step * mean / (root + 1e-8);
    }
  }

 private:
  static constexpr double keep_first = 0.9;  // Kingma & Ba 2015
  static constexpr double keep_second = 0.999;
  const SubgradientOptions& options_;
  double step_;
  std::size_t size_;
  std::vector<double> position_;
  std::vector<double> first_;
  std::vector<double> second_;
  double decay_first_ = 1;
  double decay_second_ = 1;
};

template <class Real>
class Problem {
 public:
  Problem(const FeatureMap& map, RowSource& rows, const Loss& loss, const SubgradientOptions& options,
          const TargetFacts& facts)
      : map_(map), rows_(rows), loss_(loss), options_(options), facts_(facts), weights_(map.columns(), map.outputs()) {}

  /// f (rows × p) of feature rows at (θ, c).
  Matrix<double> values(MatrixView<const Real> phi, const std::vector<double>& position) {
    const Index p = map_.outputs();
    const std::size_t size = at(map_.coupling().parameters());
    map_.coupling().expand(std::span(position).first(size), weights_);
    Matrix<Real> narrow(weights_.rows(), p);
    std::ranges::transform(weights_.values(), narrow.values().begin(), [](double x) { return static_cast<Real>(x); });
    Matrix<Real> product(phi.rows, p);
    gemm<Real>(false, false, Real(1), phi, narrow, Real(0), product);
    Matrix<double> f(phi.rows, p);
    for (Index i = 0; i < f.rows(); ++i) {
      for (Index a = 0; a < p; ++a) f(i, a) = static_cast<double>(product(i, a)) + position[size + at(a)];
    }
    return f;
  }

  void pass(int number, Walk& walk, std::vector<double>& mean, Index& averaged) {
    FeatureRows<Real> blocks(map_, rows_);
    blocks.rewind();
    const Stream order = Stream(options_.seed, "subgradient order").child("pass", static_cast<std::uint64_t>(number));
    while (blocks.next()) {
      check_stop();
      std::vector<Index> rows(at(blocks.count()));
      std::iota(rows.begin(), rows.end(), Index{0});
      const auto key = [&](Index i) { return order.bits(static_cast<std::uint64_t>(blocks.first_row() + i), 0); };
      std::ranges::sort(rows, {}, key);
      for (std::size_t first = 0; first < rows.size(); first += at(options_.batch)) {
        const std::size_t count = std::min(at(options_.batch), rows.size() - first);
        step(blocks, std::span(rows).subspan(first, count), number, walk);
        if (2 * number <= options_.passes) continue;
        ++averaged;
        for (std::size_t k = 0; k < mean.size(); ++k) {
          mean[k] += (walk.position()[k] - mean[k]) / static_cast<double>(averaged);
        }
      }
    }
  }

  double objective(const std::vector<double>& position) {
    FeatureRows<Real> blocks(map_, rows_);
    blocks.rewind();
    double sum = 0;
    while (blocks.next()) {
      check_stop();
      const Matrix<double> f = values(blocks.features(), position);
      const ConstMatrix y = blocks.source_block().targets;
      for (Index i = 0; i < f.rows(); ++i) sum += blocks.weight(i) * loss_.value(f.row(i), y.row(i));
    }
    double square = 0;
    for (std::size_t k = 0; k < at(map_.coupling().parameters()); ++k) square += position[k] * position[k];
    return sum / facts_.weight + 0.5 * options_.penalty * square;
  }

 private:
  void step(FeatureRows<Real>& block, std::span<const Index> chosen, int number, Walk& walk) {
    const Index p = map_.outputs();
    const auto count = static_cast<Index>(chosen.size());
    Matrix<Real> phi(count, map_.columns());
    for (Index i = 0; i < count; ++i) std::ranges::copy(block.features().row(chosen[at(i)]), phi.row(i).begin());
    const Matrix<double> f = values(phi, walk.position());
    std::vector<double> gradient(walk.position().size(), 0.0);
    const std::size_t size = at(map_.coupling().parameters());
    Matrix<Real> slopes(count, p);
    std::vector<double> slope(at(p));
    for (Index i = 0; i < count; ++i) {
      const Index row = chosen[at(i)];
      loss_.gradient(f.row(i), block.source_block().targets.row(row), slope);
      // Batches are drawn without regard to the weights: scaled so that the mean over batches is the gradient of (P).
      const double w = block.weight(row) * static_cast<double>(facts_.rows) / (facts_.weight * static_cast<double>(count));
      for (Index a = 0; a < p; ++a) {
        slopes(i, a) = static_cast<Real>(w * slope[at(a)]);
        gradient[size + at(a)] += w * slope[at(a)];
      }
    }
    Matrix<Real> product(map_.columns(), p);
    gemm<Real>(true, false, Real(1), phi, slopes, Real(0), product);
    Matrix<double> wide(product.rows(), p);
    std::ranges::transform(product.values(), wide.values().begin(), [](Real x) { return static_cast<double>(x); });
    map_.coupling().contract(wide, std::span(gradient).first(size));
    walk.move(gradient, number);
  }

  const FeatureMap& map_;
  RowSource& rows_;
  const Loss& loss_;
  const SubgradientOptions& options_;
  const TargetFacts& facts_;
  Matrix<double> weights_;
};

/// Adam moves every coefficient by about `step`, so a tenth of the spread over all columns together; plain steps go with
/// spread over slope, which cannot diverge, or where slopes are unbounded with the curvature.
double first_step(const FeatureMap& map, const Loss& loss, const SubgradientOptions& options, double spread) {
  if (options.step > 0) return options.step;
  const double unit = spread > 0 ? spread : 1.0;
  if (options.method == DescentMethod::adam) return 0.1 * unit / std::sqrt(static_cast<double>(map.columns()));
  if (std::isfinite(loss.lipschitz()) && loss.lipschitz() > 0) return unit / loss.lipschitz();
  return std::isfinite(loss.smoothness()) && loss.smoothness() > 0 ? 0.5 / loss.smoothness() : 1.0;
}

template <class Real>
SubgradientSolution descend(const FeatureMap& map, RowSource& rows, const Loss& loss, const SubgradientOptions& options,
                            Progress* progress) {
  const Stopwatch clock;
  const TargetFacts facts = target_facts(rows, loss);
  Walk walk(map, options, first_step(map, loss, options, facts.spread));
  const std::size_t size = at(map.coupling().parameters());
  if (options.intercept) std::ranges::copy(facts.mean, walk.position().begin() + map.coupling().parameters());
  Problem<Real> problem(map, rows, loss, options, facts);
  std::vector<double> best;
  std::vector<double> mean(walk.position().size(), 0.0);
  Index averaged = 0;
  SubgradientSolution solution;
  solution.objective = std::numeric_limits<double>::infinity();
  const auto consider = [&](const std::vector<double>& position, int pass) {
    const double value = problem.objective(position);
    if (value < solution.objective || best.empty()) {
      solution.objective = value;
      best = position;
    }
    solution.trace.push_back({pass, value, -std::numeric_limits<double>::infinity(), clock.seconds()});
  };
  for (int pass = 1; pass <= options.passes; ++pass) {
    problem.pass(pass, walk, mean, averaged);
    consider(walk.position(), pass);
    report(progress, "solving", static_cast<double>(pass) / static_cast<double>(options.passes));
  }
  if (averaged > 0) consider(mean, options.passes);
  if (!std::isfinite(solution.objective)) fail_argument("the steps diverge; --solver admm takes none");
  solution.weights = Matrix<double>(map.columns(), map.outputs());
  map.coupling().expand(std::span(best).first(size), solution.weights);
  solution.intercept.assign(best.begin() + map.coupling().parameters(), best.end());
  return solution;
}

}  // namespace

SubgradientSolution solve_subgradient(const FeatureMap& map, RowSource& rows, const Loss& loss, Precision precision,
                                      const SubgradientOptions& options, Progress* progress) {
  if (rows.target_count() != map.outputs()) {
    fail_argument("the map has " + std::to_string(map.outputs()) + " outputs but the rows have " +
                  std::to_string(rows.target_count()) + " targets");
  }
  if (options.passes < 1 || options.batch < 1)
    fail_argument("stochastic descent needs at least one pass and one row a batch");
  if (!(options.penalty >= 0) || !std::isfinite(options.penalty)) {
    fail_argument("the penalty must not be negative, as " + shortest(options.penalty) + " is");
  }
  return precision == Precision::single_ ? descend<float>(map, rows, loss, options, progress)
                                         : descend<double>(map, rows, loss, options, progress);
}

}  // namespace mercer
