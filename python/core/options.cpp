#include "options.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <functional>
#include <map>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer::python {
namespace {

using Setter = std::function<void(FitOptions&, nb::handle)>;

template <class Field>
Setter set(Field FitOptions::*field) {
  return [field](FitOptions& options, nb::handle value) { options.*field = nb::cast<Field>(value); };
}
template <class Field>
Setter set(Field GpOptions::*field) {
  return [field](FitOptions& options, nb::handle value) { options.gp.*field = nb::cast<Field>(value); };
}
/// std::optional<double>
Setter set_some(std::optional<double> FitOptions::*field) {
  return [field](FitOptions& options, nb::handle value) { options.*field = nb::cast<double>(value); };
}

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> table = {
      {"kernel", set(&FitOptions::kernel)},
      {"map", set(&FitOptions::map)},
      {"loss", set(&FitOptions::loss)},
      {"quantiles", set(&FitOptions::quantiles)},
      {"non_crossing", set(&FitOptions::non_crossing)},
      {"grid", set(&FitOptions::grid)},
      {"penalty", set_some(&FitOptions::penalty)},
      {"solver", set(&FitOptions::solver)},
      {"precision", set(&FitOptions::precision)},
      {"uncertainty", set(&FitOptions::uncertainty)},
      {"standardize", set(&FitOptions::standardize)},
      {"intercept", set(&FitOptions::intercept)},
      {"seed", set(&FitOptions::seed)},
      {"tolerance", set_some(&FitOptions::tolerance)},
      {"passes", set(&FitOptions::passes)},
      {"conformal", set_some(&FitOptions::conformal)},
      {"time_order", set(&FitOptions::time_order)},
      {"classes", set(&FitOptions::classes)},
      {"gp", set(&GpOptions::kind)},
      {"mean", set(&GpOptions::mean)},
      {"points", set(&GpOptions::points)},
      {"optimizer", set(&GpOptions::optimizer)},
      {"steps", set(&GpOptions::steps)},
      {"rate", set(&GpOptions::rate)},
      {"draws", set(&GpOptions::draws)},
      {"posterior_draws", set(&GpOptions::posterior_draws)},
      {"parametrization", set(&GpOptions::parametrization)},
      {"allocation", set(&GpOptions::allocation)},
      {"sampling", set(&GpOptions::sampling)},
      {"outputs", set(&GpOptions::outputs)},
      {"restarts", set(&GpOptions::restarts)},
      {"validation", set(&GpOptions::validation)},
  };
  return table;
}

bool is_name(const std::string& keyword) {
  return keyword == "input_names" || keyword == "target_names" || keyword == "dates";
}

std::atomic<Index>& budget() {
  static std::atomic<Index> bytes = FitOptions().memory_bytes;
  return bytes;
}

}  // namespace

void set_memory(double bytes) {
  if (!(bytes >= 1e6 && bytes <= 1e15))
    fail_argument("bytes must be a number of at least 1e6 (one megabyte), such as 16e9; got " + shortest(bytes));
  budget() = static_cast<Index>(bytes);
}

Index memory() {
  return budget();
}

FitOptions fit_options(const nb::dict& keywords) {
  FitOptions options;
  options.memory_bytes = memory();
  for (const auto [key, value] : keywords) {
    const auto name = nb::cast<std::string>(key);
    if (value.is_none() || is_name(name)) continue;
    const auto found = setters().find(name);
    if (found == setters().end()) fail_argument("there is no option " + mercer::quoted(name));
    try {
      found->second(options, value);
    } catch (const nb::cast_error&) {
      fail_argument(name + " cannot be " + nb::cast<std::string>(nb::repr(value)));
    }
  }
  options.target_names = names_of(keywords).targets;
  return options;
}

Names names_of(const nb::dict& keywords) {
  Names names;
  if (keywords.contains("input_names")) names.inputs = nb::cast<std::vector<std::string>>(keywords["input_names"]);
  if (keywords.contains("target_names")) names.targets = nb::cast<std::vector<std::string>>(keywords["target_names"]);
  if (keywords.contains("dates")) names.dates = nb::cast<std::string>(keywords["dates"]);
  return names;
}

}  // namespace mercer::python
