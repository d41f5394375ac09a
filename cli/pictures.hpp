#pragma once
#include <mercer/model.hpp>

#include <optional>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace mercer::cli {

// The pictures of a model: what `plot` and `predict --plot` write.

/// Panels in one picture at most.
constexpr Index most_panels = 6;

struct Picture {
  std::string svg;
  Index panels = 0;
  Index points = 0;                ///< of the data, as drawn
  std::vector<std::string> notes;  ///< sentences for people: what was left out
};

/// The function with its bands over the training rows, the data and what comes after, one panel per target. `data` may be
/// null, or have no targets. `until`: the last time of a horizon; none: a quarter of the training range ahead for a series.
/// Refuses models of several inputs and classes.
Picture forecast_picture(const Model& model, const std::string& name, Dataset* data, std::optional<double> until);

/// The learned density and its components against the empirical one (`data` not null), one panel per target and input.
Picture spectrum_picture(const Model& model, const std::string& name, Dataset* data, Index memory_bytes);

/// Likelihood, objective and validation scores by iteration.
Picture training_picture(const Model& model, const std::string& name);

/// Refuses a path that cannot be written, before the work is done.
void check_picture(const std::string& path, const std::string& option);
void write_picture(const Picture& picture, const std::string& path);

}  // namespace mercer::cli
