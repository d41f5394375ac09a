#include "model/plan_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "backend/backend.hpp"
#include "backend/packed_rows.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "model/fit_ridge.hpp"
#include "model/ridge_plan.hpp"

namespace mercer {
namespace {

bool is_ridge(const FitOptions& options) {
  return options.loss == "square" && options.quantiles.empty() && options.solver != "admm" && options.solver != "adam";
}

/// Passes of the certified solver: a guess, since they depend on the loss and the penalty. Twelve penalties on four fifths
/// of the rows come first where none is given.
double passes_of(const FitOptions& options) {
  constexpr double last = 100;
  constexpr double coarse = 12 * 50 * 0.8;
  return options.penalty ? last : last + coarse;
}

/// An eigendecomposition behaves like 20 m³ flops of one thread at the Gram update (measured: it is bound by memory), in
/// which time all of them would do as many each.
double eigen_flops(double m) {
  return 20 * m * m * m * threads();
}

/// Any loss: an eigendecomposition for the fit, and one with its Gram matrix for the choice of the penalty.
double certified_flops(const FeatureMap& map, Index rows, const FitOptions& options) {
  const Coupling& coupling = map.coupling();
  const auto m = static_cast<double>(coupling.is_constant() ? coupling.columns() : coupling.parameters());
  const double gram = 0.8 * static_cast<double>(rows) * std::pow(static_cast<double>(map.columns()), 2);
  const double eigen = eigen_flops(m);
  return options.penalty ? eigen : 2 * eigen + gram;
}

/// Rows times features that the choice of a penalty leaves out.
double left_out_values(const FeatureMap& map, Index rows, const FitOptions& options) {
  const std::string solver = choose_solver(map, rows, options).solver;
  if (solver == "cg" || solver == "sgd") {  // those of a smaller map
    constexpr double pilot = 1200;
    return std::min(static_cast<double>(leave_one_out_limits(options, true).values),
                    static_cast<double>(rows) * std::min(pilot, static_cast<double>(map.columns())));
  }
  const bool eigen = system_size(map.coupling()) <= eigen_limit;
  return static_cast<double>(leave_one_out_count(map, rows, leave_one_out_limits(options, eigen))) *
         static_cast<double>(unfolded_features(map));
}

/// Leave-one-out rows take 2qm² beside an eigendecomposition, and predictions and leverages for some 47 penalties; Cholesky
/// is m³/3.
double solve_flops(const FeatureMap& map, Index rows, const FitOptions& options) {
  if (!is_ridge(options)) return certified_flops(map, rows, options);
  const Coupling& coupling = map.coupling();
  const auto m = static_cast<double>(coupling.is_constant() ? coupling.columns() : coupling.parameters());
  const std::string solver = choose_solver(map, rows, options).solver;
  if (solver == "eigen" || (solver == "refined" && !options.penalty))
    return eigen_flops(m) + 2 * left_out_values(map, rows, options) * (m + 2 * 47 * static_cast<double>(map.outputs()));
  constexpr double penalties = 18;
  return options.penalty ? m * m * m / 3 : penalties * (m * m * m / 3 + left_out_values(map, rows, options) * m);
}

constexpr Index side = 512;  ///< of the blocks that speeds are measured on

template <class Real>
struct FullBlock {
  Matrix<Real> f{side, side};
  Matrix<double> g{side, side};

  FullBlock() { std::ranges::fill(f.values(), Real(0.5)); }
  void multiply() { accumulate_gram<Real>(f, g); }
};

template <class Sum>
struct PackedBlock {
  PackedRows<Sum> f{side, side};
  Matrix<Sum> g{side, side};

  PackedBlock() { f.set_rows(side); }
  void multiply() { accumulate_gram<Sum>(f, g); }
};

/// Flops per second of all threads, with a block of side³ flops for each: a single one would leave most of many threads
/// idle. They are made in parallel: one thread took 50 ms to clear those of sixteen.
template <class Block>
double speed() {
  std::vector<std::optional<Block>> blocks(static_cast<std::size_t>(threads()));
  const auto all = static_cast<Index>(blocks.size());
  parallel_for(all, [&](Index t) { blocks[static_cast<std::size_t>(t)].emplace(); });
  const double seconds =
      fastest(3, [&] { parallel_for(all, [&](Index t) { blocks[static_cast<std::size_t>(t)]->multiply(); }); });
  return std::pow(static_cast<double>(side), 3) * static_cast<double>(all) / seconds;
}

}  // namespace

void check_wishes(double error, double confidence) {
  if (!(error > 0 && error < 1)) fail_argument("--error must lie between 0 and 1, got " + shortest(error));
  if (!(confidence > 0 && confidence < 1))
    fail_argument("--confidence must lie between 0 and 1, got " + shortest(confidence));
}

double gram_speed(Precision precision) {
  return precision == Precision::single_ ? speed<FullBlock<float>>() : speed<FullBlock<double>>();
}

double gram_speed(GramPrecision gram) {
  switch (gram) {
    case GramPrecision::int8:
      return speed<PackedBlock<std::int32_t>>();
    case GramPrecision::bf16:
      return speed<PackedBlock<float>>();
    case GramPrecision::bf16_three:
      return speed<PackedBlock<float>>() / 3;
    case GramPrecision::float32:
      break;
  }
  return gram_speed(Precision::single_);
}

double pass_seconds(const FeatureMap& map, Index rows, const FitOptions& options) {
  if (is_ridge(options)) return 0;
  // Φ W and Φᵀ R on a block of features, as a pass does them: few columns, so that reading Φ is what takes the time.
  constexpr Index block_rows = 2048;
  constexpr Index block_columns = 512;
  Matrix<double> phi(block_rows, block_columns);
  Matrix<double> weights(block_columns, map.outputs());
  Matrix<double> residuals(block_rows, map.outputs());
  for (double& v : phi.values()) v = 0.5;
  const double best = fastest(3, [&] {
    gemm<double>(false, false, 1.0, phi, weights, 0.0, residuals);
    gemm<double>(true, false, 1.0, phi, residuals, 0.0, weights);
  });
  const double values = static_cast<double>(rows) * static_cast<double>(map.columns());
  return passes_of(options) * best * values / static_cast<double>(block_rows * block_columns);
}

double fit_bytes(const FeatureMap& map, Index rows, const FitOptions& options) {
  if (!is_ridge(options)) {  // features are kept up to half of the budget; beyond they are computed or read again
    const double values = static_cast<double>(rows) * static_cast<double>(map.columns() + 6 * map.outputs());
    FitOptions ridge = options;  // whose eigendecomposition they use
    ridge.solver = "eigen";
    return std::min(8 * values, static_cast<double>(options.memory_bytes) / 2) + fit_memory_bytes(map, rows, ridge);
  }
  return (options.penalty ? 0.0 : left_out_bytes * left_out_values(map, rows, options)) +
         fit_memory_bytes(map, rows, options);
}

double feature_rows(const FeatureMap& map, Index rows, const FitOptions& options) {
  const auto n = static_cast<double>(rows);
  if (!is_ridge(options)) return options.penalty ? n : 2 * n;
  return options.penalty ? n : n + left_out_values(map, rows, options) / static_cast<double>(unfolded_features(map));
}

double fit_flops(const FeatureMap& map, Index rows, const FitOptions& options) {
  return static_cast<double>(rows) * std::pow(static_cast<double>(map.columns()), 2) + solve_flops(map, rows, options);
}

double fit_seconds(const FeatureMap& map, RowSource& scaled, const Recipe& recipe, const FitOptions& options, double flops) {
  const Index rows = scaled.row_count();
  if (!is_ridge(options) || choose_solver(map, rows, options).solver != "refined")
    return fit_flops(map, rows, options) / flops + pass_seconds(map, rows, options);
  const bool standard_deviations = wished_uncertainty(recipe, options) != Uncertainty::none;
  return plan_ridge(map, scaled, recipe.precision, standard_deviations, options).seconds +
         solve_flops(map, rows, options) / flops;
}

}  // namespace mercer
