// Ridge from statistics that grow block by block: partial_fit.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "bindings.hpp"
#include "job.hpp"
#include "model/fit.hpp"
#include "model/statistics_file.hpp"
#include "options.hpp"
#include "rows.hpp"

namespace mercer::python {
namespace {

/// Statistics with the recipe they are made by, which the first block settles.
class Statistics {
 public:
  Statistics(const Numbers& x, const Numbers& y, const std::optional<Weights>& weights, const nb::dict& keywords)
      : options_(fit_options(keywords)) {
    NumpyRows rows(x, y, weights);
    const Names names = names_of(keywords);
    const nb::gil_scoped_release free;
    if (options_.map == "auto") options_.map = chosen_features(options_, rows.row_count());
    recipe_ = prepare(rows, options_);
    for (std::size_t k = 0; k < names.inputs.size(); ++k) recipe_.schema.inputs[k].name = names.inputs[k];
    statistics_ = accumulate_recipe(rows, recipe_, nullptr);
    statistics_.blocks.clear();
  }

  void update(const Numbers& x, const Numbers& y, const std::optional<Weights>& weights) {
    NumpyRows rows(x, y, weights);
    const nb::gil_scoped_release free;
    RidgeStatistics more = accumulate_recipe(rows, recipe_, nullptr);
    more.blocks.clear();  // the same rows twice are what somebody asked for
    merge(statistics_, more);
  }

  Model solve(const nb::object& progress) const {
    const auto result = std::make_shared<std::optional<Model>>();
    run(progress, [copy = *this, result](Progress* heard) mutable {
      copy.options_.progress = heard;
      result->emplace(solve_statistics(copy.recipe_, copy.statistics_, copy.options_));
    });
    return std::move(**result);
  }

  void save(const std::string& path) const { save_statistics(path, recipe_, statistics_); }
  static Statistics load(const std::string& path, const nb::dict& keywords) {
    StatisticsFile file = load_statistics(path);
    Statistics loaded;
    loaded.options_ = fit_options(keywords);
    loaded.recipe_ = std::move(file.recipe);
    loaded.statistics_ = std::move(file.statistics);
    return loaded;
  }
  Index rows() const { return statistics_.rows; }

 private:
  Statistics() = default;

  FitOptions options_;
  Recipe recipe_;
  RidgeStatistics statistics_;
};

}  // namespace

void bind_statistics(nb::module_& module) {
  nb::class_<Statistics>(module, "Statistics", "Sums over rows from which ridge is solved; rows can be added for ever.")
      .def(nb::init<const Numbers&, const Numbers&, const std::optional<Weights>&, const nb::dict&>(), nb::arg("x"),
           nb::arg("y"), nb::arg("weights").none(), nb::arg("options"),
           "From a first block, which also settles scales and length scales.")
      .def("update", &Statistics::update, nb::arg("x"), nb::arg("y"), nb::arg("weights").none(), "Adds a block of rows.")
      .def("solve", &Statistics::solve, nb::arg("progress").none(), "The model of all rows so far.")
      .def("save", &Statistics::save, nb::arg("path"), "Writes a .stats file for `mercer merge` and `mercer solve`.")
      .def_static("load", &Statistics::load, nb::arg("path"), nb::arg("options"), "Reads a .stats file.")
      .def_prop_ro("rows", &Statistics::rows);
}

}  // namespace mercer::python
