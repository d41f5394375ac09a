#include "map/anchor_map.hpp"

#include <mercer/threads.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/evaluate.hpp"
#include "map/anchor_build.hpp"
#include "map/nystrom.hpp"
#include "unit/map/sketch_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

const std::vector<SketchLaw> every_law = {SketchLaw::p_sr,        SketchLaw::p_sg,     SketchLaw::accumulation,
                                          SketchLaw::count,       SketchLaw::nystrom,  SketchLaw::leverage,
                                          SketchLaw::rp_cholesky, SketchLaw::gaussian, SketchLaw::hadamard};
constexpr Index plenty = Index{1} << 30;

SketchRecipe recipe_of(SketchLaw law, Index size, std::uint64_t seed = 3) {
  SketchRecipe r;
  r.law = law;
  r.size = size;
  r.density = 4;
  r.terms = 3;
  r.seed = seed;
  return r;
}

AnchorMap build(const std::string& kernel, const Matrix<double>& x, Index outputs, const SketchRecipe& recipe,
                std::span<const double> weights = {}) {
  ArrayRows rows(x, {}, weights);
  std::vector<std::string> notes;
  return build_anchor_map(kernel_of(kernel, x.cols(), outputs), rows, outputs, recipe, plenty, notes, nullptr);
}

Dense phi_of(const FeatureMap& map, const Matrix<double>& x) {
  Matrix<double> phi(x.rows(), map.columns());
  map.features(x, phi);
  return dense(phi);
}

Dense gram_of(const Kernel& kernel, const Matrix<double>& x, const Matrix<double>& z) {
  Matrix<double> k(x.rows(), z.rows());
  gram(kernel, x, z, k);
  return dense(k);
}

Matrix<double> rows_of(const Matrix<double>& x, const std::vector<Index>& numbers) {
  Matrix<double> r(static_cast<Index>(numbers.size()), x.cols());
  for (Index i = 0; i < r.rows(); ++i) std::ranges::copy(x.row(numbers[static_cast<std::size_t>(i)]), r.row(i).begin());
  return r;
}

TEST(AnchorMap, SketchedGramEqualsTheDenseProduct) {
  for (const Index d : {2, 20}) {  // distances directly, and through products
    const Matrix<double> x = normals(150, d, "x");
    const Kernel kernel = one_scalar_kernel(kernel_of("gaussian(1.5) + 0.1*linear()", d, 1));
    for (const SketchLaw law : every_law) {
      const Sketch sketch = draw_sketch(recipe_of(law, 30), kernel, x);
      const Dense s = dense_sketch(sketch, 150);
      const Dense expected = s * gram_of(kernel, x, x) * s.transpose();
      const Dense m = dense(sketched_gram(kernel, rows_of(x, sketch.anchors), sketch));
      EXPECT_LT((m - expected).cwiseAbs().maxCoeff(), 1e-10) << to_string(law);
      EXPECT_EQ(m, m.transpose()) << to_string(law);
    }
  }
}

// φ(x)ᵀφ(z) = k_x Sᵀ (S K Sᵀ)⁺ S k_z, on rows that were not sketched, for kernels whose S K Sᵀ is well conditioned so that
// the pseudo-inverse is sharply defined.
TEST(AnchorMap, InnerProductsAreTheSketchedKernel) {
  const Matrix<double> x = normals(130, 3, "x");
  const Matrix<double> z = normals(70, 3, "z");
  for (const char* text : {"gaussian(0.4)", "laplacian(1)", "matern(0.7, nu=0.5)", "0.5*cauchy(0.5) + 2*laplacian(0.5)"}) {
    const Kernel kernel = one_scalar_kernel(kernel_of(text, 3, 1));
    for (const SketchLaw law : every_law) {
      const SketchRecipe recipe = recipe_of(law, 25);
      const Dense s = dense_sketch(draw_sketch(recipe, kernel, x), 130);
      const Dense m = s * gram_of(kernel, x, x) * s.transpose();
      const Dense kz = gram_of(kernel, z, x) * s.transpose();
      const Dense expected = kz * m.completeOrthogonalDecomposition().pseudoInverse() * kz.transpose();
      const Dense phi = phi_of(build(text, x, 1, recipe), z);
      EXPECT_LT((phi * phi.transpose() - expected).cwiseAbs().maxCoeff(), 1e-10) << text << " " << to_string(law);
    }
  }
}

TEST(AnchorMap, IsExactWhenTheSketchIsEverything) {
  const Matrix<double> x = normals(40, 2, "x");
  for (const SketchLaw law : {SketchLaw::nystrom, SketchLaw::rp_cholesky, SketchLaw::gaussian, SketchLaw::hadamard}) {
    const Dense phi = phi_of(build("laplacian(1)", x, 1, recipe_of(law, 64)), x);
    const Dense k = gram_of(one_scalar_kernel(kernel_of("laplacian(1)", 2, 1)), x, x);
    EXPECT_LT((phi * phi.transpose() - k).cwiseAbs().maxCoeff(), 1e-9) << to_string(law);
  }
}

TEST(AnchorMap, FiniteRankKernelsAreExactWithTheirRank) {
  const Matrix<double> x = normals(60, 3, "x");
  for (const auto& [text, rank] : {std::pair("linear()", 3), std::pair("polynomial(2, 1)", 10)}) {
    for (const SketchLaw law : every_law) {
      const AnchorMap map = build(text, x, 1, recipe_of(law, 40));
      EXPECT_EQ(map.columns(), rank) << text << to_string(law);
      const Dense phi = phi_of(map, x);
      const Dense k = gram_of(one_scalar_kernel(kernel_of(text, 3, 1)), x, x);
      EXPECT_LT((phi * phi.transpose() - k).norm(), 1e-9 * k.norm()) << text << to_string(law);
    }
  }
}

TEST(AnchorMap, OutputsAreCoupledByTheRootOfTheirMatrix) {
  const Matrix<double> x = normals(50, 2, "x");
  const std::string a = "[[2,0.5,0],[0.5,1,0.3],[0,0.3,0.7]]";
  const std::string text = "decomposable(laplacian(1), " + a + ") + 0.5*decomposable(linear(), " + a + ")";
  const AnchorMap map = build(text, x, 3, recipe_of(SketchLaw::nystrom, 50));
  EXPECT_TRUE(map.coupling().is_constant());
  Matrix<double> rows(150, map.coupling().parameters());
  Matrix<double> phi(50, map.columns());
  map.features(x, phi);
  map.coupling().dense_rows(phi, rows);
  Matrix<double> expected(150, 150);
  gram(kernel_of(text, 2, 3), x, x, 3, expected);
  EXPECT_LT((dense(rows) * dense(rows).transpose() - dense(expected)).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(AnchorMap, RefusesKernelsThatAreNotScalarTimesAMatrix) {
  const Matrix<double> x = normals(20, 2, "x");
  for (const char* text : {"curl_free(gaussian(1))", "gaussian(1) + helmholtz(gaussian(1), 0.5)",
                           "decomposable(gaussian(1), [[1,0.5],[0.5,1]]) + gaussian(2)"}) {
    try {
      build(text, x, 2, recipe_of(SketchLaw::nystrom, 5));
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("--map fourier:D"), std::string::npos) << e.what();
    }
  }
}

TEST(AnchorMap, SameBitsForAnyNumberOfThreads) {
  const Matrix<double> x = normals(700, 3, "x");
  for (const SketchLaw law : every_law) {
    Dense reference;
    std::uint64_t fingerprint = 0;
    for (const int count : {1, 2, 3}) {
      set_threads(count);
      const AnchorMap map = build("gaussian(0.5)", x, 1, recipe_of(law, 40));
      const Dense phi = phi_of(map, x);
      if (count == 1) {
        reference = phi;
        fingerprint = map.fingerprint();
      } else {
        EXPECT_EQ(map.fingerprint(), fingerprint) << to_string(law);
        EXPECT_EQ(phi, reference) << to_string(law);
      }
    }
    set_threads(0);
  }
}

TEST(AnchorMap, FloatsAreTheDoublesRounded) {
  const Matrix<double> x = normals(90, 3, "x");
  Matrix<float> narrow(90, 3);
  std::ranges::transform(x.values(), narrow.values().begin(), [](double v) { return static_cast<float>(v); });
  Matrix<double> rounded(90, 3);
  std::ranges::copy(narrow.values(), rounded.values().begin());
  const AnchorMap map = build("gaussian(1)", x, 1, recipe_of(SketchLaw::p_sr, 20));
  Matrix<float> phi(90, map.columns());
  map.features(narrow, phi);
  const Dense wide = phi_of(map, rounded);
  for (Index i = 0; i < 90; ++i) {
    for (Index c = 0; c < map.columns(); ++c) EXPECT_EQ(phi(i, c), static_cast<float>(wide(i, c)));
  }
}

TEST(AnchorMap, RowsOfWeightZeroAreAsIfAbsent) {
  const Matrix<double> x = normals(80, 2, "x");
  std::vector<double> weights(80);
  std::vector<Index> present;
  for (Index i = 0; i < 80; ++i) {
    weights[static_cast<std::size_t>(i)] = i % 3 == 0 ? 0.0 : static_cast<double>(i % 5 + 1);
    if (i % 3 != 0) present.push_back(i);
  }
  for (const SketchLaw law : every_law) {
    const AnchorMap weighted = build("gaussian(1)", x, 1, recipe_of(law, 15), weights);
    const AnchorMap fewer = build("gaussian(1)", rows_of(x, present), 1, recipe_of(law, 15));
    EXPECT_EQ(weighted.fingerprint(), fewer.fingerprint()) << to_string(law);
  }
  const std::vector<double> none(80, 0.0);
  EXPECT_THROW(build("gaussian(1)", x, 1, recipe_of(SketchLaw::p_sr, 15), none), Error);
}

TEST(AnchorMap, KeepsTheAnchorsAndNoOtherRow) {
  const Matrix<double> x = normals(500, 2, "x");
  const SketchRecipe recipe = recipe_of(SketchLaw::p_sr, 20);
  const AnchorMap map = build("gaussian(1)", x, 1, recipe);
  const Sketch sketch = draw_sketch(recipe, 500);
  EXPECT_EQ(dense(map.parts().anchors), dense(rows_of(x, sketch.anchors)));
  EXPECT_LT(map.parts().anchors.rows(), 110);
  EXPECT_EQ(map.sampling_name(), "p-sr");
  EXPECT_EQ(map.inputs(), 2);
}

TEST(AnchorMap, TooManyRowsWantedIsANote) {
  const Matrix<double> x = normals(10, 2, "x");
  for (const SketchLaw law : {SketchLaw::nystrom, SketchLaw::leverage, SketchLaw::rp_cholesky, SketchLaw::hadamard}) {
    ArrayRows rows(x);
    std::vector<std::string> notes;
    build_anchor_map(kernel_of("gaussian(1)", 2, 1), rows, 1, recipe_of(law, 100), plenty, notes, nullptr);
    ASSERT_EQ(notes.size(), 1U) << to_string(law);
    EXPECT_NE(notes[0].find("only 10 rows"), std::string::npos) << notes[0];
  }
}

TEST(AnchorMap, RefusesWhatDoesNotFitOrOverflows) {
  const Matrix<double> x = normals(400, 2, "x");
  ArrayRows rows(x);
  std::vector<std::string> notes;
  EXPECT_THROW(
      build_anchor_map(kernel_of("gaussian(1)", 2, 1), rows, 1, recipe_of(SketchLaw::gaussian, 200), 100000, notes, nullptr),
      Error);
  SketchRecipe sparse = recipe_of(SketchLaw::p_sr, 5);
  sparse.density_over_rows = false;
  sparse.density = 1e-12;
  EXPECT_THROW(build("gaussian(1)", x, 1, sparse), Error);
  Matrix<double> huge = x;
  for (double& v : huge.values()) v *= 1e10;
  for (const SketchLaw law : every_law) EXPECT_THROW(build("polynomial(40, 1)", huge, 1, recipe_of(law, 5)), Error);
}

TEST(AnchorMap, AKernelThatIsZeroGivesOneColumnOfZeros) {
  const Matrix<double> zero(9, 2);
  for (const SketchLaw law : every_law) {
    const AnchorMap map = build("linear()", zero, 1, recipe_of(law, 4));
    EXPECT_EQ(map.columns(), 1);
    EXPECT_EQ(phi_of(map, zero).norm(), 0);
  }
}

}  // namespace
}  // namespace mercer
