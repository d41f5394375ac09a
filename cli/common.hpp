#pragma once
#include <mercer/model.hpp>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "console.hpp"
#include "io/dataset.hpp"
#include "io/split.hpp"

namespace mercer::cli {

// The options that several verbs share, read in one place.

DatasetOptions dataset_options(const Arguments& arguments);
FitOptions fit_options(const Arguments& arguments);
/// "0.1,0.5" as numbers; Error naming the option otherwise.
std::vector<double> number_list(const Arguments& arguments, const std::string& name);
/// --split: true for time.
bool in_time_order(const Arguments& arguments);
/// --holdout, with --split.
Split holdout_split(const Arguments& arguments, std::uint64_t seed);
/// Opens files as the model was trained on them. With `targets_optional` a file of inputs alone is fine.
std::unique_ptr<Dataset> open_like(const std::vector<std::string>& files, const Schema& schema, const Arguments& arguments,
                                   bool targets_optional);
/// The same to see the rows: weights do not matter, missing cells are NaN unless --missing says otherwise, and targets are
/// read where they are there.
std::unique_ptr<Dataset> open_to_draw(const std::vector<std::string>& files, const Schema& schema,
                                      const Arguments& arguments, bool targets_optional);
/// Sets what the files say (targets, classes) in the options of a fit.
void describe(const Dataset& data, FitOptions& options);

/// "38 effective degrees of freedom", "about" that many where iterations or a coarse matrix said so.
std::string freedom_words(const FitSummary& summary);

/// "standard deviations within 0.3 %", of those by a coarse factor; "": as good as exact.
std::string spread_words(const FitSummary& summary);

/// How good predictions are on rows with targets.
struct Scores {
  Index rows = 0;
  std::vector<std::string> names;
  std::vector<double> rmse, rrmse, mae;  ///< per output; rrmse relative to the training mean as prediction
  double arrmse = 0;                     ///< mean of rrmse
  double r2 = 0;         ///< 1 - Σ squared errors / Σ squared deviations from the mean of these rows, mean over outputs
  double accuracy = -1;  ///< classification
  std::vector<double> levels;               ///< of quantiles: then names, rmse and so on are per level
  std::vector<double> pinball;              ///< mean pinball loss of each level
  std::vector<double> below;                ///< share of targets not above each quantile: the level itself when it is right
  double crossed = 0;                       ///< share of neighbouring pairs of quantiles in the wrong order
  double crossing = 0;                      ///< mean over such pairs of how far they cross, in the units of the target
  double inside = 0;                        ///< share of targets between the lowest and the highest quantile
  std::optional<double> interval_level;     ///< of conformal intervals
  std::vector<double> coverage, width;      ///< of those, per target: share of rows inside, mean width
  std::vector<std::string> interval_names;  ///< the targets
  std::vector<double> log_density;          ///< of Gaussian processes, per target: mean log predictive density
  std::vector<double> band_coverage;        ///< and share of rows within their 90 % bands
  std::vector<std::vector<double>> confusion;  ///< rows: truth, columns: prediction
};
Scores score_rows(const Model& model, RowSource& rows, Progress* progress);
nlohmann::json to_json(const Scores& scores, const std::vector<std::string>& classes);
std::string to_text(const Scores& scores, const std::vector<std::string>& classes);

/// --gp and what goes with it.
GpOptions gp_options(const Arguments& arguments);
/// The steps of a training as a CSV.
void write_trace(const Model& model, const std::string& path);
/// A learned spectrum, heaviest component first: "period 1.00 year, steady (weight 0.31 ± 0.05)".
std::vector<std::string> spectrum_words(const Model& model, Index output);
/// What a Gaussian process has learned: kernel or spectrum, mean, coupling of the outputs; for people, and as JSON.
void tell_learned(const Console& console, const Model& model);
void add_learned(const Model& model, nlohmann::json& json);

/// The times of --horizon, or a refusal that says why there are none.
std::vector<double> horizon_times(const Model& model, const Arguments& arguments);

/// Refuses data of which no column was named as target.
void require_targets(const Dataset& data, const Arguments& arguments);
/// Refuses an -o that cannot be written before the work is done rather than after it.
void check_output(const Arguments& arguments);

/// Warns once when the BLAS underneath is crippled.
void warn_about_backend(const Console& console);

int run_fit(const Arguments& arguments);
int run_predict(const Arguments& arguments);
int run_score(const Arguments& arguments);
/// score --rolling
int score_in_time(const Arguments& arguments, const Model& model, Dataset& data);
int run_plot(const Arguments& arguments);
int run_gram(const Arguments& arguments);

int run_info(const Arguments& arguments);
int run_accumulate(const Arguments& arguments);
int run_merge(const Arguments& arguments);
int run_solve(const Arguments& arguments);
int run_tune(const Arguments& arguments);
int run_plan(const Arguments& arguments);
int run_bench(const Arguments& arguments);
int run_demo(const Arguments& arguments);
int run_reproduce(const Arguments& arguments);

}  // namespace mercer::cli
