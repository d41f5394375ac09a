// Figures 1 and 6 of the ORFF paper: how far K~ is from K, on pairs of points of [-1, 1]^4.
#include <algorithm>
#include <array>
#include <cmath>

#include "backend/backend.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "console.hpp"
#include "kernel/evaluate.hpp"
#include "map/fourier.hpp"
#include "reproduce.hpp"
#include "theory/bounds.hpp"

namespace mercer::cli::reproduce {
namespace {

constexpr Index dimension = 4;  // d, and p of every kernel here

struct NamedKernel {
  std::string name;
  std::string label;
  OperatorKernel kernel;
};

/// A = GGᵀ/‖GGᵀ‖, G 4 × 4 normal: a random positive semi-definite output matrix of spectral norm 1.
std::string random_outputs(std::uint64_t seed) {
  const Stream stream(seed, "reproduce output matrix");
  Matrix<double> g(dimension, dimension);
  for (Index i = 0; i < g.size(); ++i) g.data()[i] = stream.normal(key(i), 0);
  Matrix<double> a(dimension, dimension);
  gemm<double>(false, true, 1.0, g, g, 0.0, a);
  const double norm = eigh(a).values.back();
  std::vector<std::string> lines;
  for (Index i = 0; i < dimension; ++i) {
    std::vector<std::string> cells;
    for (const double v : a.row(i)) cells.push_back(shortest(v / norm));
    lines.push_back("[" + join(cells, ", ") + "]");
  }
  return "[" + join(lines, ", ") + "]";
}

/// The three kernels of the paper over a Gaussian of length scale 1.
std::vector<NamedKernel> kernels(std::uint64_t seed) {
  return {{"decomposable", "decomposable", parse_kernel("decomposable(gaussian(1), " + random_outputs(seed) + ")")},
          {"curl_free", "curl-free", parse_kernel("curl_free(gaussian(1))")},
          {"divergence_free", "divergence-free", parse_kernel("divergence_free(gaussian(1))")}};
}

Matrix<double> random_points(Index rows, const Stream& stream) {
  Matrix<double> x(rows, dimension);
  for (Index i = 0; i < rows; ++i) {
    for (Index k = 0; k < dimension; ++k) x(i, k) = 2 * stream.uniform(key(i), key(k)) - 1;
  }
  return x;
}

/// A_c = B_cB_cᵀ of each column as a row of p² numbers: contracting and expanding e_b in every column gives column b of A_c.
Matrix<double> column_operators(const Coupling& coupling) {
  const Index p = coupling.outputs();
  Matrix<double> all(coupling.columns(), p * p);
  std::vector<double> theta(at(coupling.parameters()));
  Matrix<double> w(coupling.columns(), p);
  for (Index b = 0; b < p; ++b) {
    Matrix<double> unit(coupling.columns(), p);
    for (Index c = 0; c < unit.rows(); ++c) unit(c, b) = 1;
    coupling.contract(unit, theta);
    coupling.expand(theta, w);
    for (Index c = 0; c < w.rows(); ++c) {
      for (Index a = 0; a < p; ++a) all(c, a * p + b) = w(c, a);
    }
  }
  return all;
}

/// Φ(x_i)ᵀΦ(z_i) = Σ_c φ_c(x_i) φ_c(z_i) A_c for each pair i, as a row of p² numbers.
Matrix<double> approximated(const FourierMap& map, ConstMatrix x, ConstMatrix z) {
  constexpr Index block = 128;
  const Matrix<double> operators = column_operators(map.coupling());
  Matrix<double> all(x.rows, operators.cols());
  for (Index first = 0; first < x.rows; first += block) {
    const Index count = std::min(block, x.rows - first);
    Matrix<double> phi(count, map.columns());
    Matrix<double> other(count, map.columns());
    map.features(x.row_range(first, count), phi);
    map.features(z.row_range(first, count), other);
    for (Index i = 0; i < phi.size(); ++i) phi.data()[i] *= other.data()[i];
    gemm<double>(false, false, 1.0, phi, operators, 0.0, all.view().row_range(first, count));
  }
  return all;
}

/// Spectral norm of a symmetric matrix.
double norm(ConstMatrix symmetric) {
  const auto values = eigh(symmetric).values;
  return std::max(std::abs(values.front()), std::abs(values.back()));
}

struct PairErrors {
  double largest = 0;  ///< max_i ‖K~(x_i, z_i) - K(x_i, z_i)‖
  double typical = 0;  ///< root of the mean over i of their squares
};

PairErrors errors_on(const FourierMap& map, const OperatorKernel& kernel, const Matrix<double>& x, const Matrix<double>& z) {
  const Index p = map.outputs();
  Matrix<double> blocks = approximated(map, x, z);
  Matrix<double> exact(p, p);
  PairErrors errors;
  for (Index i = 0; i < x.rows(); ++i) {
    value(kernel, x.row(i), z.row(i), exact);
    const MutMatrix block(blocks.row(i).data(), p, p);
    for (Index k = 0; k < p * p; ++k) block.data[k] -= exact.data()[k];
    const double error = norm(block);
    errors.largest = std::max(errors.largest, error);
    errors.typical += error * error / static_cast<double>(x.rows());
  }
  errors.typical = std::sqrt(errors.typical);
  return errors;
}

/// Map number `repeat` of D frequencies. Each D has seeds of its own: with the same one, frequencies of a small map are
/// those of a large.
FourierMap draw(const OperatorKernel& kernel, Index frequencies, Sampling sampling, std::uint64_t seed, Index repeat) {
  const Stream seeds(seed, "reproduce maps");
  return {kernel, dimension, dimension, FourierRecipe{frequencies, sampling, seeds.bits(key(frequencies), key(repeat))}};
}

constexpr std::array<Sampling, 3> samplings = {Sampling::monte_carlo, Sampling::orthogonal, Sampling::quasi};
constexpr std::array<const char*, 3> sampling_labels = {"Monte Carlo", "orthogonal", "quasi-Monte Carlo"};

/// Errors over the repeats at each D, for one kernel and sampling.
struct ErrorCurve {
  std::vector<double> frequencies;
  std::vector<Spread> largest;
  std::vector<Spread> typical;

  double slope() const {
    std::vector<double> means;
    for (const Spread& s : largest) means.push_back(s.mean);
    return log_slope(frequencies, means);
  }
};

/// Geometric mean over D of a/b.
double ratio(const std::vector<Spread>& a, const std::vector<Spread>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::log(a[i].mean / b[i].mean);
  return std::exp(sum / static_cast<double>(a.size()));
}

ErrorCurve measure(const NamedKernel& named, Sampling sampling, const std::vector<Index>& frequencies, Index repeats,
                   const Settings& settings, Steps& steps, const Rows& pairs) {
  ErrorCurve curve;
  for (const Index d : frequencies) {
    steps.next();
    std::vector<double> largest;
    std::vector<double> typical;
    for (Index r = 0; r < repeats; ++r) {
      const PairErrors e = errors_on(draw(named.kernel, d, sampling, settings.seed, r), named.kernel, pairs.x, pairs.y);
      largest.push_back(e.largest);
      typical.push_back(e.typical);
    }
    curve.frequencies.push_back(static_cast<double>(d));
    curve.largest.push_back(spread(largest));
    curve.typical.push_back(spread(typical));
  }
  return curve;
}

plot::LineChart error_chart(const std::string& title) {
  plot::LineChart chart;
  chart.title = title;
  chart.x_label = "D, number of frequencies";
  chart.y_label = "largest error over pairs (spectral norm)";
  chart.log_x = chart.log_y = true;
  return chart;
}

plot::Series series(const std::string& name, const std::vector<double>& frequencies, const std::vector<Spread>& errors) {
  Curve line(name);
  for (std::size_t i = 0; i < errors.size(); ++i) line.add(frequencies[i], errors[i]);
  return line.series();
}

/// Half of the first error, falling as D^-½.
plot::Series guide(const ErrorCurve& curve) {
  Curve line("slope −1/2", plot::Series::Mark::dashed);
  for (const double d : curve.frequencies)
    line.add(d, curve.largest.front().mean * 0.5 * std::sqrt(curve.frequencies.front() / d));
  return line.series();
}

}  // namespace

Findings orff_fig1(const Settings& settings) {
  const Index count = settings.quick ? 50 : 1000;
  const Index repeats = settings.quick ? 3 : 20;
  const auto frequencies = doublings(8, settings.quick ? 256 : 8192);
  const Stream stream(settings.seed, "reproduce pairs");
  const Rows pairs{random_points(count, stream.child("x")), random_points(count, stream.child("z"))};

  Findings findings;
  findings.columns = {"kernel",    "sampling",      "frequencies", "largest_error", "largest_deviation",
                      "rms_error", "rms_deviation", "repeats",     "pairs",         "slope"};
  findings.table = {{"kernel", "sampling", "slope", "largest error at D = " + std::to_string(frequencies.back()),
                     "largest / Monte Carlo", "rms / Monte Carlo"}};
  plot::LineChart paper = error_chart("Error of the operator-valued kernel, independent frequencies");
  std::vector<std::string> panels;
  Steps steps(settings, "kernel errors", 9 * static_cast<Index>(frequencies.size()));
  for (const NamedKernel& named : kernels(settings.seed)) {
    plot::LineChart panel = error_chart(named.label + ": how frequencies are drawn");
    panel.y_label = "root mean square error over pairs";
    ErrorCurve plain;
    for (std::size_t s = 0; s < samplings.size(); ++s) {
      const ErrorCurve curve = measure(named, samplings[s], frequencies, repeats, settings, steps, pairs);
      if (s == 0) plain = curve;
      for (std::size_t i = 0; i < frequencies.size(); ++i) {
        findings.rows.push_back({named.name, to_string(samplings[s]), cell(frequencies[i]), cell(curve.largest[i].mean),
                                 cell(curve.largest[i].deviation), cell(curve.typical[i].mean),
                                 cell(curve.typical[i].deviation), cell(repeats), cell(count), cell(curve.slope())});
      }
      findings.table.push_back({named.label, sampling_labels[s], cell(curve.slope()), to_text(curve.largest.back()),
                                brief(ratio(curve.largest, plain.largest)), brief(ratio(curve.typical, plain.typical))});
      panel.series.push_back(series(sampling_labels[s], curve.frequencies, curve.typical));
    }
    findings.headline.emplace_back("slope " + named.name, plain.slope());
    paper.series.push_back(series(named.label, plain.frequencies, plain.largest));
    if (paper.series.size() == 3) paper.series.push_back(guide(plain));
    panels.push_back(plot::render(panel));
  }
  findings.charts = {{"", plot::render(paper)}, {"-sampling", plot::side_by_side(panels)}};
  return findings;
}

namespace {

/// ‖mean over repeats of (K~(δ) - K(δ))²‖ at one pair of points.
double measured_variance(const NamedKernel& named, Index frequencies, Sampling sampling, Index repeats, std::uint64_t seed,
                         const Matrix<double>& x, const Matrix<double>& z) {
  Matrix<double> exact(dimension, dimension);
  value(named.kernel, x.row(0), z.row(0), exact);
  Matrix<double> sum(dimension, dimension);
  for (Index r = 0; r < repeats; ++r) {
    Matrix<double> error = approximated(draw(named.kernel, frequencies, sampling, seed, r), x, z);
    for (Index k = 0; k < error.size(); ++k) error.data()[k] -= exact.data()[k];
    const ConstMatrix e(error.data(), dimension, dimension);
    gemm<double>(false, false, 1.0 / static_cast<double>(repeats), e, e, 1.0, sum);
  }
  return norm(sum);
}

}  // namespace

Findings orff_fig6(const Settings& settings) {
  const Index repeats = settings.quick ? 50 : 4000;
  const auto frequencies = doublings(8, settings.quick ? 64 : 1024);
  const Stream stream(settings.seed, "reproduce point");
  const Matrix<double> x = random_points(1, stream);
  const Matrix<double> z(1, dimension);  // the origin: δ = x

  Findings findings;
  findings.columns = {"kernel", "frequencies", "measured", "measured_orthogonal", "exact", "bound", "repeats"};
  findings.table = {{"kernel", "measured / exact, mean over D", "bound / exact", "orthogonal / exact"}};
  std::vector<std::string> panels;
  Steps steps(settings, "variances", 3 * static_cast<Index>(frequencies.size()));
  for (const NamedKernel& named : kernels(settings.seed)) {
    const double exact = pointwise_variance(named.kernel, x.row(0));
    const double bound = proposition_bound(named.kernel, x.row(0));
    Curve measured_curve("measured", plot::Series::Mark::points);
    Curve orthogonal_curve("measured, orthogonal", plot::Series::Mark::points);
    Curve exact_curve("exact, b(δ)/D", plot::Series::Mark::line);
    Curve bound_curve("bound of proposition C.1, corrected", plot::Series::Mark::dashed);
    std::vector<double> ratio;
    std::vector<double> orthogonal_ratio;
    for (const Index d : frequencies) {
      steps.next();
      const auto count = static_cast<double>(d);
      const double measured = measured_variance(named, d, Sampling::monte_carlo, repeats, settings.seed, x, z);
      const double orthogonal = measured_variance(named, d, Sampling::orthogonal, repeats, settings.seed, x, z);
      measured_curve.add(count, measured);
      orthogonal_curve.add(count, orthogonal);
      exact_curve.add(count, exact / count);
      bound_curve.add(count, bound / count);
      ratio.push_back(measured * count / exact);
      orthogonal_ratio.push_back(orthogonal * count / exact);
      findings.rows.push_back(
          {named.name, cell(d), cell(measured), cell(orthogonal), cell(exact / count), cell(bound / count), cell(repeats)});
    }
    findings.table.push_back({named.label, to_text(spread(ratio)), cell(bound / exact), to_text(spread(orthogonal_ratio))});
    findings.headline.emplace_back("measured / exact " + named.name, spread(ratio).mean);
    plot::LineChart panel = error_chart(named.label);
    panel.y_label = "variance of the estimate at one point";
    panel.series = {measured_curve.series(), orthogonal_curve.series(), exact_curve.series(), bound_curve.series()};
    panels.push_back(plot::render(panel));
  }
  findings.charts = {{"", plot::side_by_side(panels)}};
  return findings;
}

}  // namespace mercer::cli::reproduce
