// A model's way of reading files, and the settings it was fitted with: what a report needs of a model that came from the
// command line.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.hpp"
#include "bindings.hpp"
#include "io/dataset.hpp"
#include "model/state.hpp"

namespace mercer::python {
namespace {

constexpr Index block_rows = 8192;
constexpr Index kept_bytes = 500'000'000;  ///< files beyond this are parsed on each of the two passes

struct Table {
  Matrix<double> inputs;
  Matrix<double> targets;
  std::vector<double> weights;
};

Table read_rows(const std::string& path, const Schema& schema) {
  DatasetOptions options;
  options.like = &schema;
  options.missing = Missing::keep;
  options.memory_bytes = kept_bytes;
  const auto data = open_dataset({path}, options);
  RowBlock block;
  Index count = data->row_count();
  if (count < 0) {
    for (count = 0; data->next(block_rows, block);) count += block.rows();
    data->rewind();
  }
  Table table{Matrix<double>(count, data->input_count()), Matrix<double>(count, data->target_count()), {}};
  while (data->next(block_rows, block)) {
    for (Index i = 0; i < block.rows(); ++i) {
      std::ranges::copy(block.inputs.row(i), table.inputs.row(block.first_row + i).begin());
      std::ranges::copy(block.targets.row(i), table.targets.row(block.first_row + i).begin());
    }
    table.weights.insert(table.weights.end(), block.weights.begin(), block.weights.end());
  }
  return table;
}

nb::tuple read_table(const Model& model, const std::string& path) {
  Table table;
  {
    const nb::gil_scoped_release free;
    table = read_rows(path, model.state().recipe.schema);
  }
  const bool weighted = !table.weights.empty();
  return nb::make_tuple(to_numpy(std::move(table.inputs)), to_numpy(std::move(table.targets)),
                        weighted ? nb::cast(to_numpy(std::move(table.weights))) : nb::none());
}

/// The form of a process' mean; "" for models that are none.
const char* mean_form(const Model::State& s) {
  if (s.summary.process.empty()) return "";
  const Index rows =
      s.spectral.empty() ? s.kernel_processes.front().parts().mean.rows() : s.spectral.front().parameters.mean.rows();
  return rows == 0 ? "none" : rows == 1 ? "constant" : "linear";
}

nb::dict settings(const Model& model) {
  const Model::State& s = model.state();
  const Recipe& r = s.recipe;
  const auto plain = [](const std::vector<double>& shift, const std::vector<double>& scale) {
    return std::ranges::all_of(shift, [](double v) { return v == 0; }) &&
           std::ranges::all_of(scale, [](double v) { return v == 1; });
  };
  std::vector<std::string> columns;
  std::vector<std::string> dates;
  bool one_hot = false;
  for (const InputColumn& input : r.schema.inputs) {
    columns.push_back(input.name);
    dates.push_back(to_string(input.dates));
    one_hot = one_hot || !input.categories.empty();
  }
  nb::dict parts;
  parts["columns"] = columns;
  parts["dates"] = dates;
  parts["one_hot"] = one_hot;
  parts["weights"] = r.schema.weights;
  parts["seed"] = r.seed();
  parts["intercept"] = r.intercept;
  parts["non_crossing"] = r.non_crossing;
  parts["standardize"] = !plain(r.scaling.input_shift, r.scaling.input_scale);
  parts["mean"] = mean_form(s);
  parts["parts"] = std::max<std::size_t>(s.spectral.size(), 1);
  return parts;
}

}  // namespace

void bind_table(nb::module_& module) {
  module.def("read_table", &read_table, nb::arg("model"), nb::arg("path"),
             "Inputs, targets (class numbers for classes) and weights or None of a file, by the columns of a model; NaN "
             "where a cell is missing.");
  module.def("settings", &settings, nb::arg("model"), "What a model was fitted with, beyond its summary.");
}

}  // namespace mercer::python
