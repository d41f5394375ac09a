#pragma once
#include <string>
#include <type_traits>

/// The BLAS and LAPACK routines Mercer calls, loaded at first use. OpenBLAS picks its kernels while it is being loaded and
/// falls back to 20-year-old ones on CPUs it does not know; loading it ourselves lets us name the right kernels first, for
/// the program, the library and Python alike, and forbid threads of its own (the pool is ours).
namespace mercer {

struct Blas {
  using Int = const int*;
  template <class Real>
  using Gemm = void (*)(const char*, const char*, Int m, Int n, Int k, const Real* alpha, const Real* a, Int lda,
                        const Real* b, Int ldb, const Real* beta, Real* c, Int ldc);
  template <class Real>
  using Gemv = void (*)(const char*, Int m, Int n, const Real* alpha, const Real* a, Int lda, const Real* x, Int incx,
                        const Real* beta, Real* y, Int incy);
  template <class Real>
  using Syrk = void (*)(const char* uplo, const char* trans, Int n, Int k, const Real* alpha, const Real* a, Int lda,
                        const Real* beta, Real* c, Int ldc);
  template <class Real>
  using Trsm = void (*)(const char* side, const char* uplo, const char* trans, const char* diag, Int m, Int n,
                        const Real* alpha, const Real* a, Int lda, Real* b, Int ldb);
  template <class Real>
  using Potrf = void (*)(const char* uplo, Int n, Real* a, Int lda, int* info);
  using Syevd = void (*)(const char* jobz, const char* uplo, Int n, double* a, Int lda, double* w, double* work, Int lwork,
                         int* iwork, Int liwork, int* info);

  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  Gemv<float> sgemv = nullptr;
  Gemv<double> dgemv = nullptr;
  Syrk<float> ssyrk = nullptr;
  Syrk<double> dsyrk = nullptr;
  Trsm<float> strsm = nullptr;
  Trsm<double> dtrsm = nullptr;
  Potrf<float> spotrf = nullptr;
  Potrf<double> dpotrf = nullptr;
  Syevd dsyevd = nullptr;

  std::string library;
  std::string config;
  std::string kernels;
  std::string warning;
  std::string note;  ///< where the user's choice of kernels is slower than ours
};

/// The one instance; throws Error(internal) with what to install when no BLAS is found.
const Blas& blas();

/// The routine for the kind of numbers.
template <class Real, class Single, class Double>
auto of_kind(Single for_float, Double for_double) {
  if constexpr (std::is_same_v<Real, float>) {
    return for_float;
  } else {
    return for_double;
  }
}

}  // namespace mercer
