#include "model/plan.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "kernel/evaluate.hpp"
#include "model/plan_cost.hpp"
#include "theory/bounds.hpp"

namespace mercer {
namespace {

/// Rows sampled for the measured error, and an upper bound of the diameter: twice the largest distance from the mean.
struct Sampled {
  Matrix<double> rows;
  double diameter = 0;
};

Sampled sample(RowSource& scaled, Index most) {
  const Index n = scaled.row_count();
  const Index wanted = std::min(n, most);
  Sampled result{Matrix<double>(wanted, scaled.input_count()), 0};
  std::vector<double> mean(static_cast<std::size_t>(scaled.input_count()), 0.0);
  RowBlock block;
  for (const bool measuring : {false, true}) {
    Index next = 0;
    scaled.rewind();
    while (scaled.next(4096, block)) {
      for (Index i = 0; i < block.rows(); ++i) {
        const Index row = block.first_row + i;
        double square = 0;
        for (Index k = 0; k < block.inputs.cols; ++k) {
          const auto j = static_cast<std::size_t>(k);
          if (!measuring) mean[j] += block.inputs(i, k) / static_cast<double>(n);
          square += std::pow(block.inputs(i, k) - mean[j], 2);
        }
        if (measuring) result.diameter = std::max(result.diameter, 2 * std::sqrt(square));
        if (!measuring && next < wanted && row == next * n / wanted)
          std::ranges::copy(block.inputs.row(i), result.rows.row(next++).begin());
      }
    }
  }
  return result;
}

/// ‖A‖₂ of a small symmetric matrix.
double spectral_norm(ConstMatrix a) {
  const Eigen e = eigh(a);
  return std::max(std::abs(e.values.front()), std::abs(e.values.back()));
}

struct Measured {
  double largest = 0;
  double typical = 0;
};

Measured measure(const FourierMap& map, const Matrix<double>& exact, const Matrix<double>& x) {
  const Index p = map.outputs();
  Matrix<double> phi(x.rows(), map.columns());
  map.features(x, phi);
  // Σ_c φ_c(x)φ_c(z) B_cB_cᵀ pair by pair would cost n²·parameters·p; the dense rows make it one product.
  Matrix<double> dense(x.rows() * p, map.coupling().parameters());
  map.coupling().dense_rows(phi, dense);
  Matrix<double> approximate(dense.rows(), dense.rows());
  gemm<double>(false, true, 1.0, dense, dense, 0.0, approximate);
  Measured m;
  Matrix<double> difference(p, p);
  Index pairs = 0;
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j <= i; ++j, ++pairs) {
      for (Index a = 0; a < p; ++a) {
        for (Index b = 0; b < p; ++b) {
          difference(a, b) = (approximate(i * p + a, j * p + b) - exact(i * p + a, j * p + b) +
                              approximate(i * p + b, j * p + a) - exact(i * p + b, j * p + a)) /
                             2;
        }
      }
      const double norm = p == 1 ? std::abs(difference(0, 0)) : spectral_norm(difference);
      m.largest = std::max(m.largest, norm);
      m.typical += norm * norm;
    }
  }
  m.typical = std::sqrt(m.typical / static_cast<double>(pairs));
  return m;
}

}  // namespace

Plan make_plan(RowSource& raw, const FitOptions& options, double error, double confidence) {
  check_wishes(error, confidence);
  constexpr Index most_values = 600;  // np of the measured Gram matrix
  const Recipe recipe = prepare(raw, options);
  if (recipe.map == MapKind::sketch) fail_internal("sketches are planned by make_sketch_plan");
  const TargetCoding coding = recipe.coding();
  ScaledRows scaled(raw, recipe.scaling, coding);
  const Index d = recipe.inputs();
  const Index p = recipe.outputs();
  const Sampled s = sample(scaled, std::clamp<Index>(most_values / p, 20, 200));

  if (!(s.diameter > 0))
    fail_argument("all rows have the same inputs: there are no errors to plan for, and mercer fit takes them as they are");

  Plan plan;
  plan.rows = raw.row_count();
  plan.kernel = to_string(recipe.kernel);
  plan.loss = recipe.loss;
  plan.diameter = s.diameter;
  plan.spectrum = recipe.spectrum;
  Matrix<double> exact(s.rows.rows() * p, s.rows.rows() * p);
  gram(recipe.kernel, s.rows, s.rows, p, exact);
  for (Index i = 0; i < s.rows.rows(); ++i) {
    plan.kernel_norm = std::max(plan.kernel_norm, spectral_norm(exact.view().row_range(i * p, p).col_range(i * p, p)));
  }
  if (!(plan.kernel_norm > 0)) fail_argument("the kernel is 0 on these rows");
  plan.guaranteed_frequencies =
      features_for(recipe.kernel, d, p, plan.diameter, error * plan.kernel_norm, 1 - confidence, &plan.no_guarantee);
  plan.flops = gram_speed(recipe.precision);
  std::vector<Index> sizes = {100, 300, 1000, 3000};
  if (std::ranges::find(sizes, recipe.fourier.frequencies) == sizes.end() && recipe.fourier.frequencies <= 10000) {
    sizes.push_back(recipe.fourier.frequencies);
  }
  std::ranges::sort(sizes);
  for (const Index frequencies : sizes) {
    report(options.progress, "measuring", static_cast<double>(plan.table.size()) / static_cast<double>(sizes.size()));
    FourierRecipe fourier = recipe.fourier;
    fourier.frequencies = frequencies;
    const FourierMap map(recipe.kernel, d, p, fourier);
    const Measured m = measure(map, exact, s.rows);
    PlanRow row;
    row.frequencies = frequencies;
    row.features = map.columns();
    row.largest_error = m.largest / plan.kernel_norm;
    row.typical_error = m.typical / plan.kernel_norm;
    std::string ignored;
    if (const auto bound = error_for(recipe.kernel, d, p, plan.diameter, 1 - confidence, frequencies, &ignored))
      row.guaranteed = *bound / plan.kernel_norm;
    row.memory_bytes = fit_bytes(map, plan.rows, options);
    row.seconds = fit_seconds(map, scaled, recipe, options, plan.flops);
    plan.table.push_back(row);
  }
  // Error falls like D^-1/2: carry the largest map's measurement over to the wanted error.
  const PlanRow& last = plan.table.back();
  plan.advised_frequencies = std::max<Index>(
      1, static_cast<Index>(std::ceil(static_cast<double>(last.frequencies) * std::pow(last.largest_error / error, 2))));
  return plan;
}

}  // namespace mercer
