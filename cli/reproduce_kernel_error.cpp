// Figures 1 and 6 of the ORFF paper: how far K~ is from K, on pairs of points of [-1, 1]^4.
#include <algorithm>
#include <array>
#include <cmath>

#include "backend/backend.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
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

/// Φ(x_i)ᵀΦ(z_i) for each pair i, as p × p blocks one under another.
Matrix<double> approximated(const FourierMap& map, ConstMatrix x, ConstMatrix z) {
  constexpr Index block = 64;
  const Index p = map.outputs();
  Matrix<double> all(x.rows * p, p);
  for (Index first = 0; first < x.rows; first += block) {
    const Index count = std::min(block, x.rows - first);
    std::array<Matrix<double>, 2> dense;
    for (std::size_t side = 0; side < 2; ++side) {
      Matrix<double> phi(count, map.columns());
      map.features<double>((side == 0 ? x : z).row_range(first, count), phi);
      dense[side] = Matrix<double>(count * p, map.coupling().parameters());
      map.coupling().dense_rows(phi, dense[side]);
    }
    for (Index i = 0; i < count; ++i) {
      gemm<double>(false, true, 1.0, dense[0].view().row_range(i * p, p), dense[1].view().row_range(i * p, p), 0.0,
                   all.view().row_range((first + i) * p, p));
    }
  }
  return all;
}

/// Spectral norm of a symmetric matrix.
double norm(ConstMatrix symmetric) {
  const auto values = eigh(symmetric).values;
  return std::max(std::abs(values.front()), std::abs(values.back()));
}

/// max_i ‖K~(x_i, z_i) - K(x_i, z_i)‖.
double largest_error(const FourierMap& map, const OperatorKernel& kernel, const Matrix<double>& x, const Matrix<double>& z) {
  const Index p = map.outputs();
  Matrix<double> blocks = approximated(map, x, z);
  Matrix<double> exact(p, p);
  double largest = 0;
  for (Index i = 0; i < x.rows(); ++i) {
    value(kernel, x.row(i), z.row(i), exact);
    const MutMatrix block = blocks.view().row_range(i * p, p);
    for (Index k = 0; k < p * p; ++k) block.data[k] -= exact.data()[k];
    largest = std::max(largest, norm(block));
  }
  return largest;
}

/// Map number `repeat` of D frequencies. Each D has seeds of its own: with the same one, frequencies of a small map are those of a large.
FourierMap draw(const OperatorKernel& kernel, Index frequencies, Sampling sampling, std::uint64_t seed, Index repeat) {
  const Stream seeds(seed, "reproduce maps");
  return {kernel, dimension, dimension, FourierRecipe{frequencies, sampling, seeds.bits(key(frequencies), key(repeat))}};
}

constexpr std::array<Sampling, 3> samplings = {Sampling::monte_carlo, Sampling::orthogonal, Sampling::quasi};
constexpr std::array<const char*, 3> sampling_labels = {"Monte Carlo", "orthogonal", "quasi-Monte Carlo"};

/// Mean error over seeds at each D, for one kernel and sampling.
struct ErrorCurve {
  std::vector<double> frequencies;
  std::vector<Spread> errors;

  double slope() const {
    std::vector<double> means;
    for (const Spread& s : errors) means.push_back(s.mean);
    return log_slope(frequencies, means);
  }
};

plot::LineChart error_chart(const std::string& title) {
  plot::LineChart chart;
  chart.title = title;
  chart.x_label = "D, number of frequencies";
  chart.y_label = "largest error over pairs (spectral norm)";
  chart.log_x = chart.log_y = true;
  return chart;
}

plot::Series series(const std::string& name, const ErrorCurve& curve) {
  Curve line(name);
  for (std::size_t i = 0; i < curve.errors.size(); ++i) line.add(curve.frequencies[i], curve.errors[i]);
  return line.series();
}

plot::Series guide(const ErrorCurve& curve) {
  Curve line("D^(-1/2)", plot::Series::Mark::dashed);
  for (const double d : curve.frequencies)
    line.add(d, curve.errors.front().mean * 0.5 * std::sqrt(curve.frequencies.front() / d));
  return line.series();
}

}  // namespace

Findings orff_fig1(const Settings& settings) {
  const Index pairs = settings.quick ? 50 : 1000;
  const Index repeats = settings.quick ? 3 : 10;
  const auto frequencies = doublings(8, settings.quick ? 256 : 8192);
  const Stream stream(settings.seed, "reproduce pairs");
  const Matrix<double> x = random_points(pairs, stream.child("x"));
  const Matrix<double> z = random_points(pairs, stream.child("z"));

  Findings findings;
  findings.columns = {"kernel", "sampling", "frequencies", "mean_error", "deviation", "repeats", "pairs", "slope"};
  findings.table = {{"kernel", "sampling", "slope", "error at D = " + std::to_string(frequencies.back())}};
  plot::LineChart paper = error_chart("Error of the operator-valued kernel, independent frequencies");
  std::vector<std::string> panels;
  Steps steps(settings, "kernel errors", 9 * static_cast<Index>(frequencies.size()));
  ErrorCurve last;
  for (const NamedKernel& named : kernels(settings.seed)) {
    plot::LineChart panel = error_chart(named.label + ": how frequencies are drawn");
    for (std::size_t s = 0; s < samplings.size(); ++s) {
      ErrorCurve curve;
      for (const Index d : frequencies) {
        steps.next();
        std::vector<double> errors;
        for (Index r = 0; r < repeats; ++r) {
          errors.push_back(largest_error(draw(named.kernel, d, samplings[s], settings.seed, r), named.kernel, x, z));
        }
        curve.frequencies.push_back(static_cast<double>(d));
        curve.errors.push_back(spread(errors));
      }
      for (std::size_t i = 0; i < curve.errors.size(); ++i) {
        findings.rows.push_back({named.name, to_string(samplings[s]), cell(curve.frequencies[i]), cell(curve.errors[i].mean),
                                 cell(curve.errors[i].deviation), cell(repeats), cell(pairs), cell(curve.slope())});
      }
      findings.table.push_back({named.label, sampling_labels[s], cell(curve.slope()), to_text(curve.errors.back())});
      panel.series.push_back(series(sampling_labels[s], curve));
      if (s > 0) continue;
      findings.headline.emplace_back("slope " + named.name, curve.slope());
      paper.series.push_back(series(named.label, curve));
      if (named.name == "decomposable") last = curve;
    }
    panels.push_back(plot::render(panel));
  }
  paper.series.push_back(guide(last));
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
    Matrix<double> e = approximated(draw(named.kernel, frequencies, sampling, seed, r), x, z);
    for (Index k = 0; k < e.size(); ++k) e.data()[k] -= exact.data()[k];
    gemm<double>(false, false, 1.0 / static_cast<double>(repeats), e, e, 1.0, sum);
  }
  return norm(sum);
}

}  // namespace

Findings orff_fig6(const Settings& settings) {
  const Index repeats = settings.quick ? 50 : 1000;
  const auto frequencies = doublings(8, settings.quick ? 64 : 4096);
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
      const double count = static_cast<double>(d);
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
