// One timing of a Gaussian process objective with its gradient, for bench/gp_exact.py and bench/gp_sparse.py:
//   gp_bench exact|vfe|sparse FILE N KERNEL NOISE REPEATS THREADS SIZE
// FILE holds N inputs and N targets as float64; for sparse also SIZE standard points, shared out evenly over the components.
// SIZE: inducing inputs (vfe) or spectral points (sparse). Prints JSON: seconds of the first evaluation, seconds and CPU
// seconds of all threads (medians of the others), value, gradient.
//   gp_bench train N POINTS COMPONENTS STEPS THREADS
// Trains a sparse spectrum on N rows of a made-up series by Adam. Prints JSON: seconds, CPU seconds, peak bytes.
#include <mercer/error.hpp>
#include <mercer/threads.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/resources.hpp"
#include "gp/exact_likelihood.hpp"
#include "gp/initial_mixture.hpp"
#include "gp/spectral_training.hpp"
#include "gp/vfe.hpp"

namespace mercer {
namespace {

Matrix<double> read_column(std::ifstream& file, Index rows) {
  Matrix<double> column(rows, 1);
  for (double& v : column.values()) {
    if (!file.read(reinterpret_cast<char*>(&v), sizeof v)) throw Error(ErrorKind::file, "the data file is too short");
  }
  return column;
}

/// The likelihood of a sparse spectrum at fixed points, no divergence: what the objective of training is made of.
class SparseBench : public Objective {
 public:
  SparseBench(const Kernel& kernel, double noise, Matrix<double> x, Matrix<double> y, Matrix<double> epsilon)
      : x_(std::move(x)),
        y_(std::move(y)),
        start_{to_mixture(std::get<SpectralMixture>(kernel.form)), noise, Matrix<double>(0, 1), Matrix<double>(1, 1, {1.0})},
        coordinates_(start_, Parametrization::general),
        objective_(x_, y_, coordinates_, start_.mixture, 0.0, Index{1} << 30) {
    SpectralPoints points;
    const Index q = start_.mixture.components();
    const Index each = epsilon.rows() / q;
    points.shares.assign(static_cast<std::size_t>(q), each);
    for (Index j = 0; j < q * each; ++j) points.component.push_back(j / each);
    points.epsilon = std::move(epsilon);
    objective_.set_points({points});
  }
  std::vector<double> start() const { return coordinates_.coordinates(start_); }
  Index size() const override { return objective_.size(); }
  double evaluate(std::span<const double> at, std::span<double> gradient) override {
    return objective_.evaluate(at, gradient);
  }

 private:
  Matrix<double> x_;
  Matrix<double> y_;
  SpectralParameters start_;
  SpectralCoordinates coordinates_;
  SpectralObjective objective_;
};

/// Three waves and noise at n rows a tenth apart.
int run_training(const std::vector<std::string>& words) {
  const Index n = std::stol(words[1]);
  Matrix<double> x(n, 1);
  Matrix<double> y(n, 1);
  const Stream stream(1, "gp_bench");
  for (Index i = 0; i < n; ++i) {
    const double t = 0.1 * static_cast<double>(i);
    x(i, 0) = t;
    y(i, 0) = std::sin(t) + 0.5 * std::sin(2.3 * t) + 0.3 * std::sin(0.07 * t) +
              0.3 * stream.normal(static_cast<std::uint64_t>(i), 0);
  }
  set_threads(std::stoi(words[5]));
  const InitialMixture found = initial_mixture(x, y.values(), std::stol(words[3]), stream.child("start"));
  const SpectralParameters start{to_mixture(found.kernel), found.noise, Matrix<double>(0, 1), Matrix<double>(1, 1, {1.0})};
  SpectralTrainingOptions options;
  options.points = std::stol(words[2]);
  options.optimizer = Optimizer::adam;
  options.steps = std::stoi(words[4]);
  options.posterior_draws = 1;
  double seconds = 0;
  const std::clock_t cpu_start = std::clock();
  const Stopwatch watch;
  const SpectralTraining trained = train_spectral(x, y, start, options, {});
  seconds = watch.seconds();
  std::printf("{\"seconds\": %.9g, \"cpu_seconds\": %.9g, \"peak_bytes\": %.9g, \"nlml\": %.9g}\n", seconds,
              static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC, static_cast<double>(peak_memory_bytes()),
              trained.nlml);
  return 0;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 6 && words[0] == "train") return run_training(words);
  if (words.size() != 8) {
    std::cerr << "usage: gp_bench exact|vfe|sparse FILE N KERNEL NOISE REPEATS THREADS SIZE\n"
                 "       gp_bench train N POINTS COMPONENTS STEPS THREADS\n";
    return 2;
  }
  const Index n = std::stol(words[2]);
  std::ifstream file(words[1], std::ios::binary);
  const Matrix<double> x = read_column(file, n);
  const Matrix<double> y = read_column(file, n);
  const Kernel kernel = std::get<Decomposable>(parse_kernel(words[3]).terms.front().form).kernel;
  const double noise = std::stod(words[4]);
  set_threads(std::stoi(words[6]));
  std::unique_ptr<Objective> objective;
  std::vector<double> at;
  if (words[0] == "exact") {
    auto exact = std::make_unique<ExactLikelihood>(kernel, x, y, MeanForm::none);
    at = exact->start(kernel, noise);
    objective = std::move(exact);
  } else if (words[0] == "sparse") {
    auto sparse = std::make_unique<SparseBench>(kernel, noise, x, y, read_column(file, std::stol(words[7])));
    at = sparse->start();
    objective = std::move(sparse);
  } else {
    const Index most = std::stol(words[7]);
    Matrix<double> z(most, 1);
    for (Index i = 0; i < most; ++i) z(i, 0) = x(i * n / most, 0);
    auto bound = std::make_unique<VariationalBound>(kernel, x, y, MeanForm::none, z, VariationalBound::Inducing::learned);
    at = bound->start(kernel, noise);
    objective = std::move(bound);
  }
  std::vector<double> gradient(at.size());
  const auto first_start = std::chrono::steady_clock::now();
  double value = objective->evaluate(at, gradient);  // warms up; tables are made here
  const double first = std::chrono::duration<double>(std::chrono::steady_clock::now() - first_start).count();
  std::vector<double> seconds;
  std::vector<double> cpu_seconds;
  for (int repeat = 0; repeat < std::stoi(words[5]); ++repeat) {
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    value = objective->evaluate(at, gradient);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    cpu_seconds.push_back(static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC);
  }
  std::ranges::sort(seconds);
  std::ranges::sort(cpu_seconds);
  std::printf("{\"first_seconds\": %.9g, \"seconds\": %.9g, \"cpu_seconds\": %.9g, \"value\": %.17g, \"gradient\": [", first,
              seconds[seconds.size() / 2], cpu_seconds[cpu_seconds.size() / 2], value);
  for (std::size_t i = 0; i < gradient.size(); ++i) std::printf("%s%.17g", i == 0 ? "" : ", ", gradient[i]);
  std::printf("]}\n");
  return 0;
}

}  // namespace
}  // namespace mercer

int main(int count, char** words) {
  try {
    return mercer::run({words + 1, words + count});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
