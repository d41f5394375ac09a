// Do conformal intervals keep their promise on real data? Coverage and width over random splits, of means and of quantiles.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "model/conformal.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {
namespace {

constexpr double level = 0.9;
/// Rows of one split at most, so that a fit takes a fraction of a second.
constexpr Index most_rows = 4000;

struct Survey {
  std::string name, file, target;
};
const std::vector<Survey> surveys = {{"concrete", "uci/concrete.csv.gz", "last:1"},
                                     {"energy", "uci/energy.csv.gz", "last:1"},
                                     {"boston", "housing/boston.csv", "medv"},
                                     {"elevators", "uci/elevators.csv.gz", "last:1"},
                                     {"bike", "uci/bike.csv.gz", "last:1"}};

/// A random choice of at most most_rows rows: 70 % to fit and calibrate on, the others to test on.
Split split(const Rows& rows, const Stream& stream) {
  const Index n = rows.x.rows();
  const Index used = std::min(n, most_rows);
  std::vector<Index> order(at(n));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = 0; i < used; ++i) std::swap(order[at(i)], order[at(i) + stream.below(key(n - i), key(i), 0)]);
  const auto cut = order.begin() + 7 * used / 10;
  return {pick(rows, {order.begin(), cut}), pick(rows, {cut, order.begin() + used})};
}

struct Held {
  double share = 0;  ///< of the test rows that lie in their interval
  double width = 0;  ///< mean, in units of the deviation of the test targets
};

Held test_intervals(const Model& model, const Rows& test) {
  const Index n = test.x.rows();
  Matrix<double> low(n, 1);
  Matrix<double> high(n, 1);
  model.predict_interval(test.x, low, high);
  Held held;
  const double unit = spread({test.y.values().begin(), test.y.values().end()}).deviation;
  for (Index i = 0; i < n; ++i) {
    const bool inside = low(i, 0) <= test.y(i, 0) && test.y(i, 0) <= high(i, 0);
    held.share += (inside ? 1.0 : 0.0) / static_cast<double>(n);
    held.width += (high(i, 0) - low(i, 0)) / (unit * static_cast<double>(n));
  }
  return held;
}

FitOptions options_of(bool quantiles, std::uint64_t seed) {
  FitOptions options;
  options.map = "p-sr:100";
  options.conformal = level;
  options.seed = seed;
  if (quantiles) {
    options.quantiles = {(1 - level) / 2, (1 + level) / 2};
    options.tolerance = 1e-3;
  }
  return options;
}

/// What theory says of the share: mean k/(m + 1), and the deviation of one split, that of a Beta(k, m + 1 - k) probability
/// seen on t test rows.
Spread expected(Index m, Index t) {
  const auto k = static_cast<double>(conformal_rank(m, level));
  const auto total = static_cast<double>(m + 1);
  const double mean = k / total;
  const double beta = mean * (1 - mean) / (total + 1);
  return {mean, std::sqrt(beta + (mean * (1 - mean) - beta) / static_cast<double>(t))};
}

}  // namespace

Findings conformal(const Settings& settings) {
  const Index splits = settings.quick ? 4 : 50;
  const std::size_t sets = settings.quick ? 3 : surveys.size();
  const Stream stream(settings.seed, "reproduce conformal");
  Findings findings;
  findings.columns = {"dataset",  "model",     "n",        "calibration_rows",   "test_rows",
                      "coverage", "deviation", "expected", "expected_deviation", "width",
                      "splits"};
  findings.table = {{"data set", "model", "n", "calibrated on", "coverage", "expected", "width"}};
  plot::LineChart chart;
  chart.title = "Coverage of 90 % intervals, " + std::to_string(splits) + " splits each";
  chart.x_label = "split, by coverage";
  chart.y_label = "share of test rows inside";
  Steps steps(settings, "conformal intervals", static_cast<Index>(sets) * 2 * splits);
  for (std::size_t s = 0; s < sets; ++s) {
    DatasetOptions reading;
    reading.targets = surveys[s].target;
    const Rows rows = read_table(settings.data + "/" + surveys[s].file, reading).rows;
    for (const bool quantiles : {false, true}) {
      const std::string model_name = quantiles ? "quantiles" : "mean";
      std::vector<double> shares;
      std::vector<double> widths;
      Index calibrated = 0;
      Index tested = 0;
      for (Index k = 0; k < splits; ++k) {
        steps.next();
        const Split part = split(rows, stream.child("split", key(k)));
        ArrayRows source(part.train.x, part.train.y);
        const Model model = fit(source, options_of(quantiles, settings.seed + key(k)));
        const Held held = test_intervals(model, part.validation);
        shares.push_back(held.share);
        widths.push_back(held.width);
        calibrated = model.summary().calibration_rows;
        tested = part.validation.x.rows();
      }
      const Spread share = spread(shares);
      const Spread theory = expected(calibrated, tested);
      const double width = spread(widths).mean;
      findings.rows.push_back({surveys[s].name, model_name, cell(std::min(rows.x.rows(), most_rows)), cell(calibrated),
                               cell(tested), cell(share.mean), cell(share.deviation), cell(theory.mean),
                               cell(theory.deviation), cell(width), cell(splits)});
      findings.table.push_back({surveys[s].name, model_name, cell(std::min(rows.x.rows(), most_rows)), cell(calibrated),
                                to_text(share), to_text(theory), cell(width)});
      findings.headline.emplace_back("coverage " + surveys[s].name + " " + model_name, share.mean);
      std::ranges::sort(shares);
      Curve curve(surveys[s].name + ", " + model_name);
      for (Index k = 0; k < splits; ++k) curve.add(static_cast<double>(k + 1), shares[at(k)]);
      chart.series.push_back(curve.series());
    }
  }
  findings.charts = {{"", plot::render(chart)}};
  return findings;
}

}  // namespace mercer::cli::reproduce
