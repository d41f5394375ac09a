// Kernels by their text form.
#include <nanobind/stl/string.h>
#include <mercer/kernel.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/length_scale.hpp"
#include "kernel/resolve.hpp"
#include "model/scaling.hpp"

namespace mercer::python {
namespace {

Matrix<double> whole(const Numbers& numbers) {
  Matrix<double> wide;
  return Matrix<double>(rows_of(numbers, 0, row_count(numbers), wide));
}

/// Median distance of pairs of rows, as `median` means it.
double median_of(Matrix<double>& x) {
  ArrayRows rows(x);
  return median_distance(summarize(rows, nullptr), Scaling::identity(x.cols(), 0));
}

Array kernel_matrix(const std::string& text, const Numbers& x, const Numbers& z, Index outputs) {
  Matrix<double> left = whole(x);
  const Matrix<double> right = whole(z);
  Matrix<double> out;
  {
    const nb::gil_scoped_release free;
    const OperatorKernel parsed = parse_kernel(text);
    DataFacts facts;
    facts.inputs = left.cols();
    facts.outputs = outputs;
    if (needs_median(parsed)) facts.median_distance = median_of(left);
    const OperatorKernel kernel = resolve(parsed, facts);
    out = Matrix<double>(left.rows() * outputs, right.rows() * outputs);
    gram(kernel, left, right, outputs, out);
  }
  return to_numpy(std::move(out));
}

}  // namespace

void bind_kernels(nb::module_& module) {
  module.def(
      "canonical_kernel", [](const std::string& text) { return to_string(parse_kernel(text)); }, nb::arg("text"),
      "The kernel as Mercer prints it; ValueError with place and reason when it cannot be read.");
  module.def(
      "is_vector_field", [](const std::string& text) { return is_vector_field(parse_kernel(text)); }, nb::arg("text"),
      "True when outputs are directions in the space of the inputs.");
  module.def(
      "scale_lengths",
      [](const std::string& text, double factor) { return to_string(with_length_scales(parse_kernel(text), 1, factor)); },
      nb::arg("text"), nb::arg("factor"), "Every length scale times a factor; the lengths must be numbers.");
  module.def("kernel_matrix", &kernel_matrix, nb::arg("text"), nb::arg("x"), nb::arg("z"), nb::arg("outputs") = 1,
             "K(x_i, z_j), (n·p) × (m·p); `median` is that of x.");
}

}  // namespace mercer::python
