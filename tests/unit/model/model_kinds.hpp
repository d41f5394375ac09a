#pragma once
#include <mercer/model.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/solve/data.hpp"

namespace mercer::samples {

/// A file name in the test's own folder, removed at the end.
class Scratch {
 public:
  explicit Scratch(const std::string& name) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("mercer_") + test->test_suite_name() + "_" + test->name() + "_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / name).string();
  }
  ~Scratch() { std::filesystem::remove_all(folder_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

inline std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline void put_byte(const std::string& path, std::size_t at, char value) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(value);
}

struct Answer {
  Matrix<double> mean;
  Matrix<double> deviation;  ///< empty when the model has none
};

inline Answer answer(const Model& model, ConstMatrix x) {
  Answer a;
  a.mean = Matrix<double>(x.rows, model.outputs());
  if (!model.has_uncertainty()) {
    model.predict(x, a.mean);
    return a;
  }
  a.deviation = Matrix<double>(x.rows, model.outputs());
  model.predict(x, a.mean, a.deviation);
  return a;
}

/// Options that between them reach every kind of kernel, map, solver and posterior.
struct Kind {
  std::string name;
  Index inputs;
  Index outputs;
  FitOptions options;
};

inline std::vector<Kind> model_kinds() {
  std::vector<Kind> kinds;
  for (const Sample& c : kernel_samples()) {
    for (const char* solver : {"eigen", "cholesky", "cg", "sgd", "exact"}) {
      Kind k{c.name + "_" + solver, c.inputs, c.outputs, {}};
      k.options.kernel = c.kernel;
      k.options.penalty = 1e-3;
      k.options.passes = 2;
      k.options.map = std::string(solver) == "exact" ? "exact" : "fourier:10";
      if (k.options.map != "exact") k.options.solver = solver;
      kinds.push_back(k);
    }
  }
  const auto add = [&](const std::string& name, Index d, Index p, auto&& change) {
    Kind k{name, d, p, {}};
    k.options.map = "fourier:10";
    change(k.options);
    kinds.push_back(k);
  };
  add("defaults", 2, 2, [](FitOptions&) {});
  add("linear", 3, 2, [](FitOptions& o) {
    o.kernel = "linear()";
    o.map = "fourier";
  });
  add("polynomial", 2, 1, [](FitOptions& o) { o.kernel = "polynomial(3, 0.5)"; });
  add("quasi", 2, 1, [](FitOptions& o) { o.map = "fourier:10,qmc"; });
  add("monte_carlo", 2, 1, [](FitOptions& o) {
    o.map = "fourier:10,mc";
    o.seed = ~std::uint64_t{0};
  });
  add("single", 2, 2, [](FitOptions& o) {
    o.precision = "float32";
    o.penalty = 1e-3;
  });
  add("raw", 2, 2, [](FitOptions& o) { o.standardize = false; });
  add("no_intercept", 2, 2, [](FitOptions& o) { o.intercept = false; });
  add("samples", 2, 2, [](FitOptions& o) {
    o.uncertainty = "samples";
    o.solver = "cholesky";
  });
  add("nothing_kept", 2, 2, [](FitOptions& o) { o.uncertainty = "none"; });
  add("covariance", 2, 3, [](FitOptions& o) { o.kernel = "decomposable(gaussian(median), covariance)"; });
  add("covariance_exact", 2, 3, [](FitOptions& o) {
    o.kernel = "decomposable(gaussian(median), covariance)";
    o.map = "exact";
  });
  add("ard_mixture", 2, 1, [](FitOptions& o) {
    o.kernel = "gaussian([0.5,2])*matern(1, nu=1.5) + 0.2*laplacian(1) + cauchy(2) + rational_quadratic(1, alpha=2)";
    o.map = "fourier:40";
  });
  for (const char* map : {"p-sr:8", "p-sg:8,p=0.2", "accumulation:8,m=3", "countsketch:8", "nystrom:8", "nystrom:8,leverage",
                          "nystrom:8,rpcholesky", "gaussian-sketch:8", "srht:8"}) {
    add(map, 2, 2, [&](FitOptions& o) { o.map = map; });
  }
  add("sketch_covariance_cg", 3, 2, [](FitOptions& o) {
    o.kernel = "decomposable(laplacian(median) + 0.1*polynomial(2, 1), covariance)";
    o.map = "p-sr:12";
    o.solver = "cg";
    o.penalty = 1e-2;
  });
  add("sketch_single_sgd", 2, 1, [](FitOptions& o) {
    o.map = "nystrom:10";
    o.solver = "sgd";
    o.precision = "float32";
    o.penalty = 1e-2;
    o.passes = 2;
  });
  add("zero_matrix_exact", 2, 2, [](FitOptions& o) {
    o.kernel = "decomposable(gaussian(1), [[1,2],[2,4]])";
    o.map = "exact";
  });
  return kinds;
}

inline Model fit_kind(const Kind& k) {
  Data s = data(30, k.inputs, k.outputs);
  s.weights = counts(30);
  ArrayRows rows = s.rows();
  return fit(rows, k.options);
}

/// Three classes around three places.
inline Data class_data(Index n) {
  Data s;
  s.x = normals(n, 2, "class places");
  s.y = Matrix<double>(n, 1);
  for (Index i = 0; i < n; ++i) {
    s.y(i, 0) = static_cast<double>(i % 3);
    s.x(i, 0) += 2 * std::cos(2.0 * static_cast<double>(i % 3));
    s.x(i, 1) += 2 * std::sin(2.0 * static_cast<double>(i % 3));
  }
  return s;
}

}  // namespace mercer::samples
