#include "model/sketch_quality.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "kernel/evaluate.hpp"
#include "loss/make_loss.hpp"

namespace mercer {
namespace {

/// ‖A‖ and tr A of k(x, z)·A, from K(x, x)/k(x, x).
void set_outputs(const Recipe& recipe, const MeasuredSketch& sketch, RiskSetting& setting) {
  const Kernel kernel = one_scalar_kernel(recipe.kernel);
  const Index p = recipe.outputs();
  Matrix<double> block(p, p);
  for (Index i = 0; i < sketch.x.rows; ++i) {
    const Point x = sketch.x.row(i);
    const double k = value(kernel, x, x);
    if (!(k > 0.5 * sketch.spectrum.largest_kernel)) continue;
    value(recipe.kernel, x, x, block);
    setting.output_trace = 0;
    for (Index a = 0; a < p; ++a) setting.output_trace += block(a, a) / k;
    setting.output_norm = eigh(block).values.back() / k;
    return;
  }
}

}  // namespace

Matrix<double> rows_of(ConstMatrix x, const std::vector<Index>& numbers) {
  Matrix<double> result(static_cast<Index>(numbers.size()), x.cols);
  for (Index i = 0; i < result.rows(); ++i)
    std::ranges::copy(x.row(numbers[static_cast<std::size_t>(i)]), result.row(i).begin());
  return result;
}

KernelError kernel_error(const Kernel& kernel, const AnchorMap& map, ConstMatrix rows) {
  Matrix<double> phi(rows.rows, map.columns());
  map.features(rows, phi);
  double sum = 0;
  double total = 0;
  double worst = 0;
  double largest = 0;
  for (Index i = 0; i < phi.rows(); ++i) {
    const double k = value(kernel, rows.row(i), rows.row(i));
    double left = k;
    for (const double f : phi.row(i)) left -= f * f;
    left = std::max(left, 0.0);  // K~ ≼ K but for rounding
    sum += left;
    total += k;
    largest = std::max(largest, k);
    worst = std::max(worst, left);
  }
  return {total > 0 ? sum / total : 0, largest > 0 ? worst / largest : 0};
}

std::optional<RiskBound> bound_risk(const Recipe& recipe, const MeasuredSketch& sketch, double penalty, double confidence) {
  if (!sketch.satisfied.holds()) return {};
  RiskSetting setting;
  setting.square = recipe.loss == "square";
  if (!setting.square) setting.lipschitz = make_loss(recipe.loss, recipe.outputs())->lipschitz();
  if (!std::isfinite(setting.lipschitz)) return {};
  setting.constant = sketch.satisfied.constant;
  setting.lambda = penalty;
  setting.radius_squared = sketch.radius.squared;
  setting.largest_kernel = sketch.spectrum.largest_kernel;
  setting.failure_probability = 1 - confidence;
  setting.rows = sketch.rows;
  set_outputs(recipe, sketch, setting);
  return risk_bound(setting);
}

}  // namespace mercer
