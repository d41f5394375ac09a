// Figure 1 of paper 3: how well the features approximate the kernel while it is learned, by the rule that shares the
// spectral points out.
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "base/parallel.hpp"
#include "gp/spectral_training.hpp"
#include "spectral_sets.hpp"

namespace mercer::cli::reproduce {
namespace {

constexpr Index components = 10;
constexpr double step = 0.4;  // Nyquist 1.25, above all frequencies

/// Values of the kernel at the lags 0, h, 2h, … of evenly spaced rows.
std::vector<double> kernel_at_lags(const Mixture& mixture, Index rows) {
  std::vector<double> k(at(rows));
  for (Index lag = 0; lag < rows; ++lag) {
    const std::array<double, 1> delta = {step * static_cast<double>(lag)};
    k[at(lag)] = value(mixture, delta);
  }
  return k;
}

/// ‖K - K̂‖_F/‖K‖_F: both are Toeplitz, lag l stands n - l times on either side of the diagonal.
double kernel_error(const std::vector<double>& k, const Mixture& mixture, const SpectralPoints& points) {
  const Matrix<double> s = frequencies(mixture, points);
  const std::vector<double> a = amplitudes(mixture, points);
  double error = 0;
  double norm = 0;
  for (std::size_t lag = 0; lag < k.size(); ++lag) {
    double estimate = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
      const double turns = s(static_cast<Index>(j), 0) * step * static_cast<double>(lag);
      estimate += a[j] * a[j] * std::cos(2 * std::numbers::pi * turns);
    }
    const double times = static_cast<double>(k.size() - lag) * (lag == 0 ? 1 : 2);
    error += times * (k[lag] - estimate) * (k[lag] - estimate);
    norm += times * k[lag] * k[lag];
  }
  return std::sqrt(error / norm);
}

struct Rule {
  std::string name, label;
  Allocation allocation;
  bool annealed;  ///< temperature T/t; otherwise 1
};
const std::array<Rule, 4> rules = {{{"naive", "naive", Allocation::uniform, false},
                                    {"softmax", "SoftMax, T/t", Allocation::softmax, true},
                                    {"softmax-1", "SoftMax, τ = 1", Allocation::softmax, false},
                                    {"optimal", "optimal", Allocation::optimal, false}}};

struct Plan {
  Index rows = 500;
  int steps = 120;
  int every = 5;
  Index seeds = 5;
  Index draws = 8;  ///< of points at every step looked at
};

/// errors[step][rule]: one number for each seed, the mean over the draws of points.
using Errors = std::map<int, std::array<std::vector<double>, rules.size()>>;
/// At which share of the pairs (same kernel, same streams) in the last quarter a rule beats the naive one.
using Wins = std::array<std::vector<double>, rules.size()>;

/// Trains by the paper's algorithm 1 (Adam, SoftMax at T/t) and measures every rule at the same kernels with the same
/// streams: point i of component q does not depend on how many the component gets, so differences are of the rules alone.
void follow(const WaveSet& set, Index points, const Plan& plan, std::uint64_t seed, Errors& errors, Wins& wins) {
  const Stream stream = Stream(seed, "reproduce sm-fig1").child(set.name);
  const Rows rows = draw_waves(set, plan.rows, step, stream.child("data"));
  const SpectralParameters start = spectral_start(rows, components, stream.child("start"));
  SpectralTrainingOptions options;
  options.points = points;
  options.optimizer = Optimizer::adam;
  options.steps = plan.steps;
  options.rate = 0.02;
  options.posterior_draws = 1;
  options.seed = seed;
  constexpr Index pairs = 200;
  Matrix<double> differences(pairs, 1);
  for (Index r = 0; r < pairs; ++r) {
    const auto apart = static_cast<double>(stream.below(key(plan.rows), key(r), 0)) -
                       static_cast<double>(stream.below(key(plan.rows), key(r), 1));
    differences(r, 0) = step * apart;
  }
  train_spectral(
      rows.x, rows.y, start, options, {},
      [&](const TrainingStep& now, const SpectralParameters& parameters, const std::vector<SpectralPoints>&) {
        if (now.iteration % plan.every != 0 && now.iteration != 1) return;
        const Mixture& mixture = parameters.mixture;
        const std::vector<double> k = kernel_at_lags(mixture, plan.rows);
        Matrix<double> found(plan.draws, static_cast<Index>(rules.size()));
        parallel_for(plan.draws, [&](Index draw) {
          const Stream own = stream.child("draw", key(draw)).child("step", static_cast<std::uint64_t>(now.iteration));
          for (std::size_t r = 0; r < rules.size(); ++r) {
            const double temperature = rules[r].annealed ? static_cast<double>(plan.steps) / now.iteration : 1;
            const std::vector<Index> shares = allocate(mixture, points, rules[r].allocation, temperature, differences);
            const SpectralPoints drawn = draw_points(mixture, shares, PointSampling::monte_carlo, own);
            found(draw, static_cast<Index>(r)) = kernel_error(k, mixture, drawn);
          }
        });
        for (std::size_t r = 0; r < rules.size(); ++r) {
          double mean = 0;
          for (Index draw = 0; draw < plan.draws; ++draw) {
            mean += found(draw, static_cast<Index>(r)) / static_cast<double>(plan.draws);
            if (4 * now.iteration >= 3 * plan.steps)
              wins[r].push_back(found(draw, static_cast<Index>(r)) < found(draw, 0) ? 1 : 0);
          }
          errors[now.iteration][r].push_back(mean);
        }
      });
}

/// Mean over the last quarter of the steps, one number for each seed.
std::vector<double> late(const Errors& errors, std::size_t rule, const Plan& plan) {
  std::vector<double> mean(at(plan.seeds), 0.0);
  double count = 0;
  for (const auto& [iteration, by_rule] : errors) {
    if (4 * iteration < 3 * plan.steps) continue;
    ++count;
    for (std::size_t s = 0; s < mean.size(); ++s) mean[s] += by_rule[rule][s];
  }
  for (double& m : mean) m /= count;
  return mean;
}

void add_curves(const Errors& errors, Index points, plot::LineChart& chart) {
  for (std::size_t r = 0; r < rules.size(); ++r) {
    if (rules[r].name == "softmax-1") continue;  // the last steps of the other
    Curve curve(rules[r].label + ", " + std::to_string(points) + " points",
                rules[r].name == "naive" ? plot::Series::Mark::dashed : plot::Series::Mark::line);
    for (const auto& [iteration, by_rule] : errors) curve.add(iteration, spread(by_rule[r]).mean);
    chart.series.push_back(curve.series());
  }
}

}  // namespace

Findings sm_fig1(const Settings& settings) {
  Plan plan;
  if (settings.quick) plan = {120, 12, 3, 2, 2};
  const std::vector<Index> sizes = {5 * components, 25 * components};
  Findings findings;
  findings.columns = {"set",   "points", "rule", "iteration", "error", "deviation", "ratio_to_naive", "ratio_deviation",
                      "seeds", "draws",  "n"};
  findings.table = {{"set", "points", "naive", "SoftMax", "optimal", "SoftMax/naive", "pairs where lower", "optimal/naive"}};
  std::vector<std::string> panels;
  const auto sets = wave_sets();
  Steps steps(settings, "sm-fig1", static_cast<Index>(sets.size() * sizes.size()) * plan.seeds);
  for (const WaveSet& set : sets) {
    plot::LineChart chart;
    chart.title = set.name;
    chart.x_label = "iteration";
    chart.y_label = "‖K - K̂‖/‖K‖";
    chart.log_y = true;
    for (const Index points : sizes) {
      Errors errors;
      Wins wins;
      for (Index s = 0; s < plan.seeds; ++s) {
        steps.next();
        follow(set, points, plan, settings.seed + key(s), errors, wins);
      }
      add_curves(errors, points, chart);
      const auto ratio_of = [](std::vector<double> mine, const std::vector<double>& naive) {
        for (std::size_t s = 0; s < mine.size(); ++s) mine[s] /= naive[s];
        return spread(mine);
      };
      for (const auto& [iteration, by_rule] : errors) {
        for (std::size_t r = 0; r < rules.size(); ++r) {
          const Spread e = spread(by_rule[r]);
          const Spread ratio = ratio_of(by_rule[r], by_rule[0]);
          findings.rows.push_back({set.name, cell(points), rules[r].name, std::to_string(iteration), cell(e.mean),
                                   cell(e.deviation), cell(ratio.mean), cell(ratio.deviation), cell(plan.seeds),
                                   cell(plan.draws), cell(plan.rows)});
        }
      }
      const std::vector<double> naive = late(errors, 0, plan);
      const std::vector<double> softmax = late(errors, 1, plan);
      const std::vector<double> optimal = late(errors, 3, plan);
      const Spread ratio = ratio_of(softmax, naive);
      findings.table.push_back({set.name, cell(points), to_text(spread(naive)), to_text(spread(softmax)),
                                to_text(spread(optimal)), to_text(ratio), cell(100 * spread(wins[1]).mean) + " %",
                                to_text(ratio_of(optimal, naive))});
      findings.headline.emplace_back(set.name + ", " + std::to_string(points) + " points: SoftMax/naive", ratio.mean);
    }
    panels.push_back(plot::render(chart));
  }
  findings.charts = {{"", plot::side_by_side(panels)}};
  return findings;
}

}  // namespace mercer::cli::reproduce
