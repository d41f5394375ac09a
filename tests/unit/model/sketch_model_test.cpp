// Sketches through fit, predict and the model file.
#include <gtest/gtest.h>
#include <mercer/model.hpp>

#include <cmath>

#include "io/tensor_file.hpp"
#include "map/anchor_map.hpp"
#include "model/fit.hpp"
#include "model/state.hpp"
#include "unit/model/model_kinds.hpp"

namespace mercer {
namespace {

using namespace samples;

Model fitted(const Data& s, const FitOptions& options) {
  ArrayRows rows = s.rows();
  return fit(rows, options);
}

double largest_difference(const Matrix<double>& a, const Matrix<double>& b) {
  double most = 0;
  for (Index i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a.data()[i] - b.data()[i]));
  return most;
}

// With S of full rank the sketched kernel is the kernel: ridge regression in the features is the exact one. The Laplacian
// kernel keeps S K Sᵀ well conditioned.
TEST(SketchModel, AFullSketchIsExactRidge) {
  Data s = data(90, 2, 2);
  s.weights = counts(90);
  const Matrix<double> fresh = normals(40, 2, "fresh");
  for (const char* kernel : {"laplacian(1)", "decomposable(laplacian(1), [[1,0.3],[0.3,0.8]])"}) {
    FitOptions options;
    options.kernel = kernel;
    options.penalty = 1e-3;
    options.map = "exact";
    const Answer exact = answer(fitted(s, options), fresh);
    for (const char* map : {"nystrom:90", "nystrom:90,rpcholesky", "gaussian-sketch:90", "srht:128", "p-sr:200,p=0.5"}) {
      options.map = map;
      const Answer sketched = answer(fitted(s, options), fresh);
      EXPECT_LT(largest_difference(sketched.mean, exact.mean), 1e-8) << kernel << ' ' << map;
    }
  }
}

// Off the training rows the projection onto their span lacks what the exact posterior knows of the rest; on them it does
// not.
TEST(SketchModel, TheStandardDeviationOnTrainingRowsIsTheExactOne) {
  const Data s = data(70, 2, 1);
  FitOptions options;
  options.kernel = "laplacian(1)";
  options.penalty = 1e-2;
  options.map = "exact";
  const Answer exact = answer(fitted(s, options), s.x);
  options.map = "nystrom:70";
  EXPECT_LT(largest_difference(answer(fitted(s, options), s.x).deviation, exact.deviation), 1e-8);
}

TEST(SketchModel, EverySolverGivesTheSameModel) {
  const Data s = data(400, 3, 2);
  const Matrix<double> fresh = normals(40, 3, "fresh");
  for (const char* map : {"p-sr:40", "nystrom:40", "gaussian-sketch:40"}) {
    FitOptions options;
    options.map = map;
    options.penalty = 1e-3;
    options.solver = "cholesky";
    const Answer reference = answer(fitted(s, options), fresh);
    for (const char* solver : {"eigen", "cg"}) {
      options.solver = solver;
      EXPECT_LT(largest_difference(answer(fitted(s, options), fresh).mean, reference.mean), 1e-6) << map << solver;
    }
  }
}

TEST(SketchModel, ChoosesItsPenaltyAndLearns) {
  const Data s = data(600, 2, 1, 0.1);
  Data test = data(200, 2, 1, 0.0, 4);
  for (const char* map : {"p-sr:60", "p-sg:60", "accumulation:60,m=5", "countsketch:60", "nystrom:60", "nystrom:60,leverage",
                          "nystrom:60,rpcholesky", "gaussian-sketch:60", "srht:60"}) {
    for (const char* solver : {"auto", "cg"}) {
      FitOptions options;
      options.map = map;
      options.solver = solver;
      const Model model = fitted(s, options);
      EXPECT_TRUE(model.summary().penalty_chosen);
      EXPECT_GT(model.summary().anchors, 0);
      EXPECT_LE(model.summary().features, 60);
      Matrix<double> mean(200, 1);
      model.predict(test.x, mean);
      double square = 0;
      for (Index i = 0; i < 200; ++i) square += std::pow(mean(i, 0) - test.y(i, 0), 2) / 200;
      EXPECT_LT(square, 0.05) << map << ' ' << solver;  // the targets have a variance of about 1
    }
  }
}

TEST(SketchModel, TellsClassesApart) {
  const Data s = class_data(90);
  FitOptions options;
  options.map = "p-sr:20";
  options.classes = {"a", "b", "c"};
  const Model model = fitted(s, options);
  Index right = 0;
  const std::vector<Index> found = model.classify(s.x);
  for (Index i = 0; i < 90; ++i) right += found[static_cast<std::size_t>(i)] == i % 3 ? 1 : 0;
  EXPECT_GT(right, 70);
}

TEST(SketchModel, FieldsAndShardsAreRefusedWithAWayOut) {
  const Data s = data(50, 2, 2);
  FitOptions options;
  options.map = "p-sr:20";
  ArrayRows rows = s.rows();
  const Recipe recipe = prepare(rows, options);
  const auto expect_advice = [](const auto& call) {
    try {
      call();
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(e.what()).find("--map fourier:D"), std::string::npos) << e.what();
    }
  };
  expect_advice([&] { accumulate_recipe(rows, recipe, nullptr); });
  options.kernel = "curl_free(gaussian(1))";
  expect_advice([&] { fitted(s, options); });
}

/// The file of a sketched model with one tensor replaced and its checksum right.
void expect_refused(const TensorFile& good, const std::string& name, const Matrix<double>& values, const std::string& path) {
  TensorFile bad;
  bad.metadata = good.metadata;
  bad.add(name, values.view());
  for (const char* other : {"weights", "intercept", "noise", "target_mean", "scaling.input_shift", "scaling.input_scale",
                            "scaling.target_shift", "scaling.target_scale", "posterior.mean_feature", "posterior.factor",
                            "posterior.spectrum", "sketch.anchors", "sketch.projection", "sketch.entries"}) {
    if (!good.has(other) || bad.has(other)) continue;
    try {
      bad.add(other, good.vector(other));
    } catch (const Error&) {
      bad.add(other, good.matrix(other).view());
    }
  }
  bad.save(path);
  EXPECT_THROW(Model::load(path), Error) << name << ' ' << values.rows() << " x " << values.cols();
}

TEST(SketchModel, TamperedSketchesAreRefused) {
  const Scratch file("model.mercer");
  FitOptions options;
  options.map = "p-sr:4,p=0.5";
  options.penalty = 1e-2;
  fitted(data(30, 2, 1), options).save(file.path());
  const TensorFile good = TensorFile::load(file.path());
  const std::string path = file.path() + ".bad";
  const Matrix<double> anchors = good.matrix("sketch.anchors");
  const Matrix<double> projection = good.matrix("sketch.projection");
  const Matrix<double> entries = good.matrix("sketch.entries");
  const auto rows_cut = [](const Matrix<double>& m, Index rows) { return Matrix<double>(m.view().row_range(0, rows)); };
  const auto with = [](Matrix<double> m, Index i, Index j, double value) {
    m(i, j) = value;
    return m;
  };
  expect_refused(good, "sketch.anchors", rows_cut(anchors, anchors.rows() - 1), path);
  expect_refused(good, "sketch.anchors", rows_cut(anchors, 0), path);
  expect_refused(good, "sketch.anchors", Matrix<double>(anchors.rows(), 3), path);
  expect_refused(good, "sketch.anchors", with(anchors, 0, 0, anchors(0, 0) + 1), path);
  expect_refused(good, "sketch.projection", rows_cut(projection, 2), path);
  expect_refused(good, "sketch.projection", Matrix<double>(4, 1), path);
  expect_refused(good, "sketch.projection", Matrix<double>(4, 0), path);
  for (const double index : {-1.0, 0.5, 4.0, 1e18}) expect_refused(good, "sketch.entries", with(entries, 0, 0, index), path);
  for (const double index : {-1.0, 0.5, 1.0, 1e18}) expect_refused(good, "sketch.entries", with(entries, 0, 1, index), path);
  expect_refused(good, "sketch.entries", with(entries, 1, 2, 77.0), path);
  expect_refused(good, "sketch.entries", rows_cut(entries, 1), path);
  expect_refused(good, "sketch.entries", Matrix<double>(entries.rows(), 2), path);
}

TEST(SketchModel, TheFileHoldsTheAnchorsAndNoOtherRow) {
  const Scratch file("model.mercer");
  const Data s = data(2000, 3, 1);
  FitOptions options;
  options.map = "p-sr:5,p=3/n";
  options.penalty = 1e-2;
  const Model model = fitted(s, options);
  model.save(file.path());
  const TensorFile saved = TensorFile::load(file.path());
  EXPECT_EQ(saved.matrix("sketch.anchors").rows(), model.summary().anchors);
  EXPECT_LT(model.summary().anchors, 40);
  EXPECT_LT(bytes_of(file.path()).size(), 20000U);
}

}  // namespace
}  // namespace mercer
