// One timing of a Gaussian process objective with its gradient, for bench/gp_exact.py:
//   gp_bench exact|vfe FILE N KERNEL NOISE REPEATS THREADS INDUCING
// FILE holds N inputs and N targets as float64. Prints JSON: seconds and CPU seconds of all threads (medians), value,
// gradient.
#include <mercer/error.hpp>
#include <mercer/threads.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "gp/exact_likelihood.hpp"
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

int run(const std::vector<std::string>& words) {
  if (words.size() != 8) {
    std::cerr << "usage: gp_bench exact|vfe FILE N KERNEL NOISE REPEATS THREADS INDUCING\n";
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
  } else {
    const Index most = std::stol(words[7]);
    Matrix<double> z(most, 1);
    for (Index i = 0; i < most; ++i) z(i, 0) = x(i * n / most, 0);
    auto bound = std::make_unique<VariationalBound>(kernel, x, y, MeanForm::none, z, VariationalBound::Inducing::learned);
    at = bound->start(kernel, noise);
    objective = std::move(bound);
  }
  std::vector<double> gradient(at.size());
  double value = objective->evaluate(at, gradient);  // warms up
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
  std::printf("{\"seconds\": %.9g, \"cpu_seconds\": %.9g, \"value\": %.17g, \"gradient\": [", seconds[seconds.size() / 2],
              cpu_seconds[cpu_seconds.size() / 2], value);
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
