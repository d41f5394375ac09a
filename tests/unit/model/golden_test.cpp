// Model files of format 1 stay readable, and say what they said when they were written. MERCER_WRITE_GOLDEN=1 in the
// environment writes them anew: only for a new format, beside the old ones.
#include <gtest/gtest.h>
#include <mercer/model.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "unit/model/model_kinds.hpp"

namespace mercer {
namespace {

using namespace samples;

std::string golden(const std::string& name) {
  return std::string(MERCER_TEST_DIR) + "/golden/v1-" + name;
}

Model make(const std::string& name) {
  FitOptions options;
  options.seed = 42;
  options.penalty = 1e-3;
  Data s = data(40, 2, 2);
  s.weights = counts(40);
  if (name == "helmholtz") {
    options.kernel = "helmholtz(gaussian(0.9), 0.3)";
    options.map = "fourier:12";
  } else if (name == "classes") {
    options.kernel = "decomposable(matern(1.5, nu=2.5), [[1,0.3],[0.3,0.8]])";
    options.map = "fourier:20";
    options.classes = {"red", "green", "blue"};
    s = class_data(40);
  } else {
    options.kernel = "divergence_free(gaussian(0.9))";
    options.map = "exact";
  }
  ArrayRows rows = s.rows();
  return fit(rows, options);
}

/// One line a row: inputs, means, deviations (if any), in the shortest decimals that read back exactly.
void write(const std::string& name) {
  const Model model = make(name);
  model.save(golden(name) + ".mercer");
  const Matrix<double> x = normals(8, 2, "golden");
  const Answer a = answer(model, x);
  std::ofstream file(golden(name) + ".txt");
  for (Index i = 0; i < x.rows(); ++i) {
    std::string line;
    for (const ConstMatrix part : {ConstMatrix(x), ConstMatrix(a.mean), ConstMatrix(a.deviation)}) {
      for (Index j = 0; j < part.cols; ++j) line += (line.empty() ? "" : " ") + shortest(part(i, j));
    }
    file << line << '\n';
  }
}

class Golden : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Format1, Golden, testing::Values("helmholtz", "classes", "exact"),
                         [](const auto& sample) { return std::string(sample.param); });

TEST_P(Golden, LoadsAndPredictsTheSame) {
  const std::string name = GetParam();
  if (std::getenv("MERCER_WRITE_GOLDEN") != nullptr) write(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  const Model model = Model::load(golden(name) + ".mercer");
  std::ifstream file(golden(name) + ".txt");
  ASSERT_TRUE(file) << golden(name);
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    std::vector<double> values;
    for (const std::string& cell : split(line, ' ')) {
      values.push_back(0);
      ASSERT_TRUE(parse_number(cell, values.back())) << line;
    }
    const Matrix<double> x(1, 2, {values.at(0), values.at(1)});
    const Answer a = answer(model, x);
    ASSERT_EQ(static_cast<Index>(values.size()), 2 + a.mean.cols() + a.deviation.cols());
    std::size_t next = 2;
    for (const ConstMatrix part : {ConstMatrix(a.mean), ConstMatrix(a.deviation)}) {
      for (Index j = 0; j < part.cols; ++j, ++next)
        EXPECT_NEAR(part(0, j), values[next], 1e-12 * (1 + std::abs(values[next])));
    }
  }
  EXPECT_EQ(rows, 8);
}

}  // namespace
}  // namespace mercer
