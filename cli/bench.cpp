// `mercer bench`: what this machine can do, and how close the jobs come to it. bench/peers.py runs these jobs interleaved
// with scikit-learn's.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "model/recipe.hpp"

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

struct Job {
  Index rows = 100000;
  Index inputs = 32;
  Index outputs = 1;
  std::string kernel = "gaussian(8)";
  Index frequencies = 2000;
};

/// Smooth targets plus noise on standard normal inputs; the same numbers as bench/peers.py does not matter, the sizes do.
nlohmann::json run_job(const Job& job, const Arguments& a) {
  const Stream stream(1, "bench rows");
  Matrix<double> x(job.rows, job.inputs);
  Matrix<double> y(job.rows, job.outputs);
  parallel_for(job.rows, [&](Index i) {
    double sum = 0;
    for (Index k = 0; k < job.inputs; ++k)
      sum += x(i, k) = stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(k));
    for (Index o = 0; o < job.outputs; ++o) {
      y(i, o) = std::sin(sum / 6 + static_cast<double>(o)) +
                0.1 * stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(job.inputs + o));
    }
  });
  ArrayRows rows(x, y);
  FitOptions options;
  options.kernel = job.kernel;
  options.map = "fourier:" + std::to_string(job.frequencies);
  options.penalty = 1e-6;
  options.precision = a.text("precision");
  options.uncertainty = "none";
  options.standardize = false;
  options.memory_bytes = a.bytes("memory");
  const Stopwatch watch;
  const Model model = fit(rows, options);
  const double seconds = watch.seconds();
  const FitSummary& s = model.summary();
  const double flops = static_cast<double>(job.rows) * static_cast<double>(s.features) *
                           (static_cast<double>(s.features) + static_cast<double>(job.inputs)) +
                       std::pow(static_cast<double>(s.features), 3) / 3;
  return {{"rows", job.rows},
          {"inputs", job.inputs},
          {"outputs", job.outputs},
          {"kernel", job.kernel},
          {"features", s.features},
          {"seconds", seconds},
          {"flops", flops},
          {"stages", s.seconds},
          {"precision", s.precision},
          {"solver", s.solver},
          {"gram", s.gram},
          {"residual", s.residual},
          {"iterations", s.iterations},
          {"peak_memory_bytes", peak_memory_bytes()}};
}

nlohmann::json machine() {
  const BackendInfo info = backend_info();
  return {{"cpu", info.cpu},
          {"threads", threads()},
          {"blas_kernels", info.blas_kernels},
          {"simd", info.simd},
          {"peak_f32", fma_peak<float>()},
          {"peak_f64", fma_peak<double>()},
          {"cos_sin_f32", cos_sin_rate<float>()},
          {"cos_sin_f64", cos_sin_rate<double>()}};
}

}  // namespace

int run_bench(const Arguments& a) {
  const Console console(a);
  const std::vector<std::string> jobs = {"machine", "canonical", "outputs16", "curl_free", "divergence_free", "scalar_2d"};
  const std::string name = a.files.empty() ? "canonical" : a.files.front();
  if (std::ranges::find(jobs, name) == jobs.end()) {
    fail_argument("unknown job " + mercer::quoted(name) + did_you_mean(name, jobs) + "; the jobs are " + join(jobs, ", "));
  }
  const std::int64_t rows = a.integer("rows", 1);  // refused before anything is measured
  parse_precision(a.text("precision"));
  nlohmann::json result = {{"job", name}};
  result["machine"] = machine();
  const auto& m = result["machine"];
  console.say(m["cpu"].get<std::string>() + ", " + std::to_string(threads()) + " threads, BLAS kernels " +
              m["blas_kernels"].get<std::string>());
  console.say("multiply-add peak " + brief(m["peak_f32"].get<double>() / 1e9) + " GF/s float32, " +
              brief(m["peak_f64"].get<double>() / 1e9) + " GF/s float64; cos/sin pairs " +
              brief(m["cos_sin_f32"].get<double>() / 1e9) + " and " + brief(m["cos_sin_f64"].get<double>() / 1e9) +
              " 10⁹/s");
  if (name != "machine") {
    Job job;
    job.rows = static_cast<Index>(std::min<std::int64_t>(100'000'000, rows));
    if (name == "outputs16") job.outputs = 16;
    if (name == "scalar_2d" || name == "curl_free" || name == "divergence_free") {
      job.inputs = 2;
      job.outputs = name == "scalar_2d" ? 1 : 2;
      job.kernel = name == "scalar_2d" ? "gaussian(0.3)" : name + "(gaussian(0.3))";
    }
    nlohmann::json done = run_job(job, a);
    const double peak = m[done["precision"] == "float32" ? "peak_f32" : "peak_f64"].get<double>();
    done["bound_seconds"] = done["flops"].get<double>() / peak;
    console.say(name + ": " + human_count(static_cast<double>(job.rows)) + " rows, " + std::to_string(job.inputs) +
                " inputs, " + std::to_string(job.outputs) + " outputs, " + std::to_string(done["features"].get<Index>()) +
                " features, " + done["precision"].get<std::string>() + ": " + human_seconds(done["seconds"].get<double>()) +
                ", " + brief(done["seconds"].get<double>() / done["bound_seconds"].get<double>()) + " x the bound of " +
                human_seconds(done["bound_seconds"].get<double>()) + ", " +
                human_bytes(done["peak_memory_bytes"].get<double>()) + " resident");
    result["result"] = done;
  }
  console.emit(result);
  return 0;
}

}  // namespace mercer::cli
