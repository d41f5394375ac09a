// `mercer demo`: a field of five hills seen at 300 noisy points. A gradient has no curl; a kernel that knows it learns
// faster.
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "io/atomic_file.hpp"
#include "io/write.hpp"
#include "model/fit.hpp"
#include "plot/chart.hpp"

namespace mercer::cli {
namespace {

constexpr double half_width = 2;

/// ∇ of five Gaussian hills and valleys (paper 1, section 4.2).
void gradient(double x, double y, double& u, double& v) {
  constexpr double hills[5][3] = {{0, 0, 1}, {0, 1, 1}, {0, -1, 1}, {-1, 0, -1}, {1, 0, -1}};
  constexpr double variance = 0.25;
  u = 0;
  v = 0;
  for (const auto& hill : hills) {
    const double dx = x - hill[0];
    const double dy = y - hill[1];
    const double e = hill[2] * std::exp(-(dx * dx + dy * dy) / (2 * variance)) / variance;
    u -= dx * e;
    v -= dy * e;
  }
}

struct Table {
  Matrix<double> x, y;
};

Table observe(Index rows, double noise, std::string_view what) {
  const Stream stream(7, what);
  Table t{Matrix<double>(rows, 2), Matrix<double>(rows, 2)};
  for (Index i = 0; i < rows; ++i) {
    const auto r = static_cast<std::uint64_t>(i);
    for (Index k = 0; k < 2; ++k) t.x(i, k) = half_width * (2 * stream.uniform(r, static_cast<std::uint64_t>(k)) - 1);
    gradient(t.x(i, 0), t.x(i, 1), t.y(i, 0), t.y(i, 1));
    for (Index k = 0; k < 2; ++k) t.y(i, k) += noise * stream.normal(r, static_cast<std::uint64_t>(2 + k));
  }
  return t;
}

void write_csv(const std::string& path, const Table& t) {
  CsvWriter out(path, {"x", "y", "u", "v"});
  for (Index i = 0; i < t.x.rows(); ++i) out.row(std::vector<double>{t.x(i, 0), t.x(i, 1), t.y(i, 0), t.y(i, 1)});
  out.commit();
}

/// Largest |∂v/∂x - ∂u/∂y| over a grid, by central differences of the model.
double largest_curl(const Model& model) {
  constexpr double h = 1e-4;
  double largest = 0;
  for (int i = -3; i <= 3; ++i) {
    for (int j = -3; j <= 3; ++j) {
      const double x = 0.5 * i;
      const double y = 0.5 * j;
      const Matrix<double> at(4, 2, {x + h, y, x - h, y, x, y + h, x, y - h});
      Matrix<double> f(4, 2);
      model.predict(at, f);
      largest = std::max(largest, std::abs((f(0, 1) - f(1, 1) - f(2, 0) + f(3, 0)) / (2 * h)));
    }
  }
  return largest;
}

plot::FieldChart chart(const std::string& title, const Matrix<double>& arrows_at, const Matrix<double>& arrows) {
  plot::FieldChart c;
  c.title = title;
  for (Index i = 0; i < arrows_at.rows(); ++i) {
    c.x.push_back(arrows_at(i, 0));
    c.y.push_back(arrows_at(i, 1));
    c.u.push_back(arrows(i, 0));
    c.v.push_back(arrows(i, 1));
  }
  c.x_min = c.y_min = -half_width;
  c.x_max = c.y_max = half_width;
  c.x_label = "x";
  c.y_label = "y";
  return c;
}

/// Centres of side × side cells that cover the field, row by row from below.
Matrix<double> cell_centres(Index side) {
  Matrix<double> at(side * side, 2);
  for (Index row = 0; row < side; ++row) {
    for (Index col = 0; col < side; ++col) {
      at(row * side + col, 0) = half_width * (2 * (static_cast<double>(col) + 0.5) / static_cast<double>(side) - 1);
      at(row * side + col, 1) = half_width * (2 * (static_cast<double>(row) + 0.5) / static_cast<double>(side) - 1);
    }
  }
  return at;
}

std::string picture(const Table& train, const Model& model) {
  constexpr Index arrows = 17;
  constexpr Index cells = 60;
  const Matrix<double> at = cell_centres(arrows);
  Matrix<double> mean(at.rows(), 2);
  model.predict(at, mean);
  const Matrix<double> grid = cell_centres(cells);
  Matrix<double> f(grid.rows(), 2);
  Matrix<double> spread(grid.rows(), 2);
  model.predict(grid, f, spread, true);
  plot::FieldChart learned = chart("learned: curl-free, with its uncertainty", at, mean);
  learned.grid_rows = cells;
  learned.grid_cols = cells;
  learned.background_label = "standard deviation of the field";
  for (Index i = 0; i < grid.rows(); ++i) learned.background.push_back(std::hypot(spread(i, 0), spread(i, 1)));
  return plot::side_by_side({plot::render(chart("given: 300 noisy arrows", train.x, train.y)), plot::render(learned)});
}

}  // namespace

int run_demo(const Arguments& a) {
  const Console console(a);
  const std::string folder = a.has("output") ? a.text("output") : "mercer-demo";
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) fail_file("cannot create the folder " + mercer::quoted(folder) + ": " + failure.message());
  const Table train = observe(300, 0.2, "train");
  const Table test = observe(2000, 0.0, "test");
  write_csv(folder + "/train.csv", train);
  write_csv(folder + "/test.csv", test);

  std::vector<std::vector<std::string>> lines;
  nlohmann::json json = {{"folder", folder}, {"models", nlohmann::json::array()}};
  std::string svg;
  for (const std::string kernel : {"gaussian(0.35)", "helmholtz(gaussian(0.35), 0.5)", "curl_free(gaussian(0.35))"}) {
    ArrayRows rows(train.x, train.y);
    FitOptions options;
    options.kernel = kernel;
    options.map = "fourier:500";
    Recipe recipe = prepare(rows, options);
    recipe.schema = {{{"x", {}, 0}, {"y", {}, 0}}, {"u", "v"}, {}, ""};
    const Model model = fit_recipe(rows, recipe, options);
    ArrayRows held_out(test.x, test.y);
    const Scores scores = score_rows(model, held_out, nullptr);
    const double rmse = std::hypot(scores.rmse[0], scores.rmse[1]);
    lines.push_back({kernel, brief(rmse), brief(scores.r2), brief(largest_curl(model)),
                     human_seconds(model.summary().seconds.at("total"))});
    json["models"].push_back({{"kernel", kernel}, {"rmse", rmse}, {"r2", scores.r2}});
    if (kernel.starts_with("curl_free")) {
      model.save(folder + "/field.mercer");
      svg = picture(train, model);
    }
  }
  AtomicFile file(folder + "/field.svg");
  file.write(svg);
  file.commit();
  console.say(
      "A field that is the gradient of five hills, seen at 300 points with noise of 0.2, learned with 500 random "
      "frequencies:\n");
  console.say(table({"kernel", "RMSE on 2 000 new points", "R²", "largest curl", "time to fit"}, lines));
  console.say("\nwrote " + folder +
              "/field.svg (the picture), field.mercer, train.csv and test.csv; now try\n  mercer predict " + folder +
              "/field.mercer " + folder + "/test.csv --std | head\n  mercer info " + folder + "/field.mercer");
  console.emit(json);
  return 0;
}

}  // namespace mercer::cli
