// What a sketch costs, in kernel values. TileKernel::fill and value() are counted as the map calls them: the linker sends
// every call from outside their own file here first (--wrap, tests/CMakeLists.txt), so the library has no counter of its
// own.
#include <gtest/gtest.h>

#include <atomic>

#include "kernel/evaluate.hpp"
#include "kernel/tile.hpp"
#include "map/anchor_build.hpp"
#include "map/anchor_map.hpp"
#include "unit/map/sketch_samples.hpp"

namespace mercer {

void real_fill(const TileKernel* self, Index first_row, Index first_col,
               MutMatrix tile) asm("__real__ZNK6mercer10TileKernel4fillEllNS_10MatrixViewIdEE");
void counting_fill(const TileKernel* self, Index first_row, Index first_col,
                   MutMatrix tile) asm("__wrap__ZNK6mercer10TileKernel4fillEllNS_10MatrixViewIdEE");
double real_value(const Kernel& kernel, Point x,
                  Point z) asm("__real__ZN6mercer5valueERKNS_6KernelESt4spanIKdLm18446744073709551615EES5_");
double counting_value(const Kernel& kernel, Point x,
                      Point z) asm("__wrap__ZN6mercer5valueERKNS_6KernelESt4spanIKdLm18446744073709551615EES5_");

namespace {

using namespace samples;

std::atomic<Index> evaluated = 0;  ///< kernel values so far
std::atomic<Index> widest = 0;     ///< the largest number of values that were wanted side by side

void note_width(Index values) {
  Index before = widest;
  while (before < values && !widest.compare_exchange_weak(before, values)) {
  }
}

struct Cost {
  Index values = 0;
  Index widest = 0;
};

template <class Work>
Cost cost_of(const Work& work) {
  evaluated = 0;
  widest = 0;
  work();
  return {evaluated, widest};
}

SketchRecipe recipe_of(SketchLaw law, Index size) {
  SketchRecipe r;
  r.law = law;
  r.size = size;
  r.density = 5;  // p = 5/n
  r.terms = 5;
  r.seed = 11;
  return r;
}

AnchorMap build(const Matrix<double>& x, const SketchRecipe& recipe) {
  ArrayRows rows(x);
  std::vector<std::string> notes;
  return build_anchor_map(kernel_of("laplacian(1)", x.cols(), 1), rows, 1, recipe, Index{1} << 30, notes, nullptr);
}

constexpr Index tile = 128;  // edge of the tiles of a sketched Gram matrix; those on the diagonal are computed whole

/// S K Sᵀ: half of the s' × s' values, and the other halves of the tiles on the diagonal.
void expect_half(Index values, Index anchors, SketchLaw law) {
  EXPECT_GE(values, anchors * (anchors + 1) / 2) << to_string(law);
  EXPECT_LE(values, anchors * (anchors + tile) / 2) << to_string(law);
}

// Building: s'²/2 values with s' at most the non-zeros of S, whatever n is. Features: exactly rows × s'.
TEST(KernelValues, SparseSketchesPayForTheirNonZeros) {
  constexpr Index size = 40;
  for (const Index n : {2000, 20000}) {
    const Matrix<double> x = normals(n, 2, "x");
    for (const SketchLaw law : {SketchLaw::p_sr, SketchLaw::p_sg, SketchLaw::accumulation, SketchLaw::nystrom}) {
      const SketchRecipe recipe = recipe_of(law, size);
      const Sketch sketch = draw_sketch(recipe, n);
      const auto nonzeros = static_cast<Index>(std::get<SparseSketch>(sketch.form).value.size());
      EXPECT_LE(sketch.touched(), nonzeros);
      // p-SR, p-SG: Binomial(s·n, 5/n), mean 200, deviation 14; beyond 300 with probability below 1e-9 (7 deviations).
      EXPECT_LE(nonzeros, 300) << to_string(law);
      const Cost building = cost_of([&] { build(x, recipe); });
      expect_half(building.values, sketch.touched(), law);
      EXPECT_LE(building.widest, tile * tile);
      const AnchorMap map = build(x, recipe);
      Matrix<double> phi(n, map.columns());
      const Cost applying = cost_of([&] { map.features(x, phi); });
      EXPECT_EQ(applying.values, n * sketch.touched()) << to_string(law);
      EXPECT_LT(building.values + applying.values, n * n / 6) << "never the Gram matrix of all rows";
    }
  }
}

// Laws that touch every row read half of K once, by strips of at most 2²¹ values: no n × n matrix.
TEST(KernelValues, DenseSketchesReadTheGramMatrixByStrips) {
  constexpr Index n = 3000;
  const Matrix<double> x = normals(n, 2, "x");
  for (const SketchLaw law : {SketchLaw::count, SketchLaw::gaussian, SketchLaw::hadamard}) {
    const Cost building = cost_of([&] { build(x, recipe_of(law, 10)); });
    expect_half(building.values, n, law);
    EXPECT_LE(building.widest, tile * n) << to_string(law);
  }
}

// Leverage scores: the diagonal, the pilot's Gram matrix (2s)² (half, in tiles) and n·2s values. Pivots: the diagonal and
// n·s.
TEST(KernelValues, RowsChosenByTheKernelCostAFewColumns) {
  constexpr Index n = 5000;
  constexpr Index size = 30;
  const Matrix<double> x = normals(n, 2, "x");
  for (const auto& [law, columns] : {std::pair(SketchLaw::leverage, 2 * size), std::pair(SketchLaw::rp_cholesky, size)}) {
    Index anchors = 0;
    const Cost building = cost_of([&] { anchors = build(x, recipe_of(law, size)).parts().anchors.rows(); });
    EXPECT_LE(anchors, size);
    const Index rest = building.values - n - n * columns;
    EXPECT_GE(rest, anchors * (anchors + 1) / 2) << to_string(law);
    EXPECT_LE(rest, 4 * size * size + size * (size + tile) / 2) << to_string(law);
    EXPECT_LE(building.widest, 2 * size * 256) << to_string(law);
  }
}

}  // namespace

void counting_fill(const TileKernel* self, Index first_row, Index first_col, MutMatrix out) {
  evaluated += out.rows * out.cols;
  note_width(out.rows * out.stride);
  real_fill(self, first_row, first_col, out);
}

double counting_value(const Kernel& kernel, Point x, Point z) {
  evaluated += 1;
  return real_value(kernel, x, z);
}

}  // namespace mercer
