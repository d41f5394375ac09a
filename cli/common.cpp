#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "io/atomic_file.hpp"
#include "model/state.hpp"

namespace mercer::cli {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

Missing missing_mode(const std::string& text, bool predicting) {
  if (text == "error") return Missing::error;
  if (text == "mean") return Missing::mean;
  if (text == "drop") return predicting ? Missing::keep : Missing::drop;
  fail_argument("--missing " + mercer::quoted(text) + " is not error, mean or drop" +
                did_you_mean(text, {"error", "mean", "drop"}));
}

}  // namespace

DatasetOptions dataset_options(const Arguments& a) {
  DatasetOptions options;
  options.targets = a.text("target");
  options.inputs = a.text("inputs");
  options.weights = a.text("weights");
  options.missing = missing_mode(a.text("missing"), false);
  options.one_hot = a.flag("one-hot");
  options.classify = a.flag("classify");
  options.dates = a.text("dates");
  options.format = a.text("format");
  options.header = a.text("header");
  options.memory_bytes = a.bytes("memory") / 8;  // rows beyond this are parsed again on every pass
  return options;
}

std::vector<double> number_list(const Arguments& a, const std::string& name) {
  const std::string text = a.text(name);
  std::vector<double> numbers;
  for (const std::string& part : split(text, ',')) {
    double value = 0;
    if (!parse_number(trim(part), value))
      fail_argument("--" + name + " " + mercer::quoted(text) + ": " + mercer::quoted(part) + " is not a number");
    numbers.push_back(value);
  }
  return numbers;
}

bool in_time_order(const Arguments& a) {
  const std::string how = a.text("split");
  if (how != "random" && how != "time")
    fail_argument("--split " + mercer::quoted(how) + " is not random or time" + did_you_mean(how, {"random", "time"}));
  return how == "time";
}

Split holdout_split(const Arguments& a, std::uint64_t seed) {
  const Split split{a.number("holdout"), in_time_order(a), seed};
  if (!(split.test_fraction > 0 && split.test_fraction < 1))
    fail_argument("--holdout must lie between 0 and 1, got " + a.text("holdout"));
  return split;
}

FitOptions fit_options(const Arguments& a) {
  FitOptions options;
  options.kernel = a.text("kernel");
  options.map = a.text("map");
  if (a.text("penalty") != "auto") {
    double penalty = 0;
    if (!parse_number(a.text("penalty"), penalty)) {
      fail_argument("--penalty " + mercer::quoted(a.text("penalty")) + " is neither auto nor a number");
    }
    options.penalty = penalty;
  }
  options.solver = a.text("solver");
  options.precision = a.text("precision");
  options.uncertainty = a.text("uncertainty");
  options.standardize = !a.flag("no-standardize");
  options.intercept = !a.flag("no-intercept");
  options.seed = static_cast<std::uint64_t>(a.integer("seed", 0));
  options.memory_bytes = a.bytes("memory");
  if (a.text("tolerance") != "auto") options.tolerance = a.number("tolerance");
  if (a.has("conformal")) options.conformal = a.number("conformal");
  options.loss = a.text("loss");
  options.non_crossing = a.flag("non-crossing");
  if (a.has("quantiles")) options.quantiles = number_list(a, "quantiles");
  options.gp = gp_options(a);
  options.passes = static_cast<int>(std::min<std::int64_t>(1000000, a.integer("passes", 1)));
  return options;
}

namespace {

std::unique_ptr<Dataset> open_by(const std::vector<std::string>& files, const Schema& schema, const Arguments& a,
                                 bool targets_optional, Missing missing) {
  DatasetOptions options;
  options.like = &schema;
  options.targets_optional = targets_optional;
  options.missing = missing;
  options.format = a.text("format");
  options.header = a.text("header");
  options.memory_bytes = a.bytes("memory") / 8;  // rows beyond this are parsed again on every pass
  return open_dataset(files, options);
}

}  // namespace

std::unique_ptr<Dataset> open_like(const std::vector<std::string>& files, const Schema& schema, const Arguments& a,
                                   bool targets_optional) {
  Schema wanted = schema;
  if (targets_optional) {  // predicting: whatever stands in the target columns is none of our business
    wanted.targets.clear();
    wanted.classes.clear();
    wanted.weights.clear();
  }
  return open_by(files, wanted, a, targets_optional, missing_mode(a.text("missing"), targets_optional));
}

std::unique_ptr<Dataset> open_to_draw(const std::vector<std::string>& files, const Schema& schema, const Arguments& a,
                                      bool targets_optional) {
  Schema wanted = schema;
  wanted.weights.clear();
  return open_by(files, wanted, a, targets_optional,
                 a.has("missing") ? missing_mode(a.text("missing"), true) : Missing::keep);
}

std::string freedom_words(const FitSummary& summary) {
  const std::string number = brief(summary.degrees_of_freedom);
  return (summary.iterations > 0 ? "about " : "") + number +
         (number == "1" ? " effective degree of freedom" : " effective degrees of freedom");
}

std::string spread_words(const FitSummary& summary) {
  constexpr double negligible = 0.0005;
  return summary.spread_error > negligible ? "standard deviations within " + brief(100 * summary.spread_error) + " %" : "";
}

void describe(const Dataset& data, FitOptions& options) {
  options.target_names = data.schema().targets;
  options.classes = data.schema().classes;
}

namespace {

/// How quantiles fare on rows (weights count).
class QuantileTally {
 public:
  explicit QuantileTally(const std::vector<double>& levels)
      : levels_(levels), pinball_(levels.size(), 0.0), below_(levels.size(), 0.0) {}

  void add(double w, double y, std::span<const double> q) {
    weight_ += w;
    for (std::size_t a = 0; a < levels_.size(); ++a) {
      const double u = y - q[a];
      pinball_[a] += w * std::max(levels_[a] * u, (levels_[a] - 1) * u);
      below_[a] += u <= 0 ? w : 0.0;
      if (a == 0 || q[a] >= q[a - 1]) continue;
      crossed_ += w;
      crossing_ += w * (q[a - 1] - q[a]);
    }
    inside_ += q.front() <= y && y <= q.back() ? w : 0.0;
  }

  void finish(Scores& scores) const {
    scores.levels = levels_;
    for (const double v : pinball_) scores.pinball.push_back(v / weight_);
    for (const double v : below_) scores.below.push_back(v / weight_);
    scores.inside = inside_ / weight_;
    if (levels_.size() > 1) scores.crossed = crossed_ / (weight_ * static_cast<double>(levels_.size() - 1));
    if (crossed_ > 0) scores.crossing = crossing_ / crossed_;
  }

 private:
  std::vector<double> levels_, pinball_, below_;
  double weight_ = 0;
  double inside_ = 0;
  double crossed_ = 0;
  double crossing_ = 0;
};

/// How often conformal intervals hold the target, and how wide they are (weights count).
class IntervalTally {
 public:
  explicit IntervalTally(const Model& model)
      : model_(model), inside_(at(model.interval_outputs()), 0.0), width_(at(model.interval_outputs()), 0.0) {}

  void add(const RowBlock& block) {
    Matrix<double> lower(block.rows(), model_.interval_outputs());
    Matrix<double> upper(block.rows(), model_.interval_outputs());
    model_.predict_interval(block.inputs, lower, upper);
    for (Index i = 0; i < block.rows(); ++i) {
      const double w = block.weights.empty() ? 1.0 : block.weights[at(i)];
      weight_ += w;
      for (Index a = 0; a < lower.cols(); ++a) {
        const double y = block.targets(i, a);
        inside_[at(a)] += lower(i, a) <= y && y <= upper(i, a) ? w : 0.0;
        width_[at(a)] += w * (upper(i, a) - lower(i, a));
      }
    }
  }

  void finish(Scores& scores) const {
    scores.interval_level = model_.summary().interval_level;
    scores.interval_names = model_.state().recipe.schema.targets;
    for (const double v : inside_) scores.coverage.push_back(v / weight_);
    for (const double v : width_) scores.width.push_back(v / weight_);
  }

 private:
  const Model& model_;
  std::vector<double> inside_, width_;
  double weight_ = 0;
};

/// How the Gaussian bands of a process fare on rows.
class DensityTally {
 public:
  explicit DensityTally(const Model& model) : model_(model), density_(at(model.outputs())), inside_(at(model.outputs())) {}

  void add(const RowBlock& block) {
    constexpr double ninety = 1.6448536269514722;  // quantile of N(0, 1) at 0.95
    Matrix<double> mean(block.rows(), model_.outputs());
    Matrix<double> deviation(block.rows(), model_.outputs());
    model_.predict(block.inputs, mean, deviation);
    for (Index i = 0; i < block.rows(); ++i) {
      const double w = block.weights.empty() ? 1.0 : block.weights[at(i)];
      weight_ += w;
      for (Index a = 0; a < mean.cols(); ++a) {
        const double z = (block.targets(i, a) - mean(i, a)) / deviation(i, a);
        density_[at(a)] -= w * (z * z / 2 + std::log(deviation(i, a)) + std::log(2 * std::acos(-1.0)) / 2);
        inside_[at(a)] += std::abs(z) <= ninety ? w : 0;
      }
    }
  }

  void finish(Scores& scores) const {
    for (const double d : density_) scores.log_density.push_back(d / weight_);
    for (const double i : inside_) scores.band_coverage.push_back(i / weight_);
  }

 private:
  const Model& model_;
  std::vector<double> density_, inside_;
  double weight_ = 0;
};

}  // namespace

Scores score_rows(const Model& model, RowSource& rows, Progress* progress) {
  constexpr Index block_rows = 4096;
  const bool classify = !model.classes().empty();
  const Index p = classify ? 1 : model.outputs();
  const auto& recipe = model.state().recipe;
  std::vector<double> weight(at(p)), mean(at(p)), square(at(p)), error(at(p)), absolute(at(p)), baseline(at(p));
  Scores scores;
  scores.confusion.assign(model.classes().size(), std::vector<double>(model.classes().size(), 0.0));
  const bool is_quantile = !recipe.levels.empty() && recipe.loss.starts_with("pinball");
  QuantileTally quantiles(recipe.levels);
  IntervalTally intervals(model);
  DensityTally densities(model);
  const bool is_process = !model.summary().process.empty();
  double correct = 0;
  RowBlock block;
  rows.rewind();
  while (rows.next(block_rows, block)) {
    report(progress, "scoring",
           static_cast<double>(block.first_row) / static_cast<double>(std::max<Index>(1, rows.row_count())));
    Matrix<double> prediction(block.rows(), model.outputs());
    model.predict(block.inputs, prediction);
    if (model.has_intervals()) intervals.add(block);
    if (is_process) densities.add(block);
    for (Index i = 0; i < block.rows(); ++i) {
      const double w = block.weights.empty() ? 1.0 : block.weights[at(i)];
      scores.rows += 1;
      if (classify) {
        const auto truth = static_cast<std::size_t>(block.targets(i, 0));
        const auto best = static_cast<std::size_t>(std::ranges::max_element(prediction.row(i)) - prediction.row(i).begin());
        scores.confusion[truth][best] += w;
        correct += truth == best ? w : 0;
        weight[0] += w;
        continue;
      }
      if (w > 0 && is_quantile) quantiles.add(w, block.targets(i, 0), prediction.row(i));
      for (Index a = 0; a < p && w > 0; ++a) {
        const double y = block.targets(i, static_cast<Index>(recipe.target_of(a)));
        const double r = prediction(i, a) - y;
        if (!std::isfinite(r * r)) {
          fail_argument(rows.name_of(RowPart::target, static_cast<Index>(recipe.target_of(a))) + " in " +
                        rows.place_of(block.first_row + i) + " is " + shortest(y) + ", too far from the prediction (" +
                        brief(prediction(i, a)) + ") to be squared: leave the row out");
        }
        weight[at(a)] += w;
        const double delta = y - mean[at(a)];
        mean[at(a)] += w / weight[at(a)] * delta;
        square[at(a)] += w * delta * (y - mean[at(a)]);
        error[at(a)] += w * r * r;
        absolute[at(a)] += w * std::abs(r);
        baseline[at(a)] += w * std::pow(y - recipe.target_mean[recipe.target_of(a)], 2);
      }
    }
  }
  if (scores.rows == 0 || !(weight[0] > 0)) fail_argument("there are no rows to score");
  if (classify) {
    scores.accuracy = correct / weight[0];
    return scores;
  }
  scores.names = recipe.output_names();
  if (is_quantile) quantiles.finish(scores);
  if (model.has_intervals()) intervals.finish(scores);
  if (is_process) densities.finish(scores);
  for (Index a = 0; a < p; ++a) {
    scores.rmse.push_back(std::sqrt(error[at(a)] / weight[at(a)]));
    scores.mae.push_back(absolute[at(a)] / weight[at(a)]);
    scores.rrmse.push_back(baseline[at(a)] > 0 ? std::sqrt(error[at(a)] / baseline[at(a)]) : 0.0);
    scores.arrmse += scores.rrmse.back() / static_cast<double>(p);
    scores.r2 += (square[at(a)] > 0 ? 1 - error[at(a)] / square[at(a)] : 0.0) / static_cast<double>(p);
  }
  return scores;
}

nlohmann::json to_json(const Scores& s, const std::vector<std::string>& classes) {
  nlohmann::json j = {{"n", s.rows}};
  if (!classes.empty()) {
    j["accuracy"] = s.accuracy;
    j["error_percent"] = 100 * (1 - s.accuracy);
    j["classes"] = classes;
    j["confusion"] = s.confusion;
    return j;
  }
  j["targets"] = s.names;
  j["rmse"] = s.rmse;
  if (!s.log_density.empty()) {
    j["log_density"] = s.log_density;
    j["band_coverage"] = s.band_coverage;
  }
  j["rrmse"] = s.rrmse;
  j["mae"] = s.mae;
  j["arrmse"] = s.arrmse;
  j["r2"] = s.r2;
  if (s.interval_level) {
    j["interval_level"] = *s.interval_level;
    j["interval_coverage"] = s.coverage;
    j["interval_width"] = s.width;
  }
  if (!s.levels.empty()) {
    j["levels"] = s.levels;
    j["pinball"] = s.pinball;
    j["below"] = s.below;
    if (s.levels.size() < 2) return j;  // nothing lies between one quantile and itself
    j["inside"] = s.inside;
    j["crossed_share"] = s.crossed;
    j["crossing_mean"] = s.crossing;
  }
  return j;
}

namespace {

std::string interval_text(const Scores& s) {
  std::string out;
  for (std::size_t a = 0; a < s.coverage.size(); ++a) {
    out += "\n" + s.interval_names[a] + ": " + brief(100 * s.coverage[a]) + " % of rows inside the intervals of level " +
           brief(100 * *s.interval_level) + " %, which are " + brief(s.width[a]) + " wide in the mean";
  }
  return out;
}

}  // namespace

std::string to_text(const Scores& s, const std::vector<std::string>& classes) {
  constexpr std::size_t widest_confusion = 20;
  if (!classes.empty()) {
    std::string out = "accuracy " + brief(100 * s.accuracy) + " % on " + counted(s.rows, "row");
    if (classes.size() > widest_confusion) return out;
    std::vector<std::string> header = {"truth \\ predicted"};
    header.insert(header.end(), classes.begin(), classes.end());
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      rows.push_back({classes[i]});
      for (const double v : s.confusion[i]) rows.back().push_back(brief(v));
    }
    return out + "\n" + table(header, rows);
  }
  std::vector<std::vector<std::string>> rows;
  if (!s.levels.empty()) {
    for (std::size_t a = 0; a < s.names.size(); ++a)
      rows.push_back({s.names[a], brief(s.pinball[a]), brief(100 * s.below[a]) + " %", brief(100 * s.levels[a]) + " %"});
    const std::string together = s.levels.size() < 2
                                     ? ""
                                     : brief(100 * s.inside) + " % of targets between the lowest and the highest, " +
                                           brief(100 * s.crossed) + " % of neighbouring pairs cross" +
                                           (s.crossed > 0 ? " (by " + brief(s.crossing) + " in the mean)" : "") + ", ";
    return table({"quantile", "pinball loss", "targets below", "should be"}, rows) + "\n" + together + "on " +
           counted(s.rows, "row") + interval_text(s);
  }
  std::vector<std::string> header = {"target", "RMSE", "MAE", "RRMSE"};
  for (std::size_t a = 0; a < s.names.size(); ++a) {
    rows.push_back({s.names[a], brief(s.rmse[a]), brief(s.mae[a]), brief(s.rrmse[a])});
    if (s.log_density.empty()) continue;
    rows.back().push_back(brief(s.log_density[a]));
    rows.back().push_back(brief(100 * s.band_coverage[a]) + " %");
  }
  if (!s.log_density.empty()) header.insert(header.end(), {"log density", "within 90 % bands"});
  return table(header, rows) + "\nR² " + brief(s.r2) + ", mean RRMSE " + brief(s.arrmse) + ", on " + counted(s.rows, "row") +
         " (RRMSE 1 is the training mean as prediction)" + interval_text(s);
}

void require_targets(const Dataset& data, const Arguments& a) {
  constexpr std::size_t shown = 8;
  if (data.has_targets()) return;
  std::vector<std::string> names;
  for (const auto& column : data.schema().inputs) names.push_back(mercer::quoted(column.name));
  const std::size_t count = names.size();
  names.resize(std::min(count, shown));
  fail_argument("which column is to be learned? Name it with --target; " + a.files.front() + " has " + join(names, ", ") +
                (count > shown ? ", … (" + std::to_string(count) + " in all)" : ""));
}

void check_output(const Arguments& a) {
  const std::string path = a.text("output");
  if (!a.has("output")) return;
  if (path == "-") fail_argument("-o - is for tables on standard output; give this file a name");
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  const bool special = kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular &&
                       kind != std::filesystem::file_type::directory;
  if (!special) const AtomicFile probe(path);  // a FIFO is opened once only
}

void warn_about_backend(const Console& console) {
  const std::string warning = backend_info().warning;
  if (!warning.empty()) console.say("warning: " + warning);
}

}  // namespace mercer::cli
