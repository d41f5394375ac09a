#include "theory/spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernel/evaluate.hpp"
#include "map/anchor_map.hpp"
#include "map/nystrom.hpp"
#include "theory/sketch_theory.hpp"
#include "unit/map/sketch_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

Kernel kernel_named(const std::string& text) {
  return std::get<Decomposable>(parse_kernel(text).terms.front().form).kernel;
}

/// The dense truth: K, and the eigenpairs of K/n, largest first.
struct Truth {
  Dense k;
  Vector values;
  Dense vectors;
  double radius = 0;
  Index dimension = 0;

  Truth(const Kernel& kernel, const Matrix<double>& x) {
    Matrix<double> gram_matrix(x.rows(), x.rows());
    gram(kernel, x, x, gram_matrix);
    k = dense(gram_matrix);
    const ::Eigen::SelfAdjointEigenSolver<Dense> e(k / static_cast<double>(x.rows()));
    values = e.eigenvalues().reverse().cwiseMax(0);
    vectors = e.eigenvectors().rowwise().reverse();
    const std::vector<double> list(values.data(), values.data() + values.size());
    radius = critical_radius_squared(list, 0, x.rows());
    dimension = statistical_dimension(list, radius, x.rows());
  }
};

Matrix<double> anchors_of(const Matrix<double>& x, const Sketch& sketch) {
  Matrix<double> rows(sketch.touched(), x.cols());
  for (Index i = 0; i < rows.rows(); ++i) std::ranges::copy(x.row(sketch.anchors[i]), rows.row(i).begin());
  return rows;
}

double norm(const Dense& a) {
  return ::Eigen::JacobiSVD<Dense>(a).singularValues()(0);
}

const char* const kernels[] = {"gaussian(0.7)", "gaussian(3)", "matern(1, nu=1.5)",
                               "laplacian(1)",  "linear()",    "polynomial(3, 1)"};

TEST(GramSpectrum, BracketsTheEigenvaluesOfTheDenseMatrix) {
  const Matrix<double> x = normals(160, 3, "x");
  for (const char* text : kernels) {
    const Truth truth(kernel_named(text), x);
    const double scale = truth.values(0);
    for (const Index rank : {1, 8, 40, 160}) {
      const GramSpectrum s = gram_spectrum(kernel_named(text), x, rank, 7);
      const double explained = std::accumulate(s.values.begin(), s.values.end(), 0.0);
      EXPECT_NEAR(s.trace, truth.values.sum(), 1e-12 * s.trace);
      EXPECT_NEAR(s.trace - explained, s.missed, 1e-12 * s.trace) << text;
      EXPECT_LE(s.rank(), rank);
      for (Index j = 0; j < 160; ++j) {
        const double v = j < s.rank() ? s.values[j] : 0.0;
        EXPECT_LE(v, truth.values(j) + 1e-10 * scale) << text << " " << rank << " " << j;
        EXPECT_GE(v + s.missed, truth.values(j) - 1e-10 * scale) << text << " " << rank << " " << j;
      }
      const CriticalRadius r = critical_radius(s, 160);
      EXPECT_LE(r.least_squared, truth.radius * (1 + 1e-9));
      EXPECT_GE(r.squared, truth.radius * (1 - 1e-9));
      EXPECT_LE(r.dimension, truth.dimension);
      EXPECT_GE(r.largest_dimension, truth.dimension) << text << " " << rank;
      const Dense u = dense(s.vectors);
      EXPECT_LT((u * u.transpose() - Dense::Identity(u.rows(), u.rows()))
                    .topLeftCorner(std::min<Index>(5, u.rows()), std::min<Index>(5, u.rows()))
                    .norm(),
                1e-9)
          << text << " " << rank;
      if (rank == 160) {
        EXPECT_NEAR(r.squared, truth.radius, 1e-8 * truth.radius) << text;
      }
    }
  }
}

TEST(GramSpectrum, GoesOnUntilTheDimensionIsKnown) {
  const Matrix<double> x = normals(700, 2, "x");
  for (const char* text : {"gaussian(1)", "laplacian(2)"}) {
    const Truth truth(kernel_named(text), x);
    const GramSpectrum s = spectrum_to_radius(kernel_named(text), x, 700, 0);
    const CriticalRadius r = critical_radius(s, 700);
    EXPECT_TRUE(s.missed <= 0.05 * r.squared || s.rank() >= 512) << text;
    EXPECT_NEAR(r.squared, truth.radius, 1e-3 * truth.radius) << text;
    EXPECT_LE(r.dimension, truth.dimension);
    EXPECT_GE(r.largest_dimension, truth.dimension);
  }
}

// More rows than the pivots are drawn among: three of them still span a linear kernel of three inputs, whose eigenvalues are
// those of XᵀX/n.
TEST(GramSpectrum, ServesMoreRowsThanItDrawsPivotsFrom) {
  const Matrix<double> x = normals(4700, 3, "x");
  const GramSpectrum s = gram_spectrum(kernel_named("linear()"), x, 20, 1);
  const Dense points = dense(x);
  const ::Eigen::SelfAdjointEigenSolver<Dense> e(points.transpose() * points / 4700);
  ASSERT_EQ(s.rank(), 3);
  for (Index j = 0; j < 3; ++j) EXPECT_NEAR(s.values[static_cast<std::size_t>(j)], e.eigenvalues()(2 - j), 1e-10);
  const Dense u = dense(s.vectors);
  EXPECT_NEAR((u * u.transpose() - Dense::Identity(3, 3)).norm(), 0, 1e-10);
  const Dense eigen = u * points * points.transpose() / 4700;
  for (Index j = 0; j < 3; ++j)
    EXPECT_NEAR((eigen.row(j) - s.values[static_cast<std::size_t>(j)] * u.row(j)).norm(), 0, 1e-9);
  const GramSpectrum rough = gram_spectrum(kernel_named("laplacian(1)"), x, 20, 1);
  EXPECT_NEAR(std::accumulate(rough.values.begin(), rough.values.end(), rough.missed), 1, 1e-10);  // k(x, x) = 1
}

TEST(GramSpectrum, SurvivesAKernelThatIsZero) {
  const Matrix<double> zero(20, 2);
  const GramSpectrum s = gram_spectrum(kernel_named("linear()"), zero, 5, 0);
  EXPECT_EQ(s.rank(), 0);
  const CriticalRadius r = critical_radius(s, 20);
  EXPECT_EQ(r.squared, 0);
  EXPECT_EQ(r.dimension, 1);
}

TEST(Satisfiability, IsTheDefinitionForEveryLaw) {
  const Matrix<double> x = normals(90, 2, "x");
  for (const char* text : {"matern(1.5, nu=2.5)", "laplacian(3)"}) {
    const Kernel kernel = kernel_named(text);
    const Truth truth(kernel, x);
    ASSERT_GT(truth.dimension, 3);
    const GramSpectrum s = gram_spectrum(kernel, x, 90, 1);
    for (const SketchLaw law :
         {SketchLaw::p_sr, SketchLaw::p_sg, SketchLaw::accumulation, SketchLaw::count, SketchLaw::nystrom,
          SketchLaw::leverage, SketchLaw::rp_cholesky, SketchLaw::gaussian, SketchLaw::hadamard}) {
      for (const Index size : {Index{3}, Index{30}, Index{80}}) {
        SketchRecipe recipe;
        recipe.law = law;
        recipe.size = size;
        recipe.terms = 5;
        const Sketch sketch = draw_sketch(recipe, kernel, x);
        const Satisfiability got =
            k_satisfiability(s, truth.dimension, truth.radius, sketch, sketched_gram(kernel, anchors_of(x, sketch), sketch));
        const Dense su = dense_sketch(sketch, 90) * truth.vectors;
        const Index d = truth.dimension;
        const Dense first = su.leftCols(d);
        const double isometry = norm(first.transpose() * first - Dense::Identity(d, d));
        const Dense second = su.rightCols(90 - d) * truth.values.tail(90 - d).cwiseSqrt().asDiagonal();
        const std::string what = std::string(text) + " " + to_string(law) + " " + std::to_string(size);
        EXPECT_NEAR(got.isometry, isometry, 1e-8 * (1 + isometry)) << what;
        EXPECT_NEAR(got.tail, norm(second), 1e-8) << what;
        EXPECT_NEAR(got.constant, norm(second) / std::sqrt(truth.radius), 1e-6) << what;
        EXPECT_EQ(got.holds(), isometry <= 0.5);
        if (size < d) {
          EXPECT_GE(got.isometry, 1 - 1e-9);  // s dimensions cannot hold d_n directions
        }
      }
    }
  }
}

/// Lemma 3: for every f of the unit ball, z = f(X), inf_γ (1/n)‖KSᵀγ - z‖² + λγᵀSKSᵀγ ≤ C²(δ² + λ). z = √n U D^½ w with
/// ‖w‖ ≤ 1, so the worst f is an eigenvector.
TEST(Satisfiability, GivesTheApproximationOfLemmaThree) {
  const Matrix<double> x = normals(80, 2, "x");
  const Kernel kernel = kernel_named("matern(1, nu=1.5)");
  const Truth truth(kernel, x);
  const GramSpectrum s = gram_spectrum(kernel, x, 80, 1);
  int satisfied = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SketchRecipe recipe;
    recipe.law = SketchLaw::gaussian;
    recipe.size = 60;
    recipe.seed = seed;
    const Sketch sketch = draw_sketch(recipe, 80);
    const Satisfiability k =
        k_satisfiability(s, truth.dimension, truth.radius, sketch, sketched_gram(kernel, anchors_of(x, sketch), sketch));
    if (!k.holds()) continue;
    ++satisfied;
    for (const double lambda : {1e-4, 1e-2}) {
      const Dense ks = truth.k * dense_sketch(sketch, 80).transpose();
      const Dense sks = dense_sketch(sketch, 80) * ks;
      const Dense system = ks.transpose() * ks / 80 + lambda * sks;
      // The least value is zᵀ(I - KSᵀ(system)⁺SK/n)z/n.
      const Dense left = Dense::Identity(80, 80) - ks * system.ldlt().solve(ks.transpose()) / 80;
      const Dense root = truth.vectors * truth.values.cwiseSqrt().asDiagonal();
      const double worst = norm(root.transpose() * left * root);
      RiskSetting setting;
      setting.constant = k.constant;
      setting.lambda = lambda;
      setting.radius_squared = truth.radius;
      EXPECT_LE(worst, risk_bound(setting).approximation);
    }
  }
  EXPECT_GT(satisfied, 5);
}

/// s a multiple of d_n makes p-SR sketches K-satisfiable, with a failure probability that needs no unknown constant. Rows of
/// √s SU_1 are independent z with E zzᵀ = I, and E‖z‖⁴ = d² + 2d + (1/p - 3)Σℓ_i², ℓ_i = ‖row i of U_1‖², so by Markov
///     P(‖(SU_1)ᵀSU_1 - I‖ > ½) ≤ 4(d² + d + (1/p - 3)Σℓ_i²)/s,     P(‖SU_2D_2^½‖ > cδ) ≤ tr D_2/(c²δ²).
TEST(Satisfiability, HoldsForAlmostAllLargeSparsifiedSketches) {
  constexpr Index n = 120;
  const Matrix<double> x = normals(n, 1, "x");
  const Kernel kernel = kernel_named("gaussian(1)");
  const Truth truth(kernel, x);
  const auto d = static_cast<double>(truth.dimension);
  const GramSpectrum spectrum = gram_spectrum(kernel, x, n, 1);
  SketchRecipe recipe;
  recipe.density_over_rows = false;
  recipe.density = 0.5;
  recipe.size = 120 * truth.dimension;
  double leverage = 0;
  for (Index i = 0; i < n; ++i) leverage += std::pow(truth.vectors.row(i).head(truth.dimension).squaredNorm(), 2);
  const double second_moment = (d * d + d + (1 / recipe.density - 3) * leverage) / static_cast<double>(recipe.size);
  const double c = theorem_constant(recipe.density);
  const double failure = 4 * second_moment + truth.values.tail(n - truth.dimension).sum() / (c * c * truth.radius);
  ASSERT_LT(failure, 0.25);
  constexpr int draws = 24;
  int failures = 0;
  double square = 0;
  for (recipe.seed = 0; recipe.seed < draws; ++recipe.seed) {
    const Sketch sketch = draw_sketch(recipe, n);
    const Satisfiability k = k_satisfiability(spectrum, truth.dimension, truth.radius, sketch,
                                              sketched_gram(kernel, anchors_of(x, sketch), sketch));
    failures += k.holds() && k.constant <= c ? 0 : 1;
    const Dense su = dense_sketch(sketch, n) * truth.vectors.leftCols(truth.dimension);
    square += (su.transpose() * su - Dense::Identity(truth.dimension, truth.dimension)).squaredNorm() / draws;
  }
  // 18 or more of 24 draws fail with probability below 4e-7 (binomial tail at 1/4) if the theorem is right; the bound by
  // moments is loose, and of these seeds none fails.
  EXPECT_LT(failures, 18);
  EXPECT_EQ(failures, 0);
  // The second moment itself: ‖·‖_F² has a standard deviation below its mean, so six deviations of the mean of 24 draws.
  EXPECT_NEAR(square, second_moment, 6 * second_moment / std::sqrt(draws));
}

}  // namespace
}  // namespace mercer
