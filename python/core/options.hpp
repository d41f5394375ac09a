#pragma once
#include <nanobind/nanobind.h>
#include <mercer/model.hpp>

#include <string>
#include <vector>

namespace nb = nanobind;

namespace mercer::python {

/// FitOptions from the keywords of an estimator; a keyword that is None keeps its default, an unknown one is an error.
FitOptions fit_options(const nb::dict& keywords);

/// The budget of working memory that fit_options() gives; applies to every later fit of the process.
void set_memory(double bytes);
Index memory();

/// What the columns are called, and which dates the one input of a series stands for.
struct Names {
  std::vector<std::string> inputs;   ///< empty: x0, x1, …
  std::vector<std::string> targets;  ///< empty: y0, y1, …
  std::string dates;                 ///< "", or a DateFormat such as iso_date
};
Names names_of(const nb::dict& keywords);

}  // namespace mercer::python
