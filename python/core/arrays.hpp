#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <mercer/view.hpp>

#include <cstddef>
#include <vector>

#include "base/matrix.hpp"

namespace nb = nanobind;

namespace mercer::python {

/// Numbers that numpy owns: rows × columns in C order, float32 or float64. Read where they lie.
using Numbers = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// What is given back.
using Array = nb::ndarray<nb::numpy, double>;

/// A view of rows [first, first + count) as doubles: of the array itself, or of `wide`, which is filled from float32.
/// Throws Error for any other type of number.
ConstMatrix rows_of(const Numbers& numbers, Index first, Index count, Matrix<double>& wide);
inline Index row_count(const Numbers& numbers) {
  return static_cast<Index>(numbers.shape(0));
}
inline Index column_count(const Numbers& numbers) {
  return static_cast<Index>(numbers.shape(1));
}

/// Hands the memory of a matrix to numpy, with a shape of as many entries. Needs the GIL.
Array to_numpy(Matrix<double>&& values, std::vector<std::size_t> shape);
Array to_numpy(Matrix<double>&& values);
Array to_numpy(std::vector<double>&& values);

}  // namespace mercer::python
