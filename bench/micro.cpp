// Micro-benchmarks of the primitives: `build/release/bench/micro_bench`.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "backend/backend.hpp"
#include "backend/packed_rows.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "map/fourier.hpp"

namespace mercer {
namespace {

template <class Real>
Matrix<Real> normals(Index rows, Index cols) {
  const Stream stream(0, "micro");
  Matrix<Real> m(rows, cols);
  for (Index i = 0; i < m.size(); ++i) m.data()[i] = static_cast<Real>(stream.normal(static_cast<std::uint64_t>(i), 0));
  return m;
}

template <class Real>
void gram_block(benchmark::State& state) {
  const auto f = normals<Real>(1024, state.range(0));
  Matrix<double> g(state.range(0), state.range(0));
  for (auto _ : state) accumulate_gram<Real>(f, g);
  state.counters["flops"] = benchmark::Counter(1024.0 * static_cast<double>(state.range(0) * state.range(0)),
                                               benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(gram_block<float>)->Arg(1000)->Arg(4000)->UseRealTime();
BENCHMARK(gram_block<double>)->Arg(1000)->Arg(4000)->UseRealTime();

/// A block of rows as refinement hands it over: pack 2048 rows, then add their Gram matrix.
template <class Sum>
void packed_pack(benchmark::State& state) {
  const Matrix<float> f(2048, state.range(0));
  const std::vector<float> scales(static_cast<std::size_t>(state.range(0)), 127.0F);
  PackedRows<Sum> packed(2048, state.range(0));
  packed.set_rows(2048);
  for (auto _ : state) {
    parallel_for(
        8, [&](Index slot) { packed.template pack<float>(slot * 256, f.view().row_range(slot * 256, 256), {}, scales); });
  }
  state.SetItemsProcessed(state.iterations() * f.size());
}
BENCHMARK(packed_pack<float>)->Arg(4001)->UseRealTime();
BENCHMARK(packed_pack<std::int32_t>)->Arg(4001)->UseRealTime();

template <class Sum>
void packed_gram(benchmark::State& state) {
  const Index m = state.range(0);
  PackedRows<Sum> packed(state.range(1), m);
  packed.set_rows(state.range(1));
  Matrix<Sum> g(m, (m + 15) / 16 * 16 + 16);
  for (auto _ : state) accumulate_gram<Sum>(packed, g.view().col_range(0, m));
  state.counters["flops"] = benchmark::Counter(static_cast<double>(state.range(1)) * static_cast<double>(m * m),
                                               benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(packed_gram<float>)->Args({4001, 2048})->Args({4001, 8192})->UseRealTime();
BENCHMARK(packed_gram<std::int32_t>)->Args({4001, 2048})->Args({4001, 8192})->UseRealTime();

template <class Real>
void cos_sin_pairs(benchmark::State& state) {
  const auto phase = normals<Real>(1, 65536);
  Matrix<Real> c(1, 65536);
  Matrix<Real> s(1, 65536);
  force_simd(static_cast<Simd>(state.range(0)));
  for (auto _ : state) cos_sin<Real>(phase.data(), 65536, Real(1), c.data(), s.data());
  force_simd(Simd::automatic);
  state.SetItemsProcessed(state.iterations() * 65536);
}
BENCHMARK(cos_sin_pairs<float>)->Arg(1)->Arg(2)->Arg(3);
BENCHMARK(cos_sin_pairs<double>)->Arg(1)->Arg(2)->Arg(3);

void features(benchmark::State& state) {
  const FourierMap map(parse_kernel("gaussian(1)"), 32, 1, {2000, Sampling::orthogonal, 0});
  const auto x = normals<float>(1024, 32);
  Matrix<float> phi(1024, map.columns());
  for (auto _ : state) map.features(x, phi);
  state.SetItemsProcessed(state.iterations() * 1024 * 2000);
}
BENCHMARK(features)->UseRealTime();

/// What a pass over the rows does with every chunk of them, on one thread: features of some inputs, their products with some
/// columns, and back. Arguments: columns, inputs, rows.
template <class Real>
void pass_over_chunk(benchmark::State& state) {
  constexpr Index frequencies = 2000;
  const Index rows = state.range(2);
  const Index k = state.range(0);
  const FourierMap map(parse_kernel("gaussian(1)"), state.range(1), 1, {frequencies, Sampling::orthogonal, 0});
  const auto x = normals<Real>(rows, state.range(1));
  const ThinWeights<Real> weights(normals<double>(map.columns(), k));
  Matrix<Real> phi(rows, map.columns());
  Matrix<Real> f(rows, k);
  Matrix<Real> s(k, map.columns());
  using Clock = std::chrono::steady_clock;
  Clock::duration spent[3] = {};
  for (auto _ : state) {
    const auto start = Clock::now();
    map.features(x, phi);
    const auto computed = Clock::now();
    weights.forward(phi, f);
    const auto forward = Clock::now();
    thin_adjoint<Real>(phi, f, true, s);
    spent[0] += computed - start;
    spent[1] += forward - computed;
    spent[2] += Clock::now() - forward;
  }
  const auto seconds = [&](int part) { return std::chrono::duration<double>(spent[part]).count(); };
  const auto runs = static_cast<double>(state.iterations());
  state.counters["pairs/s"] = runs * static_cast<double>(rows * frequencies) / seconds(0);
  state.counters["forward_flops"] = runs * 2 * static_cast<double>(phi.size() * k) / seconds(1);
  state.counters["adjoint_flops"] = runs * 2 * static_cast<double>(phi.size() * k) / seconds(2);
}
BENCHMARK(pass_over_chunk<float>)->ArgsProduct({{1, 6, 16}, {3, 32}, {24, 32, 48}});
BENCHMARK(pass_over_chunk<double>)->ArgsProduct({{1, 6, 16}, {3, 32}, {24, 32, 48}});

Index split_throughout(MatrixView<float> a) {
  return split_cholesky(a, 1e30);
}

template <class Real, Index (*factor)(MatrixView<Real>)>
void cholesky_factor(benchmark::State& state) {
  const Index n = state.range(0);
  const auto f = normals<float>(n / 2, n);
  Matrix<double> g(n, n);
  accumulate_gram<float>(f, g);
  for (Index i = 0; i < n; ++i) g(i, i) += 1;
  for (auto _ : state) {
    state.PauseTiming();
    Matrix<Real> l(n, n, Pages::small);  // as fits have it
    for (Index i = 0; i < n; ++i)
      std::transform(g.row(i).begin(), g.row(i).begin() + i + 1, l.row(i).begin(),
                     [](double v) { return static_cast<Real>(v); });
    state.ResumeTiming();
    benchmark::DoNotOptimize(factor(l));
  }
  state.counters["flops"] = benchmark::Counter(static_cast<double>(n * n) * static_cast<double>(n) / 3,
                                               benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(cholesky_factor<double, cholesky>)->Arg(1000)->Arg(4000)->UseRealTime();
BENCHMARK(cholesky_factor<float, cholesky>)->Arg(1000)->Arg(4000)->Arg(8000)->UseRealTime();
BENCHMARK(cholesky_factor<float, split_throughout>)->Arg(4000)->Arg(8000)->UseRealTime();

/// Preconditioning a few columns: all of L is read twice.
void solve_few_columns(benchmark::State& state) {
  const Index n = state.range(0);
  Matrix<float> l(n, n, Pages::small);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < i; ++j) l(i, j) = 1e-3F;
    l(i, i) = 1;
  }
  Matrix<float> b(n, state.range(1));
  for (auto _ : state) {
    for (float& v : b.values()) v = 1;
    cholesky_solve(l.view(), b.view());
    benchmark::DoNotOptimize(b.data());
  }
  state.counters["bytes/s"] =
      benchmark::Counter(4 * static_cast<double>(n) * static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(solve_few_columns)->ArgsProduct({{4000, 8000}, {1, 8, 16}})->UseRealTime();

}  // namespace
}  // namespace mercer

BENCHMARK_MAIN();
