#include "machine_speed.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backend/backend.hpp"
#include "backend/packed_rows.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "base/resources.hpp"
#include "model/plan_cost.hpp"

namespace mercer::cli {
namespace {

constexpr int accumulators = 12;

/// Independent chains of multiply-adds; the compiler turns each into one vector register.
template <class Real, int lanes>
[[gnu::always_inline]] inline Real fma_chains(Index steps) {
  using Vector [[gnu::vector_size(lanes * sizeof(Real))]] = Real;
  Vector a[accumulators];
  Vector b = {};
  Vector c = {};
  for (int l = 0; l < lanes; ++l) {
    b[l] = Real(0.999);
    c[l] = Real(1e-3);
  }
  for (auto& v : a) v = c;
  for (Index i = 0; i < steps; ++i) {
    for (auto& v : a) v = v * b + c;
  }
  Real sum = 0;
  for (auto& v : a) sum += v[0];
  return sum;
}

#if defined(__x86_64__)
[[gnu::target("avx512f,fma")]] float chains_512(float, Index steps) {
  return fma_chains<float, 16>(steps);
}
[[gnu::target("avx512f,fma")]] double chains_512(double, Index steps) {
  return fma_chains<double, 8>(steps);
}
[[gnu::target("avx2,fma")]] float chains_256(float, Index steps) {
  return fma_chains<float, 8>(steps);
}
[[gnu::target("avx2,fma")]] double chains_256(double, Index steps) {
  return fma_chains<double, 4>(steps);
}
#endif
float chains_128(float, Index steps) {
  return fma_chains<float, 4>(steps);
}
double chains_128(double, Index steps) {
  return fma_chains<double, 2>(steps);
}

/// Multiply-add peak of all threads in flops per second: the bound no product can pass.
template <class Real>
double fma_peak() {
  constexpr Index steps = 20'000'000;
  Index lanes = 16 / static_cast<Index>(sizeof(Real));
  Real (*run)(Real, Index) = chains_128;
#if defined(__x86_64__)
  if (simd_supported(Simd::avx512)) {
    run = chains_512;
    lanes *= 4;
  } else if (simd_supported(Simd::avx2)) {
    run = chains_256;
    lanes *= 2;
  }
#endif
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<Real> sink(static_cast<std::size_t>(threads()));
    const Stopwatch watch;
    parallel_for(threads(), [&](Index t) { sink[static_cast<std::size_t>(t)] = run(Real(0), steps); });
    const double flops = 2.0 * static_cast<double>(steps) * accumulators * static_cast<double>(lanes * threads());
    best = std::max(best, flops / watch.seconds() * (sink.front() > 0 ? 1 : 0));
  }
  return best;
}

template <class Real>
double cos_sin_rate() {
  Matrix<Real> phase(256, 1024);
  const Stream stream(0, "bench");
  for (Index i = 0; i < phase.size(); ++i)
    phase.data()[i] = static_cast<Real>(30 * stream.uniform(static_cast<std::uint64_t>(i), 0) - 15);
  Matrix<Real> c(256, 1024);
  Matrix<Real> s(256, 1024);
  double best = 0;
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Stopwatch watch;
    parallel_for(256, [&](Index i) { cos_sin<Real>(phase.row(i).data(), 1024, Real(1), c.row(i).data(), s.row(i).data()); });
    best = std::max(best, static_cast<double>(phase.size()) / watch.seconds());
  }
  return best;
}

}  // namespace

nlohmann::json machine_speed() {
  const BackendInfo info = backend_info();
  return {{"cpu", info.cpu},
          {"threads", threads()},
          {"blas_kernels", info.blas_kernels},
          {"simd", info.simd},
          {"int8", to_string(active_path(LowNumber::int8))},
          {"bf16", to_string(active_path(LowNumber::bf16))},
          {"peak_f32", fma_peak<float>()},
          {"peak_f64", fma_peak<double>()},
          {"gram_int8", gram_speed(GramPrecision::int8)},
          {"gram_bf16", gram_speed(GramPrecision::bf16)},
          {"cos_sin_f32", cos_sin_rate<float>()},
          {"cos_sin_f64", cos_sin_rate<double>()}};
}

}  // namespace mercer::cli
