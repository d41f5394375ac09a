// Fitting: from arrays or from blocks of rows, with the names that files will know the columns by.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <mercer/model.hpp>

#include <memory>

#include "base/fail.hpp"
#include "bindings.hpp"
#include "job.hpp"
#include "model/build_map.hpp"
#include "model/conformal.hpp"
#include "model/fit.hpp"
#include "model/recipe.hpp"
#include "model/tune.hpp"
#include "options.hpp"
#include "rows.hpp"
#include "spelling.hpp"

namespace mercer::python {
namespace {

void name_columns(const Names& names, Recipe& recipe) {
  for (std::size_t k = 0; k < names.inputs.size() && k < recipe.schema.inputs.size(); ++k)
    recipe.schema.inputs[k].name = names.inputs[k];
  if (!names.dates.empty() && !parse_date_format(names.dates, recipe.schema.inputs.front().dates))
    fail_argument("unknown kind of dates: " + names.dates);
}

Model fit_named(RowSource& rows, const FitOptions& options, const Names& names) {
  std::unique_ptr<ConformalRows> parts;
  if (options.conformal) parts = std::make_unique<ConformalRows>(rows, options);
  RowSource& train = parts ? static_cast<RowSource&>(parts->train) : rows;
  Recipe recipe = prepare(train, options);
  name_columns(names, recipe);
  set_timeline(rows, recipe);
  return parts ? fit_calibrated(*parts, recipe, options) : fit_recipe(train, recipe, options);
}

/// The features alone: a model whose weights are 0.
Model draw_map(RowSource& rows, const FitOptions& options, const Names& names) {
  auto state = std::make_shared<Model::State>();
  state->recipe = prepare(rows, options);
  name_columns(names, state->recipe);
  if (state->recipe.exact()) fail_argument("an exact kernel has no features; use fourier:D or a sketch");
  state->coding = state->recipe.coding();
  ScaledRows scaled(rows, state->recipe.scaling, state->coding);
  FitSummary& summary = state->summary;
  state->map = build_map(state->recipe, scaled, options, summary.notes);
  const Index p = state->recipe.outputs();
  state->weights = Matrix<double>(state->map->columns(), p);
  state->intercept.assign(static_cast<std::size_t>(p), 0.0);
  state->noise.assign(static_cast<std::size_t>(p), 0.0);
  summary.rows = rows.row_count();
  summary.inputs = state->recipe.inputs();
  summary.outputs = p;
  summary.features = state->map->columns();
  summary.parameters = state->map->coupling().parameters();
  summary.kernel = to_string(state->recipe.kernel);
  summary.map = state->recipe.map_text();
  summary.sampling = state->map->sampling_name();
  return Model(std::move(state));
}

/// `make(rows, options)` as a job; the answer, and whatever the job owns, outlive a KeyboardInterrupt.
template <class Result, class Make>
Result in_background(std::shared_ptr<RowSource> rows, FitOptions options, const nb::object& progress, const Make& make) {
  const auto result = std::make_shared<std::optional<Result>>();
  run(progress, [rows = std::move(rows), options = std::move(options), make, result](Progress* heard) mutable {
    options.progress = heard;
    result->emplace(make(*rows, options));
  });
  return std::move(**result);
}

using MaybeNumbers = std::optional<Numbers>;
using MaybeWeights = std::optional<Weights>;

template <class Rows, class... Parts>
std::shared_ptr<Rows> named_rows(const nb::dict& keywords, const Parts&... parts) {
  auto rows = std::make_shared<Rows>(parts...);
  rows->names = names_of(keywords);
  return rows;
}

Model fit_arrays(const Numbers& x, const MaybeNumbers& y, const MaybeWeights& weights, const nb::dict& keywords,
                 const nb::object& progress) {
  return in_background<Model>(
      named_rows<NumpyRows>(keywords, x, y, weights), fit_options(keywords), progress,
      [names = names_of(keywords)](RowSource& rows, const FitOptions& options) { return fit_named(rows, options, names); });
}

Model fit_blocks(const nb::object& restart, Index inputs, Index targets, Index count, const nb::dict& keywords,
                 const nb::object& progress) {
  return in_background<Model>(
      named_rows<IteratorRows>(keywords, restart, inputs, targets, count), fit_options(keywords), progress,
      [names = names_of(keywords)](RowSource& rows, const FitOptions& options) { return fit_named(rows, options, names); });
}

Model draw_features(const Numbers& x, const MaybeNumbers& y, const MaybeWeights& weights, const nb::dict& keywords,
                    const nb::object& progress) {
  return in_background<Model>(
      named_rows<NumpyRows>(keywords, x, y, weights), fit_options(keywords), progress,
      [names = names_of(keywords)](RowSource& rows, const FitOptions& options) { return draw_map(rows, options, names); });
}

TuneOptions tune_options(const nb::dict& search, std::uint64_t seed) {
  TuneOptions options;
  options.folds.seed = seed;
  for (const auto [key, value] : search) {
    const auto name = nb::cast<std::string>(key);
    if (value.is_none()) continue;
    if (name == "length_factors")
      options.length_factors = nb::cast<std::vector<double>>(value);
    else if (name == "penalties")
      options.penalties = nb::cast<std::vector<double>>(value);
    else if (name == "loss_parameters")
      options.loss_parameters = nb::cast<std::vector<double>>(value);
    else if (name == "sizes")
      options.sizes = nb::cast<std::vector<Index>>(value);
    else if (name == "trials")
      options.trials = nb::cast<Index>(value);
    else if (name == "folds")
      options.folds.folds = nb::cast<Index>(value);
    else if (name == "in_order")
      options.folds.in_order = nb::cast<bool>(value);
    else if (name == "metric")
      options.metric = nb::cast<std::string>(value);
    else
      fail_argument("there is no search option " + name);
  }
  return options;
}

/// A search and the fit of its winner.
struct Tuned {
  TuneResult result;
  Model model;
};

nb::tuple tune_arrays(const Numbers& x, const Numbers& y, const MaybeWeights& weights, const nb::dict& keywords,
                      const nb::dict& search, const nb::object& progress) {
  const FitOptions options = fit_options(keywords);
  Tuned tuned_model = in_background<Tuned>(
      named_rows<NumpyRows>(keywords, x, y, weights), options, progress,
      [names = names_of(keywords), plan = tune_options(search, options.seed)](RowSource& rows, const FitOptions& fitting) {
        TuneResult result = tune(rows, fitting, plan);
        const FitOptions best = tuned(fitting, result.rows[result.best]);
        return Tuned{std::move(result), fit_named(rows, best, names)};
      });
  const TuneResult& result = tuned_model.result;
  nb::list table;
  for (const TuneRow& row : result.rows) {
    nb::dict line;
    line["kernel"] = row.kernel;
    line["map"] = row.map;
    line["loss"] = row.loss;
    line["penalty"] = row.penalty;
    line["score"] = row.score;
    line["spread"] = row.spread;
    table.append(line);
  }
  std::vector<std::string> notes = result.notes;
  for (std::string& note : notes) note = in_python(note);
  return nb::make_tuple(std::move(tuned_model.model), table, result.best, result.metric, notes);
}

}  // namespace

void bind_fit(nb::module_& module) {
  module.def("fit", &fit_arrays, nb::arg("x"), nb::arg("y").none(), nb::arg("weights").none(), nb::arg("options"),
             nb::arg("progress").none(), "Fits a model to rows in memory.");
  module.def("fit_blocks", &fit_blocks, nb::arg("restart"), nb::arg("inputs"), nb::arg("targets"), nb::arg("rows"),
             nb::arg("options"), nb::arg("progress").none(),
             "Fits a model to blocks (x, y, weights or None) of the iterators that restart() gives.");
  module.def("draw_features", &draw_features, nb::arg("x"), nb::arg("y").none(), nb::arg("weights").none(),
             nb::arg("options"), nb::arg("progress").none(), "A feature map for such rows: a model whose weights are 0.");
  module.def("tune", &tune_arrays, nb::arg("x"), nb::arg("y"), nb::arg("weights").none(), nb::arg("options"),
             nb::arg("search"), nb::arg("progress").none(),
             "Cross-validates configurations: the best one's model, all rows, the number of the best, the metric, notes.");
}

}  // namespace mercer::python
