// `mercer bench`: what this machine can do, and how close the jobs come to it. bench/peers.py runs these jobs interleaved
// with scikit-learn's.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "machine_speed.hpp"
#include "model/recipe.hpp"

namespace mercer::cli {
namespace {

struct Job {
  Index rows = 100000;
  Index inputs = 32;
  Index outputs = 1;
  std::string kernel = "gaussian(8)";
  Index frequencies = 2000;
};

/// Smooth targets plus noise on standard normal inputs; the same numbers as bench/peers.py does not matter, the sizes do.
struct JobRows {
  JobRows(const Job& job, Index rows) : x(rows, job.inputs), y(rows, job.outputs) {
    const Stream stream(1, "bench rows");
    parallel_for(rows, [&](Index i) {
      double sum = 0;
      for (Index k = 0; k < job.inputs; ++k)
        sum += x(i, k) = stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(k));
      for (Index o = 0; o < job.outputs; ++o) {
        y(i, o) = std::sin(sum / 6 + static_cast<double>(o)) +
                  0.1 * stream.normal(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(job.inputs + o));
      }
    });
  }
  Matrix<double> x;
  Matrix<double> y;
};

FitOptions job_options(const Job& job, const Arguments& a) {
  FitOptions options;
  options.kernel = job.kernel;
  options.map = "fourier:" + std::to_string(job.frequencies);
  options.penalty = 1e-6;
  options.precision = a.text("precision");
  options.uncertainty = "none";
  options.standardize = false;
  options.memory_bytes = a.bytes("memory");
  return options;
}

/// Means of all rows, and of one row at a time, by a model of the canonical sizes.
nlohmann::json run_predictions(const Job& job, const Arguments& a, const nlohmann::json& machine) {
  constexpr Index training_rows = 5000;
  const JobRows train(job, training_rows);
  ArrayRows rows(train.x, train.y);
  const Model model = fit(rows, job_options(job, a));
  const JobRows data(job, job.rows);
  Matrix<double> mean(job.rows, job.outputs);
  model.predict(data.x.view().row_range(0, std::min<Index>(job.rows, 1000)),
                mean.view().row_range(0, std::min<Index>(job.rows, 1000)));
  Stopwatch watch;
  model.predict(data.x, mean);
  const double seconds = watch.seconds();
  const Index single = std::min<Index>(job.rows, 1000);
  watch = {};
  for (Index i = 0; i < single; ++i) model.predict(data.x.view().row_range(i, 1), mean.view().row_range(i, 1));
  const double one_row = watch.seconds() / static_cast<double>(single);
  const bool narrow = model.summary().precision == "float32";
  const auto n = static_cast<double>(job.rows);
  const auto frequencies = static_cast<double>(job.frequencies);
  const double flops = n * frequencies * (2 * static_cast<double>(job.inputs) + 4 * static_cast<double>(job.outputs));
  const double bound = flops / machine.at(narrow ? "peak_f32" : "peak_f64").get<double>() +
                       n * frequencies / machine.at(narrow ? "cos_sin_f32" : "cos_sin_f64").get<double>();
  return {{"rows", job.rows},
          {"inputs", job.inputs},
          {"outputs", job.outputs},
          {"kernel", job.kernel},
          {"features", model.summary().features},
          {"precision", model.summary().precision},
          {"seconds", seconds},
          {"one_row_seconds", one_row},
          {"bound_seconds", bound},
          {"flops", flops},
          {"peak_memory_bytes", peak_memory_bytes()}};
}

nlohmann::json run_job(const Job& job, const Arguments& a) {
  const JobRows data(job, job.rows);
  ArrayRows rows(data.x, data.y);
  const Stopwatch watch;
  const Model model = fit(rows, job_options(job, a));
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

}  // namespace

int run_bench(const Arguments& a) {
  const Console console(a);
  const std::vector<std::string> jobs = {"machine",         "canonical", "outputs16",    "scalar_2d",          "curl_free",
                                         "divergence_free", "scalar_3d", "curl_free_3d", "divergence_free_3d", "predict"};
  const std::string name = a.files.empty() ? "canonical" : a.files.front();
  if (std::ranges::find(jobs, name) == jobs.end()) {
    fail_argument("unknown job " + mercer::quoted(name) + did_you_mean(name, jobs) + "; the jobs are " + join(jobs, ", "));
  }
  const std::int64_t rows = a.integer("rows", 1);  // refused before anything is measured
  parse_precision(a.text("precision"));
  nlohmann::json result = {{"job", name}};
  result["machine"] = machine_speed();
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
    const bool field = name.starts_with("curl_free") || name.starts_with("divergence_free");
    if (field || name.starts_with("scalar_")) {
      job.inputs = name.ends_with("_3d") ? 3 : 2;
      job.outputs = field ? job.inputs : 1;
      job.kernel = field ? name.substr(0, name.find("_3d")) + "(gaussian(0.3))" : "gaussian(0.3)";
    }
    nlohmann::json done = name == "predict" ? run_predictions(job, a, m) : run_job(job, a);
    if (name != "predict") {
      const double peak = m[done["precision"] == "float32" ? "peak_f32" : "peak_f64"].get<double>();
      done["bound_seconds"] = done["flops"].get<double>() / peak;
    }
    console.say(name + ": " + human_count(static_cast<double>(job.rows)) + " rows, " + std::to_string(job.inputs) +
                " inputs, " + std::to_string(job.outputs) + " outputs, " + std::to_string(done["features"].get<Index>()) +
                " features, " + done["precision"].get<std::string>() + ": " + human_seconds(done["seconds"].get<double>()) +
                ", " + brief(done["seconds"].get<double>() / done["bound_seconds"].get<double>()) + " x the bound of " +
                human_seconds(done["bound_seconds"].get<double>()) + ", " +
                human_bytes(done["peak_memory_bytes"].get<double>()) + " resident");
    if (done.contains("one_row_seconds")) console.say("one row: " + human_seconds(done["one_row_seconds"].get<double>()));
    result["result"] = done;
  }
  console.emit(result);
  return 0;
}

}  // namespace mercer::cli
