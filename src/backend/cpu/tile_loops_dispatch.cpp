#include "backend/backend.hpp"
#include "backend/cpu/tile_loops.hpp"

namespace mercer {
namespace {

struct Loops {
  decltype(&simd_portable::exponential) exponential;
  decltype(&simd_portable::squared_distances) squared;
  decltype(&simd_portable::add_absolute_differences) absolute;
  decltype(&simd_portable::add_norms) norms;
  decltype(&simd_portable::add_multiple) multiple;
  decltype(&simd_portable::add_damped_wave) add_wave;
  decltype(&simd_portable::damped_waves) waves;
  decltype(&simd_portable::dot_pair) dots;
  decltype(&simd_portable::cell_polynomials) cells;
};

const Loops& loops() {
  static constexpr Loops portable = {
      simd_portable::exponential,  simd_portable::squared_distances, simd_portable::add_absolute_differences,
      simd_portable::add_norms,    simd_portable::add_multiple,      simd_portable::add_damped_wave,
      simd_portable::damped_waves, simd_portable::dot_pair,          simd_portable::cell_polynomials};
  static constexpr Loops avx2 = {simd_avx2::exponential,  simd_avx2::squared_distances, simd_avx2::add_absolute_differences,
                                 simd_avx2::add_norms,    simd_avx2::add_multiple,      simd_avx2::add_damped_wave,
                                 simd_avx2::damped_waves, simd_avx2::dot_pair,          simd_avx2::cell_polynomials};
  static constexpr Loops avx512 = {
      simd_avx512::exponential,  simd_avx512::squared_distances, simd_avx512::add_absolute_differences,
      simd_avx512::add_norms,    simd_avx512::add_multiple,      simd_avx512::add_damped_wave,
      simd_avx512::damped_waves, simd_avx512::dot_pair,          simd_avx512::cell_polynomials};
  switch (active_simd()) {
    case Simd::avx512:
      return avx512;
    case Simd::avx2:
      return avx2;
    case Simd::portable:
    case Simd::automatic:
      break;
  }
  return portable;
}

}  // namespace

void exponential(double* values, Index count, double scale) {
  loops().exponential(values, count, scale);
}

void squared_distances(const double* columns, Index inputs, Index count, const double* x, const double* inverse,
                       double* out) {
  loops().squared(columns, inputs, count, x, inverse, out);
}

void add_absolute_differences(const double* column, Index count, double x, double inverse, double* out) {
  loops().absolute(column, count, x, inverse, out);
}

bool add_norms(const double* norms, Index count, double norm, double trust, double* out) {
  return loops().norms(norms, count, norm, trust, out);
}

void add_multiple(const double* values, Index count, double factor, double* out) {
  loops().multiple(values, count, factor, out);
}

void add_damped_wave(const double* square, Index count, double scale, const double* cosine, const double* sine, double c,
                     double s, double* out) {
  loops().add_wave(square, count, scale, cosine, sine, c, s, out);
}

void damped_waves(const double* square, Index count, double scale, const double* cosine, const double* sine, double c,
                  double s, double* even, double* odd) {
  loops().waves(square, count, scale, cosine, sine, c, s, even, odd);
}

void dot_pair(const double* a, const double* b, const double* u, const double* v, Index count, double* sums) {
  loops().dots(a, b, u, v, count, sums);
}

void cell_polynomials(const double* coefficients, const double* whole, const double* part, Index count, double* out) {
  loops().cells(coefficients, whole, part, count, out);
}

}  // namespace mercer
