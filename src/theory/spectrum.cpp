#include "theory/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/progress.hpp"
#include "kernel/evaluate.hpp"
#include "map/anchor_map.hpp"
#include "map/nystrom.hpp"
#include "theory/sketch_theory.hpp"

namespace mercer {
namespace {

/// Up to `most` rows, evenly spread.
Matrix<double> spread_rows(ConstMatrix x, Index most) {
  const Index count = std::min(x.rows, most);
  Matrix<double> result(count, x.cols);
  for (Index i = 0; i < count; ++i) std::ranges::copy(x.row(i * x.rows / count), result.row(i).begin());
  return result;
}

/// F: the features of the Nyström map on these pivots. Any rows may serve; they are drawn among 4000, since the search for
/// them reads n·rank numbers for each.
Matrix<double> nystrom_factor(const Kernel& kernel, ConstMatrix x, Index rank, std::uint64_t seed) {
  constexpr Index most_candidates = 4000;
  SketchRecipe recipe;
  recipe.law = SketchLaw::rp_cholesky;
  recipe.size = rank;
  recipe.seed = seed;
  const Matrix<double> candidates = spread_rows(x, most_candidates);
  const Sketch sketch = draw_sketch(recipe, kernel, candidates);
  Matrix<double> pivots(sketch.touched(), x.cols);
  for (Index i = 0; i < pivots.rows(); ++i) {
    std::ranges::copy(candidates.row(sketch.anchors[static_cast<std::size_t>(i)]), pivots.row(i).begin());
  }
  const OperatorKernel scalar{{OperatorTerm{1, Decomposable{kernel, IdentityOutputs{}}}}};
  const AnchorMap map(scalar, x.cols, 1, make_parts(kernel, std::move(pivots), sketch, recipe.law));
  Matrix<double> factor(x.rows, map.columns());
  map.features(x, factor);
  return factor;
}

}  // namespace

GramSpectrum gram_spectrum(const Kernel& kernel, ConstMatrix x, Index rank, std::uint64_t seed) {
  GramSpectrum spectrum;
  spectrum.rows = x.rows;
  const auto n = static_cast<double>(x.rows);
  for (Index i = 0; i < x.rows; ++i) {
    const double k = value(kernel, x.row(i), x.row(i));
    if (!std::isfinite(k))
      fail_argument("the kernel overflows on these rows; standardise the inputs or take a lower degree");
    spectrum.trace += k / n;
    spectrum.largest_kernel = std::max(spectrum.largest_kernel, k);
  }
  const Matrix<double> factor = nystrom_factor(kernel, x, std::min(rank, x.rows), seed);
  const Index columns = factor.cols();
  Matrix<double> small(columns, columns);
  accumulate_gram<double>(factor, small);
  const Eigen e = eigh(small);
  const double cut = static_cast<double>(columns) * std::numeric_limits<double>::epsilon() * std::max(0.0, e.values.back());
  const auto kept = static_cast<Index>(std::ranges::count_if(e.values, [&](double v) { return v > cut; }));
  Matrix<double> rotation(std::max<Index>(kept, 1), columns);
  double explained = 0;
  for (Index j = 0; j < kept; ++j) {
    const Index from = columns - 1 - j;
    const double v = e.values[static_cast<std::size_t>(from)];
    spectrum.values.push_back(v / n);
    explained += v / n;
    for (Index c = 0; c < columns; ++c) rotation(j, c) = e.vectors(from, c) / std::sqrt(v);
  }
  spectrum.missed = std::max(0.0, spectrum.trace - explained);
  spectrum.vectors = Matrix<double>(rotation.rows(), x.rows);
  gemm<double>(false, true, 1.0, rotation, factor, 0.0, spectrum.vectors);
  return spectrum;
}

CriticalRadius critical_radius(const GramSpectrum& spectrum, Index population) {
  CriticalRadius radius;
  radius.squared = critical_radius_squared(spectrum.values, spectrum.missed, population);
  radius.least_squared = critical_radius_squared(spectrum.values, 0, population);
  radius.dimension = statistical_dimension(spectrum.values, radius.squared, spectrum.rows);
  radius.largest_dimension = largest_dimension(spectrum.values, spectrum.missed, radius.least_squared, spectrum.rows);
  return radius;
}

GramSpectrum spectrum_to_radius(const Kernel& kernel, ConstMatrix x, Index population, std::uint64_t seed, Index most_rank) {
  constexpr Index first_rank = 128;
  constexpr double share = 0.05;
  for (Index rank = std::min(first_rank, most_rank);; rank = std::min(2 * rank, most_rank)) {
    check_stop();
    GramSpectrum spectrum = gram_spectrum(kernel, x, rank, seed);
    const double radius = critical_radius_squared(spectrum.values, spectrum.missed, population);
    if (spectrum.missed <= share * radius || rank >= std::min(x.rows, most_rank)) return spectrum;
  }
}

Satisfiability k_satisfiability(const GramSpectrum& spectrum, Index dimension, double radius_squared, const Sketch& sketch,
                                ConstMatrix sketched) {
  const Index d = std::min(dimension, spectrum.rank());
  const Index s = sketch.size();
  const auto n = static_cast<double>(spectrum.rows);
  Satisfiability result;
  Matrix<double> rest(sketched);
  for (double& v : rest.values()) v /= n;
  if (d > 0) {
    Matrix<double> touched(d, sketch.touched());  // U_1ᵀ over the anchors
    for (Index j = 0; j < d; ++j) {
      for (Index i = 0; i < touched.cols(); ++i)
        touched(j, i) = spectrum.vectors(j, sketch.anchors[static_cast<std::size_t>(i)]);
    }
    Matrix<double> image(d, s);  // (S U_1)ᵀ
    apply_right(sketch, touched, image);
    Matrix<double> isometry(d, d);
    gemm<double>(false, true, 1.0, image, image, 0.0, isometry);
    for (Index j = 0; j < d; ++j) isometry(j, j) -= 1;
    const std::vector<double> off = eigh(isometry).values;
    result.isometry = std::max(std::abs(off.front()), std::abs(off.back()));
    for (Index j = 0; j < d; ++j) {
      const double root = std::sqrt(spectrum.values[static_cast<std::size_t>(j)]);
      for (Index r = 0; r < s; ++r) image(j, r) *= root;
    }
    gemm<double>(true, false, -1.0, image, image, 1.0, rest);
  }
  result.tail = std::sqrt(std::max(0.0, eigh(rest).values.back()));
  result.constant = radius_squared > 0 ? result.tail / std::sqrt(radius_squared) : 0;
  return result;
}

}  // namespace mercer
