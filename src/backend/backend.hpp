#pragma once
#include <mercer/view.hpp>

#include <string>
#include <vector>

#include "base/matrix.hpp"

/// The primitives that everything numerical is made of. All matrices are row-major; Real is float or double.
/// Work is cut into tiles that depend on the sizes alone and each tile is computed by one thread, so results are bit-equal
/// for any number of threads.
namespace mercer {

/// C = alpha · op(A) op(B) + beta · C.  2·m·n·k flops.
template <class Real>
void gemm(bool transpose_a, bool transpose_b, Real alpha, MatrixView<const Real> a, MatrixView<const Real> b, Real beta,
          MatrixView<Real> c);

/// F (rows × k) = A Vᵀ and S (k × m) = Fᵀ A, or += when `add`, for a block A (rows × m) that lies in the cache and a few
/// columns (V, S: k × m). On the calling thread: it is the caller who has many blocks. 2·rows·k·m flops each.
template <class Real>
void thin_forward(MatrixView<const Real> a, MatrixView<const Real> v, MatrixView<Real> f);
template <class Real>
void thin_adjoint(MatrixView<const Real> a, MatrixView<const Real> f, bool add, MatrixView<Real> s);

/// The same F = A W for weights W (m × k) that are used for many blocks: as many columns as fill vectors lie side by side in
/// them, and a number of A goes to all lanes (a tenth faster in float, a fifth in double); others as in thin_forward.
template <class Real>
class ThinWeights {
 public:
  explicit ThinWeights(ConstMatrix w);
  void forward(MatrixView<const Real> a, MatrixView<Real> f) const;

 private:
  Index columns_;
  Matrix<Real> beside_;  ///< m × a multiple of what fills a vector
  Matrix<Real> others_;  ///< the other columns, as rows
};

/// Lower triangle of G (double) += FᵀF for a block of rows F (n × m): products in Real, sums over blocks in double.
/// n·m² flops; the upper triangle of G is not touched.
template <class Real>
void accumulate_gram(MatrixView<const Real> f, MutMatrix g);

/// cosine[i] = scale·cos(phase[i]), sine[i] = scale·sin(phase[i]); absolute error below 2 ulp of scale for |phase| ≤ 8192
/// (float) or 10⁶ (double), libm beyond that. `cosine` may be `phase`.
template <class Real>
void cos_sin(const Real* phase, Index count, Real scale, Real* cosine, Real* sine);

/// values[i] := exp(scale·values[i]); relative error below 2 ulp; 0 where scale·values[i] < -708 (the result would be below
/// 1e-307), infinity above 709; NaN stays NaN.
void exponential(double* values, Index count, double scale);
/// out[i] = Σ_k ((x[k] - columns[k·count + i])·inverse[k])² over the inputs k: one row of a tile.
void squared_distances(const double* columns, Index inputs, Index count, const double* x, const double* inverse,
                       double* out);
/// out[i] += |x - column[i]|·inverse: one input's share of the l1 distances of a tile.
void add_absolute_differences(const double* column, Index count, double x, double inverse, double* out);
/// out[i] += norm + norms[i]; false when some result is below trust·(norm + norms[i]), where it would be rounding only, or
/// when those are not finite.
bool add_norms(const double* norms, Index count, double norm, double trust, double* out);
/// out[i] += factor·values[i].
void add_multiple(const double* values, Index count, double factor, double* out);
/// out[i] += exp(scale·square[i])·(c·cosine[i] + s·sine[i]): one row of a damped wave, cos of a difference of phases.
void add_damped_wave(const double* square, Index count, double scale, const double* cosine, const double* sine, double c,
                     double s, double* out);
/// even[i] = exp(scale·square[i])·(c·cosine[i] + s·sine[i]) and odd[i] = exp(scale·square[i])·(s·cosine[i] - c·sine[i]).
void damped_waves(const double* square, Index count, double scale, const double* cosine, const double* sine, double c,
                  double s, double* even, double* odd);
/// sums[0] = Σ a[i]·b[i] and sums[1] = Σ u[i]·v[i].
void dot_pair(const double* a, const double* b, const double* u, const double* v, Index count, double* sums);
/// A function g of the line with g(-w) = conj g(w), in cells around the integers: at w = k + u/2, |u| <= 1, it is
/// Σ_m a_km u^m, m = 0, …, 23, with a_km at coefficients[48k + 2m] (real part) and the next entry (imaginary part). For each
/// w = whole[i] + part[i], whole an integer and |part| small, so that w keeps its digits after the point:
/// out[4i], … = Re g, Im g, Re ½g', Im ½g'. Some 15 operations of eight lanes for each.
inline constexpr Index cell_terms = 24;
void cell_polynomials(const double* coefficients, const double* whole, const double* part, Index count, double* out);

/// Copies the lower triangle onto the upper.
void mirror_lower(MutMatrix a);

Matrix<double> transposed(ConstMatrix a);
/// a_kᵀb_k of every column.
std::vector<double> column_dots(ConstMatrix a, ConstMatrix b);

/// Lower Cholesky factor in place (upper triangle untouched): A = LLᵀ. Returns -1, or the first pivot that is not positive.
Index cholesky(MutMatrix a);
Index cholesky(MatrixView<float> a);
/// The same for a preconditioner, where bfloat16 are multiplied many times as fast as floats: two tiles are multiplied by
/// three such products (cpu/split_product.hpp) where a factor of tiles like them would move A by no more than `harmless` or
/// so, in spectral norm.
Index split_cholesky(MatrixView<float> a, double harmless);
/// B := L⁻¹B, or L⁻ᵀB.
void solve_lower(ConstMatrix l, MutMatrix b);
void solve_lower(MatrixView<const float> l, MatrixView<float> b);
void solve_lower_transposed(ConstMatrix l, MutMatrix b);
void solve_lower_transposed(MatrixView<const float> l, MatrixView<float> b);
/// B := (LLᵀ)⁻¹B.
void cholesky_solve(ConstMatrix l, MutMatrix b);
void cholesky_solve(MatrixView<const float> l, MatrixView<float> b);
/// Lower triangle of L := that of (LLᵀ)⁻¹ (upper untouched); `work` (n × n) := L⁻¹, 0 above the diagonal. 2n³/3 flops.
void cholesky_inverse(MutMatrix l, MutMatrix work);

/// Eigenvalues ascending, eigenvectors as rows of `vectors`: A = Σ values[k]·vectors(k,·)ᵀvectors(k,·). Reads the lower
/// triangle.
struct Eigen {
  std::vector<double> values;
  Matrix<double> vectors;
};
Eigen eigh(ConstMatrix a);

/// Which instruction set cos_sin and the loops above use. `automatic` is the best the CPU has; environment variable
/// MERCER_SIMD overrides it.
enum class Simd { automatic, portable, avx2, avx512 };
/// Forces a path for tests; throws Error when this CPU lacks it.
void force_simd(Simd level);
Simd active_simd();
bool simd_supported(Simd level);
const char* to_string(Simd level);

/// What runs underneath, for `mercer info --system`.
struct BackendInfo {
  std::string cpu;           ///< model name
  std::string blas_library;  ///< path that was loaded
  std::string blas_config;   ///< OpenBLAS' own words
  std::string blas_kernels;  ///< e.g. "SkylakeX"
  std::string blas_note;     ///< not empty where the environment asks for slower kernels than this CPU has
  std::string simd;          ///< path of cos_sin
  std::string warning;       ///< not empty when the BLAS runs on kernels far below what this CPU can do
};
BackendInfo backend_info();

}  // namespace mercer
