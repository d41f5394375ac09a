// Table 1 of the p-sparsified sketches paper: five quantiles of Boston house prices, fitted together.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {
namespace {

const std::vector<double> levels = {0.1, 0.3, 0.5, 0.7, 0.9};

/// gaussian(l)·M with M_ij = exp(-(τ_i - τ_j)²), example 1 of the paper; it does not print its γ.
std::string kernel(double length_scale) {
  std::vector<std::string> lines;
  for (const double a : levels) {
    std::vector<std::string> cells;
    for (const double b : levels) cells.push_back(shortest(std::exp(-(a - b) * (a - b))));
    lines.push_back("[" + join(cells, ", ") + "]");
  }
  return "decomposable(gaussian(" + shortest(length_scale) + "), [" + join(lines, ", ") + "])";
}

Rows load(const Settings& settings) {
  DatasetOptions options;
  options.targets = "medv";
  return read_table(settings.data + "/housing/boston.csv", options).rows;
}

/// A random 70 % of the rows to learn from, the rest to test on.
Split split(const Rows& rows, const Stream& stream) {
  const Index n = rows.x.rows();
  std::vector<Index> order(at(n));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = 0; i < n; ++i) std::swap(order[at(i)], order[at(i) + stream.below(key(n - i), key(i), 0)]);
  const auto cut = order.begin() + 7 * n / 10;
  return {pick(rows, {order.begin(), cut}), pick(rows, {cut, order.end()})};
}

struct Losses {
  double pinball = 0;   ///< 100·(1/n)ΣᵢΣⱼ of the pinball loss at level j, prices in units of their training deviation
  double crossing = 0;  ///< 100·(1/n)ΣᵢΣⱼ max(0, f_j - f_{j+1}), in the same units
};

Losses score(const Model& model, const Rows& train, const Rows& test) {
  const double unit = spread({train.y.values().begin(), train.y.values().end()}).deviation;
  const double share = 100 / unit / static_cast<double>(test.y.rows());
  const Matrix<double> f = predict(model, test.x);
  Losses losses;
  for (Index i = 0; i < f.rows(); ++i) {
    for (Index j = 0; j < f.cols(); ++j) {
      const double r = test.y(i, 0) - f(i, j);
      losses.pinball += share * std::max(levels[at(j)] * r, (levels[at(j)] - 1) * r);
      if (j > 0) losses.crossing += share * std::max(0.0, f(i, j - 1) - f(i, j));
    }
  }
  return losses;
}

struct Setting {
  double length_scale = 0;
  double penalty = 0;
};

Model learn(const Rows& rows, const std::string& map, const Setting& setting, bool non_crossing, std::uint64_t seed) {
  FitOptions options = plain_options(kernel(setting.length_scale), map, setting.penalty, seed);
  options.standardize = true;
  options.quantiles = levels;
  options.loss = "pinball";
  options.non_crossing = non_crossing;
  options.tolerance = 1e-3;
  ArrayRows source(rows.x, rows.y);
  return fit(source, options);
}

/// Least pinball loss over five folds of the training rows.
Setting choose_setting(const Rows& train, const std::string& map, const Settings& settings) {
  const Index folds = settings.quick ? 2 : 5;
  const std::vector<double> scales = settings.quick ? std::vector<double>{4} : std::vector<double>{2, 3, 5, 8};
  const std::vector<double> penalties =
      settings.quick ? std::vector<double>{1e-3} : std::vector<double>{1e-5, 1e-4, 1e-3, 1e-2};
  Setting best;
  double least = std::numeric_limits<double>::infinity();
  for (const double scale : scales) {
    for (const double penalty : penalties) {
      double sum = 0;
      for (Index f = 0; f < folds; ++f) {
        std::vector<Index> kept;
        std::vector<Index> held;
        for (Index i = 0; i < train.x.rows(); ++i) (i % folds == f ? held : kept).push_back(i);
        const Rows kept_rows = pick(train, kept);
        sum += score(learn(kept_rows, map, {scale, penalty}, false, settings.seed), kept_rows, pick(train, held)).pinball;
      }
      if (sum >= least) continue;
      least = sum;
      best = {scale, penalty};
    }
  }
  return best;
}

struct Method {
  std::string name, label, map;
  bool non_crossing;
  double paper_pinball, paper_crossing;
};

}  // namespace

Findings psketch_table1(const Settings& settings) {
  const Index splits = settings.quick ? 2 : 10;
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Method> methods = {{"exact", "exact", "exact", false, 51.28, 0.34},
                                       {"exact non-crossing", "exact, ordered", "exact", true, none, none},
                                       {"p-sr", "p-SR", "p-sr:50,p=20/n", false, 54.75, 0.26},
                                       {"p-sr non-crossing", "p-SR, ordered", "p-sr:50,p=20/n", true, none, none},
                                       {"p-sg", "p-SG", "p-sg:50,p=20/n", false, 54.78, 0.11},
                                       {"accumulation", "Accumulation", "accumulation:50,m=20", false, 54.73, 0.15},
                                       {"countsketch", "CountSketch", "countsketch:50", false, 54.60, 0.10}};
  const Rows rows = load(settings);
  const Stream stream(settings.seed, "reproduce quantiles");
  Findings findings;
  findings.columns = {
      "method",         "pinball",     "pinball_deviation", "paper_pinball", "crossing", "crossing_deviation",
      "paper_crossing", "fit_seconds", "length_scale",      "penalty",       "splits"};
  findings.table = {{"method", "pinball", "paper", "crossing", "paper", "fit"}};
  plot::LineChart chart;
  chart.title = "Boston: five quantiles, " + std::to_string(splits) + " splits";
  chart.x_label = "crossing loss";
  chart.y_label = "pinball loss";
  Steps steps(settings, "quantiles", static_cast<Index>(methods.size()) * (splits + 1));
  for (const Method& method : methods) {
    steps.next();
    const Setting setting = choose_setting(split(rows, stream.child("split", 0)).train, method.map, settings);
    std::vector<double> pinball;
    std::vector<double> crossing;
    std::vector<double> seconds;
    Curve points(method.label, plot::Series::Mark::points);
    for (Index k = 0; k < splits; ++k) {
      steps.next();
      const Split part = split(rows, stream.child("split", key(k)));
      const Stopwatch watch;
      const Model model = learn(part.train, method.map, setting, method.non_crossing, settings.seed + key(k));
      seconds.push_back(watch.seconds());
      const Losses losses = score(model, part.train, part.validation);
      pinball.push_back(losses.pinball);
      crossing.push_back(losses.crossing);
      points.add(losses.crossing, losses.pinball);
    }
    const Spread p = spread(pinball);
    const Spread c = spread(crossing);
    const double took = spread(seconds).mean;
    findings.rows.push_back({method.name, cell(p.mean), cell(p.deviation), cell(method.paper_pinball), cell(c.mean),
                             cell(c.deviation), cell(method.paper_crossing), cell(took), cell(setting.length_scale),
                             cell(setting.penalty), cell(splits)});
    findings.table.push_back(
        {method.label, to_text(p), cell(method.paper_pinball), to_text(c), cell(method.paper_crossing), cell(took) + " s"});
    findings.headline.emplace_back("pinball " + method.name, p.mean);
    findings.headline.emplace_back("crossing " + method.name, c.mean);
    chart.series.push_back(points.series());
  }
  findings.charts = {{"", plot::render(chart)}};
  return findings;
}

}  // namespace mercer::cli::reproduce
