#pragma once
#include <mercer/model.hpp>
#include <mercer/progress.hpp>
#include <mercer/view.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/matrix.hpp"
#include "io/dataset.hpp"
#include "plot/chart.hpp"

// The experiments of the papers. Each is a function from Settings to Findings; `mercer reproduce` writes those down.
namespace mercer::cli::reproduce {

struct Settings {
  bool quick = false;  ///< a slice of seconds, to see that it runs; its numbers mean little
  std::string data;    ///< folder of the real data sets
  std::uint64_t seed = 0;
  Progress* progress = nullptr;
};

struct Chart {
  std::string suffix;  ///< of the file name: "" for the figure itself
  std::string svg;
};

struct Findings {
  std::vector<std::string> columns;            ///< of the CSV
  std::vector<std::vector<std::string>> rows;  ///< of the CSV
  std::vector<Chart> charts;
  std::vector<std::vector<std::string>> table;           ///< what is printed, heading first
  std::vector<std::pair<std::string, double>> headline;  ///< the numbers that the claim hangs on, by name
};

struct Experiment {
  std::string name;
  std::string what;
  Findings (*run)(const Settings&) = nullptr;
};
const std::vector<Experiment>& experiments();

Findings orff_fig1(const Settings& settings);
Findings orff_fig2(const Settings& settings);
Findings orff_fig3(const Settings& settings);
Findings orff_fig4(const Settings& settings);
Findings orff_fig5(const Settings& settings);
Findings orff_fig6(const Settings& settings);
Findings orff_table3(const Settings& settings);
Findings fields(const Settings& settings);
Findings psketch_fig1(const Settings& settings);
Findings psketch_fig2(const Settings& settings);
Findings psketch_fig3(const Settings& settings);
Findings psketch_fig4(const Settings& settings);
Findings psketch_table1(const Settings& settings);
Findings psketch_table2(const Settings& settings);
Findings psketch_table6(const Settings& settings);
Findings conformal(const Settings& settings);

// ---------------------------------------------------------------------------------------------------------------------
// What several of them need.

inline std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}
inline std::uint64_t key(Index i) {
  return static_cast<std::uint64_t>(i);
}

/// Six significant digits, for CSV cells.
std::string cell(double value);
std::string cell(Index value);

struct Spread {
  double mean = 0;
  double deviation = 0;  ///< of one run, not of the mean
};
Spread spread(const std::vector<double>& values);
/// "0.0921 ± 0.004".
std::string to_text(const Spread& s);

/// Least-squares slope of log y against log x.
double log_slope(const std::vector<double>& x, const std::vector<double>& y);

/// A curve of means with a band of one deviation to either side.
class Curve {
 public:
  explicit Curve(std::string name, plot::Series::Mark mark = plot::Series::Mark::line_points);
  void add(double x, const Spread& y);
  void add(double x, double y);
  const plot::Series& series() const { return series_; }

 private:
  plot::Series series_;
};

/// {from, 2·from, …, to}.
std::vector<Index> doublings(Index from, Index to);

struct Rows {
  Matrix<double> x;
  Matrix<double> y;
};
/// The rows of these numbers.
Rows pick(const Rows& rows, const std::vector<Index>& numbers);

struct Table {
  Rows rows;
  std::vector<std::string> targets;  ///< names
};
/// The whole of a file; one that is not there is an error that says where to point --data.
Table read_table(const std::string& path, const DatasetOptions& options);

/// Root of the mean over rows and outputs of (prediction - y)².
class Scored {
 public:
  Scored(const Matrix<double>& prediction, const Matrix<double>& truth);
  double mean_square() const;                                            ///< over rows and outputs
  const std::vector<double>& per_output() const { return per_output_; }  ///< mean squares

 private:
  std::vector<double> per_output_;
};

/// FitOptions of plain ridge in the user's units: no scaling, nothing kept for standard deviations.
FitOptions plain_options(const std::string& kernel, const std::string& map, std::optional<double> penalty,
                         std::uint64_t seed);
Model fit_plain(const Rows& rows, const std::string& kernel, const std::string& map, std::optional<double> penalty,
                std::uint64_t seed);

struct Split {
  Rows train;
  Rows validation;
};
struct Choice {
  std::string kernel;
  double penalty = 0;
};
/// Of every kernel at every penalty, the pair of least squared error on the validation rows, summed over the splits. Random
/// features are summed up once per kernel and split.
Choice choose(const std::vector<Split>& splits, const std::vector<std::string>& kernels,
              const std::vector<double>& penalties, const std::string& map, std::uint64_t seed);
Matrix<double> predict(const Model& model, const Matrix<double>& x);

/// Kernels of vector fields in R^d over gaussian(l), each divided by the mean diagonal of K(0), so that a penalty means the
/// same to all.
std::string independent(double length_scale);
std::string curl_free(double length_scale);
std::string divergence_free(double length_scale, Index d);
std::string helmholtz(double length_scale, double share, Index d);

/// The progress of an experiment of `steps` equal steps.
class Steps {
 public:
  Steps(const Settings& settings, std::string stage, Index steps)
      : settings_(settings), stage_(std::move(stage)), steps_(steps) {}
  void next();

 private:
  const Settings& settings_;
  std::string stage_;
  Index steps_;
  Index done_ = 0;
};

}  // namespace mercer::cli::reproduce
