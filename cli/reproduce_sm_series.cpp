// Forecasts of four series: a sparse-spectrum process, the exact process and Titsias' bound with the same mixture.
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "base/random.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {
namespace {

struct Series {
  std::string name, target;
  Index test;    ///< last rows
  double cycle;  ///< known period in units of the input; 0: none is known to be sharp
};
// Months are twelfths of a year, weeks are in days.
const std::vector<Series> all_series = {{"airline", "passengers", 48, 1},
                                        {"co2-monthly", "co2", 120, 1},
                                        {"co2-weekly", "co2", 456, 365.2425},
                                        {"sunspots-monthly", "sunspots", 635, 11}};

struct Forecast {
  double rmse = 0;
  double mnll = 0;
  double covered = 0;  ///< share of test rows within the bands of 90 %
  double period = 0;   ///< 1/frequency of the heaviest component within a tenth of the known cycle's frequency
  double seconds = 0;  ///< to fit
  Matrix<double> mean;
  Matrix<double> deviation;
};

/// The period of the heaviest component near the cycle; NaN when there is none.
double period_near(const Model& model, double cycle) {
  for (const SpectralComponent& c : model.spectrum()) {
    if (std::abs(c.frequency.front() * cycle - 1) < 0.1) return 1 / c.frequency.front();
  }
  return std::nan("");
}

Forecast forecast(const Rows& train, const Rows& test, double cycle, const FitOptions& options) {
  ArrayRows source(train.x, train.y);
  const Stopwatch watch;
  const Model model = fit(source, options);
  Forecast f;
  f.seconds = watch.seconds();
  f.mean = Matrix<double>(test.x.rows(), 1);
  f.deviation = Matrix<double>(test.x.rows(), 1);
  model.predict(test.x, f.mean, f.deviation);
  const Matrix<double>& mean = f.mean;
  const Matrix<double>& deviation = f.deviation;
  const double half_width = normal_quantile(0.95);
  const auto n = static_cast<double>(test.x.rows());
  for (Index i = 0; i < test.x.rows(); ++i) {
    const double z = (test.y(i, 0) - mean(i, 0)) / deviation(i, 0);
    f.rmse += std::pow(test.y(i, 0) - mean(i, 0), 2) / n;
    f.mnll += (z * z + std::log(2 * std::numbers::pi * deviation(i, 0) * deviation(i, 0))) / 2 / n;
    f.covered += (std::abs(z) <= half_width ? 1 : 0) / n;
  }
  f.rmse = std::sqrt(f.rmse);
  f.period = period_near(model, cycle);
  return f;
}

/// The test rows, and a forecast of them with its band of 90 %.
plot::Series band(const std::string& name, const Rows& test, const Forecast& f) {
  const double half_width = normal_quantile(0.95);
  Curve curve(name, plot::Series::Mark::line);
  for (Index i = 0; i < test.x.rows(); ++i) curve.add(test.x(i, 0), Spread{f.mean(i, 0), half_width * f.deviation(i, 0)});
  return curve.series();
}

plot::LineChart panel(const Series& series, const Rows& test) {
  plot::LineChart chart;
  chart.title = series.name + ": forecasts";
  chart.x_label = series.cycle > 100 ? "days since 1970" : "year";
  chart.y_label = series.target;
  Curve data("test rows", plot::Series::Mark::points);
  for (Index i = 0; i < test.x.rows(); ++i) data.add(test.x(i, 0), test.y(i, 0));
  chart.series.push_back(data.series());
  return chart;
}

struct Method {
  std::string name, kind, kernel;
  Index seeds;
};

std::vector<FitOptions> options_of(const Method& method, const Settings& settings) {
  std::vector<FitOptions> all;
  for (Index s = 0; s < method.seeds; ++s) {
    FitOptions options;
    options.gp.kind = method.kind;
    if (!method.kernel.empty()) options.kernel = method.kernel;
    if (settings.quick) options.gp.steps = 3;
    if (settings.quick) options.gp.points = 20;
    options.seed = settings.seed + key(s);
    all.push_back(options);
  }
  return all;
}

/// "0.907 ± 0.0055" over seeds; a number for one.
std::string over_seeds(const std::vector<double>& values) {
  const Spread s = spread(values);
  std::array<char, 64> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.3g", s.mean);
  if (values.size() > 1)
    std::snprintf(buffer.data() + length, buffer.size() - static_cast<std::size_t>(length), " ± %.2g", s.deviation);
  return buffer.data();
}

/// One series and method over its seeds.
struct Summary {
  std::vector<double> rmse, mnll, covered, period, seconds;

  void add(const Forecast& f) {
    rmse.push_back(f.rmse);
    mnll.push_back(f.mnll);
    covered.push_back(100 * f.covered);
    if (std::isfinite(f.period)) period.push_back(f.period);
    seconds.push_back(f.seconds);
  }
  /// The period of those that found the cycle, and how many did when not all.
  std::string period_text() const {
    if (period.empty()) return "";
    return cell(spread(period).mean) +
           (period.size() < rmse.size() ? " (" + std::to_string(period.size()) + " of " + std::to_string(rmse.size()) + ")"
                                        : "");
  }
};

}  // namespace

Findings sm_series(const Settings& settings) {
  const Index seeds = settings.quick ? 2 : 3;
  const std::vector<Method> methods = {{"sparse spectrum", "spectral_mixture:10", "", seeds},
                                       {"exact", "exact", "spectral_mixture:10", 1},  // nothing in it is drawn
                                       {"VFE", settings.quick ? "vfe:20" : "vfe:300", "spectral_mixture:10", seeds}};
  Findings findings;
  findings.columns = {"series", "method", "seed", "train", "test", "rmse", "mnll", "covered", "period", "fit_seconds"};
  findings.table = {{"series", "method", "test rmse", "mnll", "in 90 % bands", "period", "fit"}};
  Steps steps(settings, "sm-series", static_cast<Index>(all_series.size() * methods.size()));
  std::vector<std::string> panels;
  for (const Series& series : all_series) {
    DatasetOptions reading;
    reading.targets = series.target;
    reading.missing = Missing::drop;
    Rows rows = read_table(settings.data + "/series/" + series.name + ".csv", reading).rows;
    const Index n = settings.quick ? std::min<Index>(rows.x.rows(), 150) : rows.x.rows();
    const Index test = settings.quick ? 20 : series.test;
    const auto part = [&](Index first, Index count) {
      std::vector<Index> numbers;
      for (Index i = 0; i < count; ++i) numbers.push_back(first + i);
      return pick(rows, numbers);
    };
    const Rows before = part(0, n - test);
    const Rows after = part(n - test, test);
    plot::LineChart chart = panel(series, after);
    for (const Method& method : methods) {
      steps.next();
      Summary summary;
      for (const FitOptions& options : options_of(method, settings)) {
        const Forecast f = forecast(before, after, series.cycle, options);
        if (summary.rmse.empty() && method.name != "VFE") chart.series.push_back(band(method.name, after, f));
        summary.add(f);
        findings.rows.push_back({series.name, method.name, std::to_string(options.seed), cell(n - test), cell(test),
                                 cell(f.rmse), cell(f.mnll), cell(f.covered), cell(f.period), cell(f.seconds)});
      }
      findings.table.push_back({series.name, method.name, over_seeds(summary.rmse), over_seeds(summary.mnll),
                                over_seeds(summary.covered) + " %", summary.period_text(),
                                human_seconds(spread(summary.seconds).mean)});
      const std::string name = series.name + ", " + method.name;
      findings.headline.emplace_back(name + ": rmse", spread(summary.rmse).mean);
      findings.headline.emplace_back(name + ": covered, %", spread(summary.covered).mean);
    }
    panels.push_back(plot::render(chart));
  }
  findings.charts = {{"", plot::side_by_side(panels)}};
  return findings;
}

}  // namespace mercer::cli::reproduce
