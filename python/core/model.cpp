// Fitted models: predictions in all their forms, files, and what is inside.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <mercer/model.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "arrays.hpp"
#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/timeline.hpp"
#include "bindings.hpp"
#include "job.hpp"
#include "model/recipe_json.hpp"
#include "model/state.hpp"
#include "spelling.hpp"

namespace mercer::python {
namespace {

/// Rows widened and predicted at a time.
constexpr Index block_rows = 8192;
/// Work below so many numbers (rows × features) is done on the spot: starting a job costs as much.
constexpr Index small_work = 1 << 22;

/// use(x, first) over blocks of rows as doubles.
template <class Use>
void for_blocks(const Numbers& x, const Use& use) {
  Matrix<double> wide;
  for (Index first = 0; first < row_count(x); first += block_rows) {
    const Index count = std::min(block_rows, row_count(x) - first);
    use(rows_of(x, first, count, wide), first);
  }
}

bool is_small(const Model& model, const Numbers& x) {
  return row_count(x) * std::max<Index>(1, model.summary().features) < small_work;
}

/// Runs `compute(x, outs…)`, where outs are the same rows of freshly made rows × columns matrices.
template <std::size_t Count, class Compute>
std::array<Matrix<double>, Count> by_blocks(const Model& model, const Numbers& x, Index columns, const Compute& compute) {
  const auto out = std::make_shared<std::array<Matrix<double>, Count>>();
  for (Matrix<double>& m : *out) m = Matrix<double>(row_count(x), columns);
  const auto work = [model, x, out, compute](Progress* /*unused*/) {
    for_blocks(x, [&](ConstMatrix block, Index first) {
      std::array<MutMatrix, Count> parts;
      for (std::size_t k = 0; k < Count; ++k) parts[k] = (*out)[k].view().row_range(first, block.rows);
      compute(model, block, parts);
    });
  };
  if (is_small(model, x)) {
    const nb::gil_scoped_release free;
    work(nullptr);
  } else {
    run(nb::none(), work);
  }
  return std::move(*out);
}

Array predict(const Model& model, const Numbers& x) {
  auto [mean] = by_blocks<1>(model, x, model.outputs(),
                             [](const Model& m, ConstMatrix block, auto& out) { m.predict(block, out[0]); });
  return to_numpy(std::move(mean));
}

std::pair<Array, Array> predict_std(const Model& model, const Numbers& x, bool latent) {
  auto [mean, deviation] = by_blocks<2>(model, x, model.outputs(), [latent](const Model& m, ConstMatrix block, auto& out) {
    m.predict(block, out[0], out[1], latent);
  });
  return {to_numpy(std::move(mean)), to_numpy(std::move(deviation))};
}

std::pair<Array, Array> predict_interval(const Model& model, const Numbers& x) {
  auto [lower, upper] = by_blocks<2>(model, x, model.interval_outputs(), [](const Model& m, ConstMatrix block, auto& out) {
    m.predict_interval(block, out[0], out[1]);
  });
  return {to_numpy(std::move(lower)), to_numpy(std::move(upper))};
}

/// outputs × rows × rows.
Array covariance(const Model& model, const Numbers& x, bool latent) {
  const Index n = row_count(x);
  const Index p = model.outputs();
  const auto out = std::make_shared<Matrix<double>>(checked_product(p, n), n);
  run(nb::none(), [model, x, latent, out, n, p](Progress* /*unused*/) {
    Matrix<double> wide;
    const ConstMatrix rows = rows_of(x, 0, n, wide);
    for (Index a = 0; a < p; ++a) model.covariance(rows, a, out->view().row_range(a * n, n), latent);
  });
  const auto rows = static_cast<std::size_t>(n);
  return to_numpy(std::move(*out), {static_cast<std::size_t>(p), rows, rows});
}

/// count × rows × outputs.
Array sample(const Model& model, const Numbers& x, Index count, std::uint64_t seed) {
  const Index n = row_count(x);
  const Index p = model.outputs();
  const auto drawn = std::make_shared<Matrix<double>>(n, count * p);
  run(nb::none(), [model, x, count, seed, drawn, n](Progress* /*unused*/) {
    Matrix<double> wide;
    model.sample(rows_of(x, 0, n, wide), count, seed, *drawn);
  });
  Matrix<double> out(count * n, p);
  for (Index s = 0; s < count; ++s) {
    for (Index i = 0; i < n; ++i)
      std::ranges::copy(drawn->row(i).subspan(static_cast<std::size_t>(s * p), static_cast<std::size_t>(p)),
                        out.row(s * n + i).begin());
  }
  return to_numpy(std::move(out),
                  {static_cast<std::size_t>(count), static_cast<std::size_t>(n), static_cast<std::size_t>(p)});
}

const FeatureMap& map_of(const Model& model) {
  if (!model.state().map) fail_argument("this model has no feature map");
  return *model.state().map;
}

/// φ(x), rows × columns, inputs scaled as the model scales them.
Array features(const Model& model, const Numbers& x) {
  if (column_count(x) != model.inputs())
    fail_argument("the map takes " + std::to_string(model.inputs()) + " inputs but the rows have " +
                  std::to_string(column_count(x)));
  auto [phi] = by_blocks<1>(model, x, map_of(model).columns(), [](const Model& m, ConstMatrix block, auto& out) {
    const Scaling& scaling = m.state().recipe.scaling;
    Matrix<double> scaled(block.rows, block.cols);
    for (Index i = 0; i < block.rows; ++i) {
      for (Index k = 0; k < block.cols; ++k) {
        const auto at = static_cast<std::size_t>(k);
        scaled(i, k) = (block(i, k) - scaling.input_shift[at]) / scaling.input_scale[at];
      }
    }
    m.state().map->features(scaled, out[0]);
    for (Index i = 0; i < block.rows; ++i) {
      if (!std::ranges::all_of(block.row(i), [](double v) { return std::isfinite(v); }))
        std::ranges::fill(out[0].row(i), std::numeric_limits<double>::quiet_NaN());
    }
  });
  return to_numpy(std::move(phi));
}

/// W = expand(θ), columns × outputs.
Array expand(const Model& model, const Weights& theta) {
  const Coupling& coupling = map_of(model).coupling();
  if (static_cast<Index>(theta.shape(0)) != coupling.parameters())
    fail_argument("the map has " + std::to_string(coupling.parameters()) + " parameters, got " +
                  std::to_string(theta.shape(0)));
  Matrix<double> w(coupling.columns(), coupling.outputs());
  coupling.expand(std::span(theta.data(), theta.shape(0)), w);
  return to_numpy(std::move(w));
}

/// θ = contract(V), the adjoint of expand.
Array contract(const Model& model, const Numbers& v) {
  const Coupling& coupling = map_of(model).coupling();
  if (row_count(v) != coupling.columns() || column_count(v) != coupling.outputs())
    fail_argument("contract takes columns × outputs numbers");
  std::vector<double> theta(static_cast<std::size_t>(coupling.parameters()));
  Matrix<double> wide;
  coupling.contract(rows_of(v, 0, row_count(v), wide), theta);
  return to_numpy(std::move(theta));
}

nb::list spectrum(const Model& model, Index output) {
  nb::list components;
  for (const SpectralComponent& c : model.spectrum(output)) {
    nb::dict line;
    line["weight"] = c.weight;
    line["weight_error"] = c.weight_error;
    line["frequency"] = c.frequency;
    line["spread"] = c.spread;
    components.append(line);
  }
  return components;
}

nb::dict training(const Model& model, Index output) {
  std::vector<double> iteration, seconds, nlml, objective, rmse, mnll;
  for (const TrainingStep& step : model.training(output)) {
    iteration.push_back(step.iteration);
    seconds.push_back(step.seconds);
    nlml.push_back(step.nlml);
    objective.push_back(step.objective);
    rmse.push_back(step.rmse);
    mnll.push_back(step.mnll);
  }
  nb::dict columns;
  columns["iteration"] = to_numpy(std::move(iteration));
  columns["seconds"] = to_numpy(std::move(seconds));
  columns["nlml"] = to_numpy(std::move(nlml));
  columns["objective"] = to_numpy(std::move(objective));
  columns["rmse"] = to_numpy(std::move(rmse));
  columns["mnll"] = to_numpy(std::move(mnll));
  return columns;
}

/// When rows of a series come after the last one; days since 1970-01-01 where inputs are dates.
Array future(const Model& model, Index steps) {
  const auto& timeline = model.state().recipe.timeline;
  if (!timeline) fail_argument("a horizon needs a model of one input, time");
  return to_numpy(horizon(*timeline, steps));
}

nb::dict columns(const Model& model) {
  const Schema& schema = model.state().recipe.schema;
  nb::dict names;
  names["inputs"] = schema.input_names();
  names["targets"] = schema.targets;
  names["outputs"] = model.classes().empty() ? model.state().recipe.output_names() : model.classes();
  names["dates"] = schema.inputs.size() == 1 && counts_days(schema.inputs.front().dates)  // decimal years are numbers
                       ? nb::object(nb::cast(to_string(schema.inputs.front().dates)))
                       : nb::none();
  return names;
}

nb::dict scaling(const Model& model) {
  const Scaling& s = model.state().recipe.scaling;
  nb::dict parts;
  parts["input_shift"] = to_numpy(std::vector<double>(s.input_shift));
  parts["input_scale"] = to_numpy(std::vector<double>(s.input_scale));
  parts["target_shift"] = to_numpy(std::vector<double>(s.target_shift));
  parts["target_scale"] = to_numpy(std::vector<double>(s.target_scale));
  return parts;
}

std::string summary_json(const Model& model) {
  FitSummary summary = model.summary();
  for (std::string& note : summary.notes) note = in_python(note);
  return to_json(summary).dump();
}

nb::bytes to_bytes(const Model& model) {
  const std::vector<std::byte> bytes = model.to_bytes();
  return nb::bytes(bytes.data(), bytes.size());
}

Model from_bytes(const nb::bytes& bytes) {
  return Model::from_bytes(std::span(static_cast<const std::byte*>(bytes.data()), bytes.size()));
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<Model>(module, "Model", "A fitted function. Immutable; safe to share between threads.")
      .def_prop_ro("inputs", &Model::inputs)
      .def_prop_ro("outputs", &Model::outputs)
      .def_prop_ro("classes", &Model::classes)
      .def_prop_ro("has_uncertainty", &Model::has_uncertainty)
      .def_prop_ro("has_intervals", &Model::has_intervals)
      .def_prop_ro(
          "levels", [](const Model& m) { return m.state().recipe.levels; }, "Quantile levels, ascending.")
      .def_prop_ro(
          "noise", [](const Model& m) { return m.state().noise; }, "σ² of each output, in scaled units.")
      .def("summary_json", &summary_json, "What happened in the fit, as JSON.")
      .def("columns", &columns, "Names of inputs, targets and outputs, and how the one input writes dates.")
      .def("scaling", &scaling, "Shifts and scales of inputs and targets.")
      .def("predict", &predict, nb::arg("x"), "Rows × outputs. NaN in a row gives NaN.")
      .def("predict_std", &predict_std, nb::arg("x"), nb::arg("latent") = false,
           "Mean and standard deviation of a new observation, or of the function alone.")
      .def("covariance", &covariance, nb::arg("x"), nb::arg("latent") = false,
           "Covariance of new observations, or of the function alone: outputs × rows × rows.")
      .def("predict_interval", &predict_interval, nb::arg("x"), "Lower and upper ends of conformal intervals.")
      .def("sample", &sample, nb::arg("x"), nb::arg("count"), nb::arg("seed"),
           "Functions drawn from the posterior: count × rows × outputs.")
      .def("features", &features, nb::arg("x"), "The scalar features of rows.")
      .def("expand", &expand, nb::arg("theta"), "Weights (columns × outputs) of parameters θ: row c is B_c θ_c.")
      .def("contract", &contract, nb::arg("v"), "The adjoint of expand.")
      .def("spectrum", &spectrum, nb::arg("output") = 0, "Components of the learned spectrum, heaviest first.")
      .def("training", &training, nb::arg("output") = 0, "The training trace, a column each.")
      .def("future", &future, nb::arg("steps"), "The times of the next rows of a series.")
      .def("save", &Model::save, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>(), "Writes a .mercer file.")
      .def_static("load", &Model::load, nb::arg("path"), nb::call_guard<nb::gil_scoped_release>(), "Reads a .mercer file.")
      .def("to_bytes", &to_bytes, "The file in memory.")
      .def_static("from_bytes", &from_bytes, nb::arg("data"), "What to_bytes gave.")
      .def("__getstate__", &to_bytes)
      .def("__setstate__", [](Model& model, const nb::bytes& bytes) { new (&model) Model(from_bytes(bytes)); });
}

}  // namespace mercer::python
