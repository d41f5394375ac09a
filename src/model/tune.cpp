#include "model/tune.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "io/checksum.hpp"
#include "kernel/length_scale.hpp"
#include "kernel/resolve.hpp"
#include "loss/make_loss.hpp"
#include "model/fit_loss.hpp"
#include "model/metric.hpp"
#include "model/recipe.hpp"
#include "model/tune_fold.hpp"
#include "model/tune_results.hpp"

namespace mercer {
namespace {

/// A kernel and a map, with the losses to try on them.
struct Candidate {
  std::string kernel;
  std::string map;
  std::vector<std::string> losses;
};

void check_positive(const std::vector<double>& values, const std::string& option, bool zero_allowed = false) {
  for (const double v : values) {
    if (!std::isfinite(v) || v < 0 || (v == 0 && !zero_allowed))
      fail_argument(option + ": " + shortest(v) + " is not a " +
                    (zero_allowed ? "number of at least 0" : "positive number"));
  }
}

void check(const FitOptions& options, const TuneOptions& search) {
  if (options.loss != "square" || !options.quantiles.empty())
    check_certified(options.quantiles.empty() ? options.loss : "pinball", options);
  check_positive(search.length_factors, "--length-factors");
  check_positive(search.penalties, "--penalties");
  check_positive(search.loss_parameters, "--loss-parameters", true);
  if (search.length_factors.empty()) fail_argument("--length-factors needs at least one number");
  if (search.trials < 0) fail_argument("--trials must be a whole number of at least 1");
  if (options.penalty && !search.penalties.empty())
    fail_argument("--penalty says which one, --penalties which ones to try; give one of them");
  if (options.penalty && !(*options.penalty > 0)) fail_argument("a search needs a penalty above 0");
  if (search.metric == "loss" && search.loss_parameters.size() > 1) {
    fail_argument(
        "losses of different parameters cannot be compared by the loss itself; take --metric mae, or one parameter");
  }
}

/// Largest first, as warm starts want them. Square loss: every penalty costs next to nothing. Others: one decade apart.
std::vector<double> penalty_list(const FitOptions& options, const TuneOptions& search, bool square) {
  std::vector<double> list = search.penalties;
  if (options.penalty) list = {*options.penalty};
  if (list.empty()) {
    for (int k = square ? 1 : 0; k >= (square ? -10 : -9); --k) {
      list.push_back(std::pow(10.0, k));
      if (square && k > -10) list.push_back(0.3 * std::pow(10.0, k));
    }
  }
  std::ranges::sort(list, std::greater<>());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

std::string map_of_size(const std::string& text, Index size) {
  Recipe recipe;
  parse_map(text, recipe);
  if (recipe.exact()) fail_argument("--map exact has no size to search; leave --sizes out");
  (recipe.map == MapKind::fourier ? recipe.fourier.frequencies : recipe.sketch.size) = size;
  std::string sized = recipe.map_text();
  parse_map(sized, recipe);  // refuses sizes that are none
  return sized;
}

/// "huber:1.35,coordinates" with another number.
std::string loss_with(const std::string& text, double parameter) {
  const std::string name = text.substr(0, text.find(':'));
  if (name != "huber" && name != "epsilon" && name != "epsilon2")
    fail_argument("--loss-parameters are of huber, epsilon and epsilon2; " + mercer::quoted(text) + " has none to search");
  const bool coordinates = text.ends_with("coordinates");
  return make_loss(name + ":" + shortest(parameter) + (coordinates ? ",coordinates" : ""), 1)->text();
}

/// Log-uniform between the ends of a list, to three digits.
double draw(const std::vector<double>& ends, double u) {
  const auto [least, most] = std::ranges::minmax(ends);
  if (!(least > 0) || least == most) return least + u * (most - least);
  const double value = least * std::pow(most / least, u);
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  return std::clamp(std::round(value / unit) * unit, least, most);
}

/// Texts of the pieces that candidates are made of.
class Pieces {
 public:
  /// What has sizes to search is no exact map.
  Pieces(RowSource& rows, const FitOptions& options, bool sized)
      : options_(options), kernel_(parse_kernel(options.kernel)), map_(options.map) {
    if (map_ == "auto") {
      const Index n = count_rows(rows);
      map_ = sized ? chosen_features(options, n) : chosen_map(options, n, rows.target_count());
    }
    if (!needs_median(kernel_)) return;
    const RowSummary summary = summarize(rows, options.progress);
    const bool classify = !options.classes.empty();
    const Scaling scaling = options.standardize ? standardizing(summary, is_vector_field(kernel_), !classify)
                                                : Scaling::identity(rows.input_count(), classify ? 0 : rows.target_count());
    median_ = median_distance(summary, scaling);
  }
  bool has_length_scales() const { return mercer::has_length_scales(kernel_); }
  std::string kernel(double factor) const { return to_string(with_length_scales(kernel_, median_, factor)); }
  std::string map(std::optional<double> size) const {
    return size ? map_of_size(map_, static_cast<Index>(std::llround(*size))) : map_;
  }
  std::string loss(std::optional<double> parameter) const {
    if (parameter) return loss_with(options_.loss, *parameter);
    return options_.quantiles.empty() ? options_.loss : "pinball";
  }

 private:
  const FitOptions& options_;
  OperatorKernel kernel_;
  std::string map_;
  double median_ = 1;
};

std::vector<std::optional<double>> or_none(const std::vector<double>& values) {
  if (values.empty()) return {std::nullopt};
  return {values.begin(), values.end()};
}

std::vector<Candidate> candidates(const Pieces& pieces, const TuneOptions& search, std::uint64_t seed) {
  const std::vector<double> factors = pieces.has_length_scales() ? search.length_factors : std::vector<double>{1};
  const std::vector<double> sizes(search.sizes.begin(), search.sizes.end());
  std::vector<Candidate> result;
  if (search.trials > 0) {
    const Stream random(seed, "tune");
    for (Index k = 0; k < search.trials; ++k) {
      const auto u = [&](std::uint64_t j) { return random.uniform(static_cast<std::uint64_t>(k), j); };
      const auto drawn = [&](const std::vector<double>& ends, std::uint64_t j) {
        return ends.empty() ? std::nullopt : std::optional(draw(ends, u(j)));
      };
      result.push_back({pieces.kernel(draw(factors, u(0))),
                        pieces.map(drawn(sizes, 1)),
                        {pieces.loss(drawn(search.loss_parameters, 2))}});
    }
    return result;
  }
  std::vector<std::string> losses;
  for (const auto& parameter : or_none(search.loss_parameters)) losses.push_back(pieces.loss(parameter));
  for (const auto& size : or_none(sizes)) {
    for (const double factor : factors) result.push_back({pieces.kernel(factor), pieces.map(size), losses});
  }
  return result;
}

/// Names rows and comparison: whatever a score depends on besides kernel, map and loss.
std::string setup_name(RowSource& rows, const FitOptions& o, const TuneOptions& search, const std::vector<double>& penalties,
                       const std::string& metric) {
  Checksum sum;
  std::string text = metric + " " + o.solver + " " + o.precision + " " + std::to_string(o.standardize) +
                     std::to_string(o.intercept) + std::to_string(o.non_crossing) + " " + std::to_string(o.seed) + " " +
                     std::to_string(o.passes) + " " + std::to_string(search.folds.in_order) + " " +
                     (search.folds.holdout ? "h" + shortest(*search.folds.holdout) : std::to_string(search.folds.folds));
  for (const double v : penalties) text += " " + shortest(v);
  for (const double v : o.quantiles) text += " q" + shortest(v);
  for (const std::string& name : o.classes) text += " " + name;
  sum.update(std::as_bytes(std::span(text)));
  RowBlock block;
  rows.rewind();
  while (rows.next(4096, block)) {
    for (Index i = 0; i < block.rows(); ++i) {
      sum.update(std::as_bytes(block.inputs.row(i)));
      sum.update(std::as_bytes(block.targets.row(i)));
    }
    sum.update(std::as_bytes(block.weights));
  }
  return sum.hex().substr(0, 16);
}

/// Mean over folds.
std::vector<TuneRow> summarise(const Candidate& candidate, const std::string& loss, const std::vector<double>& penalties,
                               const std::vector<std::vector<double>>& by_fold) {
  std::vector<TuneRow> rows;
  for (std::size_t k = 0; k < penalties.size(); ++k) {
    TuneRow row{candidate.kernel, candidate.map, loss, penalties[k], 0, std::numeric_limits<double>::quiet_NaN()};
    const auto n = static_cast<double>(by_fold.size());
    double square = 0;
    for (const auto& scores : by_fold) row.score += scores[k] / n;
    for (const auto& scores : by_fold) square += std::pow(scores[k] - row.score, 2);
    if (by_fold.size() > 1) row.spread = std::sqrt(square / (n - 1) / n);
    if (std::isfinite(row.score)) rows.push_back(std::move(row));
  }
  return rows;
}

/// Scores what `results` does not have yet of a candidate: every fold in turn.
std::vector<TuneRow> validate(RowSource& rows, const Folds& folds, const FitOptions& options, const Candidate& candidate,
                              const std::vector<std::string>& losses, const std::vector<double>& penalties,
                              const std::string& metric, const std::function<void(Index)>& tell) {
  FitOptions inner = options;
  inner.kernel = candidate.kernel;
  inner.map = candidate.map;
  std::vector<std::vector<std::vector<double>>> scores(losses.size());  // [loss][fold][penalty]
  for (Index fold = 0; fold < folds.count; ++fold) {
    tell(fold);
    ChosenRows train = folds.training(rows, fold);
    ChosenRows validation = folds.validation(rows, fold);
    auto of_fold = fold_scores(train, validation, inner, losses, penalties, metric);
    for (std::size_t l = 0; l < losses.size(); ++l) scores[l].push_back(std::move(of_fold[l]));
  }
  std::vector<TuneRow> result;
  for (std::size_t l = 0; l < losses.size(); ++l) {
    for (TuneRow& row : summarise(candidate, losses[l], penalties, scores[l])) result.push_back(std::move(row));
  }
  return result;
}

void choose(TuneResult& result, Metric metric, const std::vector<double>& penalties) {
  if (result.rows.empty()) fail_argument("no configuration could be scored: the validation rows have no weight");
  for (std::size_t k = 1; k < result.rows.size(); ++k) {
    if (better(metric, result.rows[k].score, result.rows[result.best].score)) result.best = k;
  }
  const double chosen = result.rows[result.best].penalty;
  if (penalties.size() > 2 && (chosen == penalties.front() || chosen == penalties.back())) {
    result.notes.push_back("the best penalty, " + shortest(chosen) +
                           ", is at the end of those that were tried: give --penalties beyond it");
  }
}

}  // namespace

TuneResult tune(RowSource& rows, const FitOptions& options, const TuneOptions& search) {
  check(options, search);
  const Pieces pieces(rows, options, !search.sizes.empty());
  const std::vector<Candidate> all = candidates(pieces, search, options.seed);
  FitOptions first = options;
  first.loss = all.front().losses.front();
  first.kernel = all.front().kernel;
  const Recipe recipe = prepare(rows, first);
  const Metric metric = parse_metric(search.metric, recipe);
  const bool square = recipe.loss == "square" && options.solver != "admm" && options.solver != "adam";
  const std::vector<double> penalties = penalty_list(options, search, square);
  TuneResult result;
  result.metric = metric_name(metric);
  const Index n = count_rows(rows);
  const Folds folds = make_folds(n, search.folds);
  if (!search.folds.in_order && options.classes.empty()) {
    const double autocorrelation = lag_one(rows);
    if (looks_ordered(autocorrelation, n)) {
      result.notes.push_back("neighbouring rows are alike (lag-1 autocorrelation " +
                             shortest(std::round(autocorrelation * 100) / 100) +
                             "), as if ordered in time: random validation rows flatter such models; use --split time");
    }
  }
  TuneResults results(search.results,
                      search.results.empty() ? "" : setup_name(rows, options, search, penalties, result.metric),
                      result.metric);
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::vector<std::string> missing;
    for (const std::string& loss : all[c].losses) {
      const std::vector<TuneRow> known = results.find(all[c].kernel, all[c].map, loss);
      if (known.empty()) missing.push_back(loss);
      result.reused += known.empty() ? 0 : 1;
      result.rows.insert(result.rows.end(), known.begin(), known.end());
    }
    if (missing.empty()) continue;
    const auto tell = [&](Index fold) {
      const double done = static_cast<double>(c) + static_cast<double>(fold) / static_cast<double>(folds.count);
      report(options.progress, "tuning", done / static_cast<double>(all.size()));
    };
    const std::vector<TuneRow> fresh = validate(rows, folds, options, all[c], missing, penalties, result.metric, tell);
    results.add(fresh);
    result.rows.insert(result.rows.end(), fresh.begin(), fresh.end());
    result.computed += static_cast<Index>(missing.size());
  }
  choose(result, metric, penalties);
  return result;
}

FitOptions tuned(const FitOptions& options, const TuneRow& row) {
  FitOptions best = options;
  best.kernel = row.kernel;
  best.map = row.map;
  best.loss = row.loss;
  best.penalty = row.penalty;
  return best;
}

}  // namespace mercer
