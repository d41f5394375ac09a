// Figures 4 and 5 of the ORFF paper: a gradient field in the plane, learned by a kernel that knows it is one and by one that
// does not.
#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "base/resources.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {
namespace {

// The paper gives centres and signs of the five Gaussians (section 4.2) but neither width, domain, noise nor sizes. Ours:
// variance ½, the square [-2, 2]², 200 rows with noise of standard deviation ½ on each component, which is about that of the
// field. At equal D the curl-free map has 2D coefficients and the independent one 4D: where D is so small that the maps
// cannot follow the field, or noise so low that only this matters, the latter wins (docs/reproduction has numbers).
constexpr double half_width = 2;
constexpr double hill_variance = 0.5;
constexpr double noise = 0.5;

/// ∇ of the mixture at (x, y).
void gradient(double x, double y, MutPoint field) {
  constexpr double hills[5][3] = {{0, 0, 1}, {0, 1, 1}, {0, -1, 1}, {-1, 0, -1}, {1, 0, -1}};
  field[0] = field[1] = 0;
  for (const auto& hill : hills) {
    const double dx = x - hill[0];
    const double dy = y - hill[1];
    const double slope = hill[2] * std::exp(-(dx * dx + dy * dy) / (2 * hill_variance)) / hill_variance;
    field[0] -= dx * slope;
    field[1] -= dy * slope;
  }
}

Rows observe(Index rows, double deviation, const Stream& stream) {
  Rows r{Matrix<double>(rows, 2), Matrix<double>(rows, 2)};
  for (Index i = 0; i < rows; ++i) {
    for (Index k = 0; k < 2; ++k) r.x(i, k) = half_width * (2 * stream.uniform(key(i), key(k)) - 1);
    gradient(r.x(i, 0), r.x(i, 1), r.y.row(i));
    for (Index k = 0; k < 2; ++k) r.y(i, k) += deviation * stream.normal(key(i), key(2 + k));
  }
  return r;
}

// The paper tunes σ and λ on a grid. So do we, for each method, D and draw of the data, by the error on 200 further noisy
// rows.
constexpr double length_scales[] = {0.35, 0.5, 0.7, 1.0, 1.4, 2.0};
constexpr double penalties[] = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};

std::vector<std::string> candidates(bool curl, bool quick) {
  std::vector<std::string> all;
  for (const double l : length_scales) {
    if (!quick || l == 0.5 || l == 0.7) all.push_back(curl ? curl_free(l) : independent(l));
  }
  return all;
}

struct Trial {
  Split split;
  Rows test;  ///< without noise
};

Trial trial(Index rows, std::uint64_t seed) {
  const Stream stream(seed, "reproduce field");
  return {{observe(rows, noise, stream.child("train")), observe(rows, noise, stream.child("validation"))},
          observe(2000, 0, stream.child("test"))};
}

Model tuned_model(const Trial& t, bool curl, const std::string& map, bool quick, std::uint64_t seed) {
  const Choice choice = choose({t.split}, candidates(curl, quick), {std::begin(penalties), std::end(penalties)}, map, seed);
  return fit_plain(t.split.train, choice.kernel, map, choice.penalty, seed);
}

double tuned_error(const Trial& t, bool curl, const std::string& map, bool quick, std::uint64_t seed) {
  return Scored(predict(tuned_model(t, curl, map, quick, seed), t.test.x), t.test.y).mean_square();
}

/// Centres of a cells × cells grid over the square, by rows from the lowest y.
Matrix<double> grid(Index cells) {
  Matrix<double> x(cells * cells, 2);
  const auto centre = [&](Index k) {
    return half_width * ((2 * static_cast<double>(k) + 1) / static_cast<double>(cells) - 1);
  };
  for (Index i = 0; i < x.rows(); ++i) {
    x(i, 0) = centre(i % cells);
    x(i, 1) = centre(i / cells);
  }
  return x;
}

Matrix<double> truth(const Matrix<double>& x) {
  Matrix<double> y(x.rows(), 2);
  for (Index i = 0; i < x.rows(); ++i) gradient(x(i, 0), x(i, 1), y.row(i));
  return y;
}

plot::FieldChart arrows(const std::string& title, const Matrix<double>& x, const Matrix<double>& y) {
  plot::FieldChart chart;
  chart.title = title;
  for (Index i = 0; i < x.rows(); ++i) {
    chart.x.push_back(x(i, 0));
    chart.y.push_back(x(i, 1));
    chart.u.push_back(y(i, 0));
    chart.v.push_back(y(i, 1));
  }
  chart.x_min = chart.y_min = -half_width;
  chart.x_max = chart.y_max = half_width;
  return chart;
}

/// Length of y at each cell as the background.
void shade(plot::FieldChart& chart, const std::string& label, Index cells, const Matrix<double>& y) {
  chart.background_label = label;
  chart.grid_rows = chart.grid_cols = cells;
  for (Index i = 0; i < y.rows(); ++i) chart.background.push_back(std::hypot(y(i, 0), y(i, 1)));
}

/// Truth, and both fits over the length of their errors.
std::string pictures(const Trial& t, Index frequencies, bool quick, std::uint64_t seed) {
  constexpr Index few = 15;
  constexpr Index many = 60;
  const Matrix<double> coarse = grid(few);
  const Matrix<double> fine = grid(many);
  plot::FieldChart given = arrows("truth", coarse, truth(coarse));
  shade(given, "length", many, truth(fine));
  std::vector<std::string> panels = {plot::render(given)};
  const std::string map = "fourier:" + std::to_string(frequencies);
  for (const bool curl : {true, false}) {
    const Model model = tuned_model(t, curl, map, quick, seed);
    Matrix<double> error = predict(model, fine);
    const Matrix<double> exact = truth(fine);
    for (Index i = 0; i < error.size(); ++i) error.data()[i] -= exact.data()[i];
    plot::FieldChart learned =
        arrows((curl ? "curl-free" : "independent outputs") + std::string(", D = ") + std::to_string(frequencies), coarse,
               predict(model, coarse));
    shade(learned, "length of the error", many, error);
    panels.push_back(plot::render(learned));
  }
  return plot::side_by_side(panels);
}

}  // namespace

Findings orff_fig4(const Settings& settings) {
  const Index rows = settings.quick ? 100 : 200;
  const Index repeats = settings.quick ? 2 : 20;
  const auto frequencies = doublings(16, settings.quick ? 32 : 512);
  struct Method {
    std::string name, label;
    bool curl;
  };
  const std::vector<Method> methods = {{"curl_free", "curl-free", true}, {"independent", "independent outputs", false}};

  Findings findings;
  findings.columns = {"method", "frequencies", "coefficients", "mse", "deviation", "repeats", "n"};
  findings.table = {{"D", "curl-free", "independent", "independent / curl-free"}};
  Steps steps(settings, "curl-free field", 2 * repeats * (1 + static_cast<Index>(frequencies.size())));
  plot::LineChart chart;
  chart.title = "Gradient of five Gaussians: error of the learned field";
  chart.x_label = "D, number of frequencies";
  chart.y_label = "mean squared error";
  chart.log_x = chart.log_y = true;
  std::vector<std::vector<Spread>> found(methods.size());
  std::vector<Index> maps = frequencies;
  maps.push_back(0);  // exact
  for (std::size_t m = 0; m < methods.size(); ++m) {
    Curve curve(methods[m].label + ", random features");
    for (const Index d : maps) {
      std::vector<double> errors;
      for (Index r = 0; r < repeats; ++r) {
        steps.next();
        const std::uint64_t seed = settings.seed + key(r);
        errors.push_back(tuned_error(trial(rows, seed), methods[m].curl, d == 0 ? "exact" : "fourier:" + std::to_string(d),
                                     settings.quick, seed));
      }
      const Spread s = spread(errors);
      found[m].push_back(s);
      const Index coefficients = d == 0 ? 2 * rows : (methods[m].curl ? 2 : 4) * d;
      findings.rows.push_back({methods[m].name, d == 0 ? "exact" : cell(d), cell(coefficients), cell(s.mean),
                               cell(s.deviation), cell(repeats), cell(rows)});
      if (d > 0) curve.add(static_cast<double>(d), s);
    }
    Curve exact(methods[m].label + ", exact", plot::Series::Mark::dashed);
    for (const Index d : frequencies) exact.add(static_cast<double>(d), found[m].back().mean);
    chart.series.push_back(curve.series());
    chart.series.push_back(exact.series());
  }
  double least_gain = 1e300;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const double gain = found[1][i].mean / found[0][i].mean;
    findings.table.push_back(
        {maps[i] == 0 ? "exact" : std::to_string(maps[i]), to_text(found[0][i]), to_text(found[1][i]), cell(gain)});
    if (maps[i] > 0) least_gain = std::min(least_gain, gain);
  }
  findings.headline = {{"least ratio independent / curl-free over D", least_gain}, {"noise variance", noise * noise}};
  findings.charts = {
      {"", plot::render(chart)},
      {"-field", pictures(trial(rows, settings.seed), settings.quick ? 32 : 64, settings.quick, settings.seed)}};
  return findings;
}

Findings orff_fig5(const Settings& settings) {
  const Index frequencies = settings.quick ? 100 : 1000;
  const Index most_exact = settings.quick ? 250 : 4000;
  const auto counts = doublings(125, settings.quick ? 1000 : 256000);
  const std::string kernel = curl_free(0.5);
  constexpr double penalty = 1e-5;

  Findings findings;
  findings.columns = {"method", "n", "fit_seconds"};
  findings.table = {{"n", "exact", "random features"}};
  Curve exact("exact");
  Curve orff("random features, D = " + std::to_string(frequencies));
  std::vector<double> large;
  std::vector<double> large_seconds;
  Steps steps(settings, "timing", static_cast<Index>(counts.size()));
  const auto seconds = [&](const Rows& rows, const std::string& map) {
    const Stopwatch watch;
    fit_plain(rows, kernel, map, penalty, settings.seed);
    return watch.seconds();
  };
  for (const Index n : counts) {
    steps.next();
    const Rows rows = observe(n, noise, Stream(settings.seed, "reproduce field"));
    std::vector<std::string> line = {std::to_string(n), ""};
    if (n <= most_exact) {
      const double took = seconds(rows, "exact");
      exact.add(static_cast<double>(n), took);
      large.push_back(static_cast<double>(n));
      large_seconds.push_back(took);
      findings.rows.push_back({"exact", cell(n), cell(took)});
      line[1] = cell(took) + " s";
    }
    const double took = seconds(rows, "fourier:" + std::to_string(frequencies));
    orff.add(static_cast<double>(n), took);
    findings.rows.push_back({"orff", cell(n), cell(took)});
    line.push_back(cell(took) + " s");
    findings.table.push_back(line);
  }
  const std::size_t last = large.size() - 1;
  findings.headline = {{"exact: exponent of n between the two largest",
                        std::log(large_seconds[last] / large_seconds[last - 1]) / std::log(large[last] / large[last - 1])}};
  plot::LineChart chart;
  chart.title = "Curl-free field: time to fit";
  chart.x_label = "n, rows";
  chart.y_label = "seconds";
  chart.log_x = chart.log_y = true;
  chart.series = {exact.series(), orff.series()};
  findings.charts = {{"", plot::render(chart)}};
  return findings;
}

}  // namespace mercer::cli::reproduce
