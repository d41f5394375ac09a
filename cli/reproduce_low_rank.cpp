// Table 3 of the ORFF paper: twenty outputs that are multiples of one function of twenty inputs.
#include <algorithm>
#include <cmath>
#include <optional>

#include "backend/backend.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "map/fourier.hpp"
#include "model/scaling.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {
namespace {

constexpr Index inputs = 20;
constexpr Index outputs = 20;
// The paper does not say how many frequencies the fitted map has; 1000 as in its other experiments.
constexpr Index fitted_frequencies = 1000;

Matrix<double> normals(Index rows, Index cols, const Stream& stream) {
  Matrix<double> g(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index k = 0; k < cols; ++k) g(i, k) = stream.normal(key(i), key(k));
  }
  return g;
}

/// bbᵀ with b uniform on the sphere: rank 1, ‖A‖ = 1.
std::string rank_one(const Stream& stream) {
  const Matrix<double> b = normals(outputs, 1, stream);
  double square = 0;
  for (const double v : b.values()) square += v * v;
  std::vector<std::string> lines;
  for (Index i = 0; i < outputs; ++i) {
    std::vector<std::string> cells;
    for (Index j = 0; j < outputs; ++j) cells.push_back(shortest(b(i, 0) * b(j, 0) / square));
    lines.push_back("[" + join(cells, ", ") + "]");
  }
  return "[" + join(lines, ", ") + "]";
}

/// y_i = Φ(x_i)ᵀθ for a map of `frequencies` independent frequencies and θ uniform on [-1, 1].
Matrix<double> outputs_of(const OperatorKernel& kernel, const Matrix<double>& x, Index frequencies, std::uint64_t seed) {
  const FourierMap map(kernel, inputs, outputs, {frequencies, Sampling::monte_carlo, seed});
  const Stream stream(seed, "reproduce coefficients");
  std::vector<double> theta(at(map.coupling().parameters()));
  for (std::size_t k = 0; k < theta.size(); ++k) theta[k] = 2 * stream.uniform(k, 0) - 1;
  Matrix<double> w(map.columns(), outputs);
  map.coupling().expand(theta, w);
  Matrix<double> y(x.rows(), outputs);
  constexpr Index block = 512;
  for (Index first = 0; first < x.rows(); first += block) {
    const Index count = std::min(block, x.rows() - first);
    Matrix<double> phi(count, map.columns());
    map.features(x.view().row_range(first, count), phi);
    gemm<double>(false, false, 1.0, phi, w, 0.0, y.view().row_range(first, count));
  }
  return y;
}

/// Adds ε ~ N(0, Σ) to every row, Σ = GGᵀ scaled to ‖Σ‖ = √V[y], V[y] the mean over outputs of their variance (the paper's
/// V[y_i]).
void add_noise(Matrix<double>& y, const Stream& stream) {
  double variance = 0;
  for (Index a = 0; a < outputs; ++a) {
    std::vector<double> column;
    for (Index i = 0; i < y.rows(); ++i) column.push_back(y(i, a));
    const double deviation = spread(column).deviation;
    variance += deviation * deviation / static_cast<double>(outputs);
  }
  Matrix<double> g = normals(outputs, outputs, stream.child("covariance"));
  Matrix<double> square(outputs, outputs);
  gemm<double>(false, true, 1.0, g, g, 0.0, square);
  const double scale = std::sqrt(std::sqrt(variance) / eigh(square).values.back());
  gemm<double>(false, true, scale, normals(y.rows(), outputs, stream.child("noise")), g, 1.0, y);
}

struct Data {
  std::string kernel;
  Matrix<double> x, clean, noisy;
  Matrix<double> test_x, test_y;  ///< without noise
};

Data generate(Index rows, Index test_rows, Index frequencies, std::uint64_t seed) {
  const Stream stream(seed, "reproduce low rank");
  Matrix<double> all(rows + test_rows, inputs);
  for (Index i = 0; i < all.rows(); ++i) {
    for (Index k = 0; k < inputs; ++k) all(i, k) = 2 * stream.uniform(key(i), key(k)) - 1;
  }
  Data data;
  ArrayRows source(all);
  const double median = median_distance(summarize(source, nullptr), Scaling::identity(inputs, 0));
  data.kernel = "decomposable(gaussian(" + shortest(median) + "), " + rank_one(stream.child("outputs")) + ")";
  const Matrix<double> y = outputs_of(parse_kernel(data.kernel), all, frequencies, seed + 1000);
  data.x = Matrix<double>(ConstMatrix(all.view().row_range(0, rows)));
  data.clean = Matrix<double>(ConstMatrix(y.view().row_range(0, rows)));
  data.test_x = Matrix<double>(ConstMatrix(all.view().row_range(rows, test_rows)));
  data.test_y = Matrix<double>(ConstMatrix(y.view().row_range(rows, test_rows)));
  data.noisy = data.clean;
  add_noise(data.noisy, stream);
  return data;
}

/// RMSE on the noise-free test rows of a model of the first n rows, penalty by leave-one-out.
double error_of(const Data& data, const Matrix<double>& y, Index n, const std::string& map, std::uint64_t seed) {
  ArrayRows source(data.x.view().row_range(0, n), y.view().row_range(0, n));
  FitOptions options = plain_options(data.kernel, map, {}, seed);
  if (map != "exact") options.solver = "eigen";
  const Model model = fit(source, options);
  return std::sqrt(Scored(predict(model, data.test_x), data.test_y).mean_square());
}

}  // namespace

Findings orff_table3(const Settings& settings) {
  const Index runs = settings.quick ? 2 : 10;
  const Index runs_large = settings.quick ? 2 : 3;  // exact at n = 10⁴ takes most of the time
  const std::vector<Index> counts =
      settings.quick ? std::vector<Index>{100, 300} : std::vector<Index>{100, 1000, 10000, 100000};
  const Index most_exact = 10000;
  const Index frequencies = settings.quick ? 100 : fitted_frequencies;
  struct Column {
    std::string name;
    bool exact, noise;
  };
  const std::vector<Column> columns = {
      {"ORFF", false, false}, {"OVK", true, false}, {"ORFF noise", false, true}, {"OVK noise", true, true}};

  std::vector<std::vector<std::vector<double>>> errors(counts.size(), std::vector<std::vector<double>>(columns.size()));
  std::vector<double> scale;
  Steps steps(settings, "low rank", runs * static_cast<Index>(counts.size()));
  for (Index r = 0; r < runs; ++r) {
    const std::uint64_t seed = settings.seed + key(r);
    const Data data = generate(counts.back(), 1000, settings.quick ? 1000 : 10000, seed);
    scale.push_back(std::sqrt(Scored(Matrix<double>(data.test_y.rows(), outputs), data.test_y).mean_square()));
    for (std::size_t k = 0; k < counts.size(); ++k) {
      steps.next();
      for (std::size_t c = 0; c < columns.size(); ++c) {
        if (columns[c].exact && (counts[k] > most_exact || (counts[k] == most_exact && r >= runs_large))) continue;
        const std::string map = columns[c].exact ? "exact" : "fourier:" + std::to_string(frequencies);
        errors[k][c].push_back(error_of(data, columns[c].noise ? data.noisy : data.clean, counts[k], map, seed));
      }
    }
  }
  Findings findings;
  findings.columns = {"n", "method", "noise", "rmse", "deviation", "runs", "frequencies"};
  findings.table = {{"n", columns[0].name, columns[1].name, columns[2].name, columns[3].name}};
  plot::LineChart chart;
  chart.title = "Twenty outputs of rank one: error of the learned function";
  chart.x_label = "n, rows";
  chart.y_label = "RMSE (noise-free test points)";
  chart.log_x = chart.log_y = true;
  std::vector<Curve> curves;
  for (const Column& column : columns) curves.emplace_back(column.name);
  for (std::size_t k = 0; k < counts.size(); ++k) {
    std::vector<std::string> line = {std::to_string(counts[k])};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (errors[k][c].empty()) {
        line.emplace_back("");
        continue;
      }
      const Spread s = spread(errors[k][c]);
      line.push_back(to_text(s));
      curves[c].add(static_cast<double>(counts[k]), s);
      findings.rows.push_back({cell(counts[k]), columns[c].exact ? "exact" : "orff", columns[c].noise ? "yes" : "no",
                               cell(s.mean), cell(s.deviation), std::to_string(errors[k][c].size()),
                               columns[c].exact ? "" : cell(frequencies)});
    }
    findings.table.push_back(line);
  }
  for (const Curve& curve : curves) chart.series.push_back(curve.series());
  findings.headline = {{"root mean square of the outputs", spread(scale).mean}};
  findings.charts = {{"", plot::render(chart)}};
  return findings;
}

}  // namespace mercer::cli::reproduce
