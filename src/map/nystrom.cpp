#include "map/nystrom.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "kernel/evaluate.hpp"

namespace mercer {
namespace {

constexpr Index chunk_rows = 256;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

Matrix<double> picked(ConstMatrix x, const std::vector<Index>& rows) {
  Matrix<double> result(static_cast<Index>(rows.size()), x.cols);
  for (Index i = 0; i < result.rows(); ++i) std::ranges::copy(x.row(rows[at(i)]), result.row(i).begin());
  return result;
}

std::vector<double> diagonal(const Kernel& kernel, ConstMatrix x) {
  std::vector<double> d(at(x.rows));
  parallel_for((x.rows + chunk_rows - 1) / chunk_rows, [&](Index task) {
    for (Index i = task * chunk_rows; i < std::min(x.rows, (task + 1) * chunk_rows); ++i) {
      d[at(i)] = value(kernel, x.row(i), x.row(i));
    }
  });
  return d;
}

void check_finite(const std::vector<double>& values) {
  if (!std::ranges::all_of(values, [](double v) { return std::isfinite(v); }))
    fail_argument("the kernel overflows on these rows; standardise the inputs or take a lower degree");
}

}  // namespace

Index draw_by_weight(const std::vector<double>& weights, double total, double u) {
  double sum = 0;
  Index last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    sum += weights[i];
    last = static_cast<Index>(i);
    if (sum > u * total) break;
  }
  return last;
}

double penalty_of_dimension(const std::vector<double>& eigenvalues, double dimension) {
  const double top = std::ranges::max(eigenvalues);
  const auto effective = [&](double penalty) {
    double sum = 0;
    for (const double v : eigenvalues) sum += std::max(v, 0.0) / (std::max(v, 0.0) + penalty);
    return sum;
  };
  double low = std::log(1e-12 * top);
  double high = std::log(top * static_cast<double>(eigenvalues.size()));
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    (effective(std::exp(middle)) > dimension ? low : high) = middle;
  }
  return std::exp(high);
}

std::vector<double> leverage_scores(const Kernel& kernel, ConstMatrix x, const std::vector<Index>& pilot, double dimension) {
  const Matrix<double> z = picked(x, pilot);
  const auto m = static_cast<double>(z.rows());
  const auto n = static_cast<double>(x.rows);
  std::vector<double> scores = diagonal(kernel, x);
  check_finite(scores);
  Matrix<double> system(z.rows(), z.rows());
  gram(kernel, z, z, system);
  std::vector<double> spectrum = eigh(system).values;
  for (double& v : spectrum) v /= m;
  if (!(spectrum.back() > 0)) {  // the kernel is 0: all rows are alike
    scores.assign(scores.size(), 1.0);
    return scores;
  }
  const double penalty = penalty_of_dimension(spectrum, dimension);
  for (Index i = 0; i < z.rows(); ++i) system(i, i) += penalty * m;
  if (cholesky(system) >= 0) fail_internal("the pilot of the leverage scores is not positive definite");
  parallel_for((x.rows + chunk_rows - 1) / chunk_rows, [&](Index task) {
    check_stop();
    const Index first = task * chunk_rows;
    const ConstMatrix rows = x.row_range(first, std::min(chunk_rows, x.rows - first));
    Matrix<double> block(z.rows(), rows.rows);
    gram(kernel, z, rows, block);
    solve_lower(system, block);
    for (Index j = 0; j < block.rows(); ++j) {
      for (Index i = 0; i < block.cols(); ++i) scores[at(first + i)] -= block(j, i) * block(j, i);
    }
  });
  for (double& score : scores) score = std::clamp(score / (penalty * n), 0.0, 1.0);
  return scores;
}

std::vector<Index> pivoted_rows(const Kernel& kernel, ConstMatrix x, Index s, const Stream& stream) {
  const Index n = x.rows;
  std::vector<double> left = diagonal(kernel, x);
  check_finite(left);
  const double start = std::accumulate(left.begin(), left.end(), 0.0);
  const double nothing = 1e-14 * start;
  Matrix<double> factor(n, s);
  std::vector<Index> pivots;
  for (Index t = 0; t < s; ++t) {
    check_stop();
    const double total = std::accumulate(left.begin(), left.end(), 0.0);
    if (!(total > nothing)) break;
    const Index pivot = draw_by_weight(left, total, stream.uniform(static_cast<std::uint64_t>(t), 0));
    const std::vector<double> pivot_row(factor.row(pivot).begin(), factor.row(pivot).begin() + t);
    const double root = std::sqrt(left[at(pivot)]);
    const ConstMatrix point = x.row_range(pivot, 1);
    parallel_for((n + chunk_rows - 1) / chunk_rows, [&](Index task) {
      const Index first = task * chunk_rows;
      const ConstMatrix rows = x.row_range(first, std::min(chunk_rows, n - first));
      Matrix<double> column(1, rows.rows);
      gram(kernel, point, rows, column);
      for (Index i = first; i < first + rows.rows; ++i) {
        const double* f = factor.row(i).data();
        const double entry = (column(0, i - first) - std::inner_product(f, f + t, pivot_row.begin(), 0.0)) / root;
        factor(i, t) = entry;
        left[at(i)] = std::max(left[at(i)] - entry * entry, 0.0);
      }
    });
    left[at(pivot)] = 0;  // never twice, whatever rounding leaves
    pivots.push_back(pivot);
  }
  return pivots;
}

Sketch draw_sketch(const SketchRecipe& recipe, const Kernel& kernel, ConstMatrix x) {
  if (!needs_rows(recipe.law)) return draw_sketch(recipe, x.rows);
  const Index s = std::min(recipe.size, x.rows);
  const Stream stream(recipe.seed, "nystrom");
  if (recipe.law == SketchLaw::rp_cholesky) {
    std::vector<Index> rows = pivoted_rows(kernel, x, s, stream.child("pivot"));
    if (rows.empty()) rows = {0};  // the kernel is 0 on every row: any row serves
    std::ranges::sort(rows);
    return selection_sketch(rows, std::vector<double>(rows.size(), 1.0));
  }
  const std::vector<Index> pilot = draw_without_replacement(x.rows, std::min(2 * s, x.rows), stream.child("pilot"));
  std::vector<double> scores = leverage_scores(kernel, x, pilot, static_cast<double>(s) / 2);
  double total = std::accumulate(scores.begin(), scores.end(), 0.0);
  if (!(total > 0)) {  // rounding left nothing to tell the rows apart
    scores.assign(scores.size(), 1.0);
    total = static_cast<double>(x.rows);
  }
  Index last = x.rows - 1;
  while (!(scores[at(last)] > 0)) --last;
  // One pass over the scores for all draws: the uniforms in ascending order.
  std::vector<double> uniforms;
  for (Index r = 0; r < s; ++r) uniforms.push_back(stream.child("draw").uniform(static_cast<std::uint64_t>(r), 0));
  std::ranges::sort(uniforms);
  std::vector<Index> rows;
  std::vector<double> values;
  double sum = scores[0];
  Index i = 0;
  for (const double u : uniforms) {
    while (sum <= u * total && i < last) sum += scores[at(++i)];
    rows.push_back(i);
    values.push_back(std::sqrt(total / (static_cast<double>(s) * scores[at(i)])));
  }
  return selection_sketch(rows, values);
}

}  // namespace mercer
