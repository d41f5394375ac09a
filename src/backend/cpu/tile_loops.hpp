#pragma once
#include <cstddef>

/// The inner loops of kernel tiles, one algorithm compiled three times with different instruction sets (tile_loops.inc).
namespace mercer::simd_portable {
void exponential(double* values, std::ptrdiff_t count, double scale);
void squared_distances(const double* columns, std::ptrdiff_t inputs, std::ptrdiff_t count, const double* x,
                       const double* inverse, double* out);
void add_absolute_differences(const double* column, std::ptrdiff_t count, double x, double inverse, double* out);
bool add_norms(const double* norms, std::ptrdiff_t count, double norm, double trust, double* out);
void add_multiple(const double* values, std::ptrdiff_t count, double factor, double* out);
void add_damped_wave(const double* square, std::ptrdiff_t count, double scale, const double* cosine, const double* sine,
                     double c, double s, double* out);
void damped_waves(const double* square, std::ptrdiff_t count, double scale, const double* cosine, const double* sine,
                  double c, double s, double* even, double* odd);
void dot_pair(const double* a, const double* b, const double* u, const double* v, std::ptrdiff_t count, double* sums);
void cell_polynomials(const double* coefficients, const double* whole, const double* part, std::ptrdiff_t count,
                      double* out);
}  // namespace mercer::simd_portable
namespace mercer::simd_avx2 {
void exponential(double* values, std::ptrdiff_t count, double scale);
void squared_distances(const double* columns, std::ptrdiff_t inputs, std::ptrdiff_t count, const double* x,
                       const double* inverse, double* out);
void add_absolute_differences(const double* column, std::ptrdiff_t count, double x, double inverse, double* out);
bool add_norms(const double* norms, std::ptrdiff_t count, double norm, double trust, double* out);
void add_multiple(const double* values, std::ptrdiff_t count, double factor, double* out);
void add_damped_wave(const double* square, std::ptrdiff_t count, double scale, const double* cosine, const double* sine,
                     double c, double s, double* out);
void damped_waves(const double* square, std::ptrdiff_t count, double scale, const double* cosine, const double* sine,
                  double c, double s, double* even, double* odd);
void dot_pair(const double* a, const double* b, const double* u, const double* v, std::ptrdiff_t count, double* sums);
void cell_polynomials(const double* coefficients, const double* whole, const double* part, std::ptrdiff_t count,
                      double* out);
}  // namespace mercer::simd_avx2
namespace mercer::simd_avx512 {
void exponential(double* values, std::ptrdiff_t count, double scale);
void squared_distances(const double* columns, std::ptrdiff_t inputs, std::ptrdiff_t count, const double* x,
                       const double* inverse, double* out);
void add_absolute_differences(const double* column, std::ptrdiff_t count, double x, double inverse, double* out);
bool add_norms(const double* norms, std::ptrdiff_t count, double norm, double trust, double* out);
void add_multiple(const double* values, std::ptrdiff_t count, double factor, double* out);
void add_damped_wave(const double* square, std::ptrdiff_t count, double scale, const double* cosine, const double* sine,
                     double c, double s, double* out);
void damped_waves(const double* square, std::ptrdiff_t count, double scale, const double* cosine, const double* sine,
                  double c, double s, double* even, double* odd);
void dot_pair(const double* a, const double* b, const double* u, const double* v, std::ptrdiff_t count, double* sums);
void cell_polynomials(const double* coefficients, const double* whole, const double* part, std::ptrdiff_t count,
                      double* out);
}  // namespace mercer::simd_avx512
