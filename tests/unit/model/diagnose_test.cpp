#include "model/diagnose.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/recipe.hpp"
#include "model/recipe_json.hpp"
#include "model/state.hpp"
#include "unit/model/model_kinds.hpp"
#include "unit/model/sketch_truth.hpp"

namespace mercer {
namespace {

using namespace samples;

constexpr const char* kernel_text = "matern(1.5, nu=1.5)";
constexpr Index plenty = Index{1} << 32;

FitOptions raw_options(const std::string& map) {
  FitOptions options;
  options.kernel = kernel_text;
  options.standardize = false;
  options.map = map;
  options.seed = 5;
  options.penalty = 1e-3;
  return options;
}

Model fitted(const Data& s, const FitOptions& options) {
  ArrayRows rows = s.rows();
  return fit(rows, options);
}

Model reloaded(const Model& model) {
  const Scratch file("model.mercer");
  model.save(file.path());
  return Model::load(file.path());
}

Diagnosis with_data(const Model& model, const Data& s, Index memory = plenty) {
  ArrayRows rows = s.rows();
  return diagnose(model, rows, 0.95, memory, nullptr);
}

Kernel scalar_kernel() {
  return one_scalar_kernel(kernel_of(kernel_text, 2, 1));
}

// Every number about the model's own sketch, after the model went through a file: 120 rows are below the first rank of the
// spectrum, which is then complete.
TEST(Diagnose, TellsTheSketchOfTheModelFromItsRows) {
  const Data s = data(120, 2, 1);
  const SketchTruth truth(scalar_kernel(), s.x);
  for (const char* map : {"p-sr:40", "p-sg:40,p=0.2", "nystrom:40", "nystrom:40,leverage", "nystrom:40,rpcholesky",
                          "nystrom:500", "accumulation:40,m=3", "gaussian-sketch:40", "countsketch:40", "srht:40"}) {
    const Model model = reloaded(fitted(s, raw_options(map)));
    const Diagnosis d = with_data(model, s);
    EXPECT_EQ(d.source, Diagnosis::Source::data);
    EXPECT_EQ(d.rows, 120);
    for (Index j = 0; j < 120; ++j)
      EXPECT_NEAR(d.spectrum.values[static_cast<std::size_t>(j)], truth.values(j), 1e-10) << map << j;
    truth.expect_radius(d.radius, map);
    ASSERT_TRUE(d.sketch) << map;
    SketchRecipe recipe = model.state().recipe.sketch;
    recipe.size = std::min<Index>(recipe.size, 120);
    truth.expect_error(recipe, d.sketch->error, map);
    truth.expect_satisfied(recipe, d.radius, d.sketch->satisfied, map);
    EXPECT_EQ(d.sketch->bound.has_value(), d.sketch->satisfied.holds()) << map;
  }
}

// The terms of theorems 2 and 4 with the model's penalty, the Lipschitz constant of its loss and its output matrix.
TEST(Diagnose, BoundsTheRiskOfTheModel) {
  const Data s = data(120, 2, 1);
  for (const char* loss : {"square", "huber:0.7", "epsilon:0.1", "expectile:0.2", "pinball:0.1,0.9"}) {
    FitOptions options = raw_options("countsketch:100");
    options.loss = loss;
    const Model model = fitted(s, options);
    const Diagnosis d = with_data(model, s);
    ASSERT_TRUE(d.sketch->satisfied.holds());
    if (std::string(loss) == "expectile:0.2") {  // no Lipschitz constant
      EXPECT_FALSE(d.sketch->bound);
      continue;
    }
    ASSERT_TRUE(d.sketch->bound) << loss;
    const double c = 1 + std::sqrt(6 * (std::pow(d.sketch->satisfied.constant, 2) + 1.5));
    // Two levels are coupled by A_12 = exp(-0.8²), and each of their slopes is at most 0.9.
    const bool joint = std::string(loss) == "pinball:0.1,0.9";
    const double norm = joint ? 1 + std::exp(-0.64) : 1;
    const double trace = joint ? 2 : 1;
    const double slope = joint ? std::sqrt(2 * 0.81) : std::string(loss) == "huber:0.7" ? 0.7 : 1;
    const double inside = 1e-3 + norm * d.radius.squared;
    const bool square = std::string(loss) == "square";
    EXPECT_NEAR(d.sketch->bound->approximation, square ? c * c * inside : slope * c * std::sqrt(inside), 1e-10) << loss;
    EXPECT_NEAR(d.sketch->bound->complexity, square ? 16 / std::sqrt(120) : 8 * slope * std::sqrt(trace / 120), 1e-10)
        << loss;
    EXPECT_NEAR(d.sketch->bound->penalty, 5e-4, 1e-15);
    EXPECT_NEAR(d.sketch->bound->confidence, 2 * std::sqrt(8 * std::log(80) / 120), 1e-10);
  }
}

// Without data: all rows of an exact model, the anchors of a sketch, or what the file holds of the others.
TEST(Diagnose, TellsTheSpectrumFromTheModelAlone) {
  const Data s = data(120, 2, 1);
  const SketchTruth truth(scalar_kernel(), s.x);
  using Source = Diagnosis::Source;
  const std::vector<std::pair<const char*, Source>> kinds = {{"exact", Source::kept_rows},
                                                             {"countsketch:40", Source::kept_rows},
                                                             {"fourier:30", Source::sample_at_fit},
                                                             {"nystrom:40,leverage", Source::sample_at_fit},
                                                             {"nystrom:40,rpcholesky", Source::sample_at_fit}};
  for (const auto& [map, source] : kinds) {
    const auto d = diagnose(reloaded(fitted(s, raw_options(map))));
    ASSERT_TRUE(d) << map;
    EXPECT_EQ(d->source, source) << map;
    EXPECT_FALSE(d->sketch);
    ASSERT_EQ(d->spectrum.rank(), 120) << map;
    for (Index j = 0; j < 120; ++j)
      EXPECT_NEAR(d->spectrum.values[static_cast<std::size_t>(j)], truth.values(j), 1e-10) << map << j;
    truth.expect_radius(d->radius, map);
  }
  const Model sketched = fitted(s, raw_options("nystrom:30"));
  const auto d = diagnose(sketched);
  ASSERT_TRUE(d);
  Matrix<double> anchors = rows_of(s.x, draw_sketch(sketched.state().recipe.sketch, 120).anchors);
  const SketchTruth part(scalar_kernel(), anchors);
  EXPECT_EQ(d->rows, 120);
  EXPECT_EQ(d->spectrum.rows, 30);
  for (Index j = 0; j < 30; ++j) EXPECT_NEAR(d->spectrum.values[static_cast<std::size_t>(j)], part.values(j), 1e-10) << j;
}

// A Fourier model of scaled rows: the sample is scaled as the rows were, and the data say the same.
TEST(Diagnose, FourierModelsAgreeWithTheirData) {
  Data s = data(100, 2, 1);
  for (Index i = 0; i < 100; ++i) s.x(i, 1) = 50 + 7 * s.x(i, 1);
  FitOptions options = raw_options("fourier:20");
  options.standardize = true;
  const Model model = fitted(s, options);
  const auto alone = diagnose(model);
  const Diagnosis full = with_data(model, s);
  ASSERT_TRUE(alone);
  EXPECT_FALSE(full.sketch);
  EXPECT_NEAR(alone->radius.squared, full.radius.squared, 1e-12);
  EXPECT_EQ(alone->radius.dimension, full.radius.dimension);
}

TEST(Diagnose, RowsOfWeightZeroAreAbsent) {
  Data s = data(200, 2, 1);
  Data half = data(100, 2, 1);
  for (Index i = 0; i < 200; ++i) s.weights.push_back(i % 2 == 0 ? 0.0 : 2.0);
  for (Index i = 0; i < 100; ++i) {
    std::ranges::copy(s.x.row(2 * i + 1), half.x.row(i).begin());
    std::ranges::copy(s.y.row(2 * i + 1), half.y.row(i).begin());
  }
  const Diagnosis a = with_data(fitted(s, raw_options("p-sr:30")), s);
  const Diagnosis b = with_data(fitted(half, raw_options("p-sr:30")), half);
  EXPECT_EQ(a.rows, 100);
  EXPECT_EQ(a.radius.squared, b.radius.squared);
  EXPECT_EQ(a.sketch->satisfied.isometry, b.sketch->satisfied.isometry);
}

TEST(Diagnose, RefusesOtherRows) {
  const Data s = data(120, 2, 1);
  const Model model = fitted(s, raw_options("p-sr:40"));
  EXPECT_THROW(with_data(model, data(121, 2, 1)), Error);  // others, and one more
  Data moved = s;
  for (Index i = 0; i < 120; ++i) moved.x(i, 0) += 1e-9;
  EXPECT_THROW(with_data(model, moved), Error);
  EXPECT_THROW(with_data(model, s, 1000), Error);  // no room for eigenvectors
}

TEST(Diagnose, ASpectrumInAFileIsChecked) {
  const Model model = fitted(data(60, 2, 1), raw_options("fourier:10"));
  TensorFile file;
  nlohmann::json good;
  write_recipe(model.state().recipe, good, file);
  EXPECT_EQ(read_recipe(good, file, "f").spectrum->values, model.state().recipe.spectrum->values);
  const auto tampered = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json j = good;
    j["spectrum"][key] = value;
    return j;
  };
  const std::vector<nlohmann::json> bad = {tampered("eigenvalues", {0.1, 0.2}),
                                           tampered("eigenvalues", {0.1, -0.2}),
                                           tampered("eigenvalues", {5.0, 0.1}),
                                           tampered("trace", -1),
                                           tampered("trace", nullptr),
                                           tampered("rows", 3),
                                           tampered("rows", std::int64_t{1} << 40),
                                           tampered("largest_kernel", -1)};
  for (const nlohmann::json& j : bad) EXPECT_THROW(read_recipe(j, file, "f"), Error) << j["spectrum"];
  nlohmann::json older = good;
  older.erase("spectrum");
  EXPECT_FALSE(read_recipe(older, file, "f").spectrum);
}

TEST(Diagnose, HasNothingToSayOfFields) {
  Data s = data(60, 2, 2);
  FitOptions options = raw_options("fourier:20");
  options.kernel = "curl_free(gaussian(1))";
  const Model model = fitted(s, options);
  EXPECT_FALSE(diagnose(model));
  EXPECT_THROW(with_data(model, s), Error);
}

}  // namespace
}  // namespace mercer
