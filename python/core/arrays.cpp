#include "arrays.hpp"

#include <algorithm>
#include <memory>

#include "base/fail.hpp"

namespace mercer::python {

ConstMatrix rows_of(const Numbers& numbers, Index first, Index count, Matrix<double>& wide) {
  const Index columns = column_count(numbers);
  if (numbers.dtype() == nb::dtype<double>()) {
    return {static_cast<const double*>(numbers.data()) + first * columns, count, columns};
  }
  if (numbers.dtype() != nb::dtype<float>()) fail_argument("arrays must hold float32 or float64");
  if (wide.rows() < count || wide.cols() != columns) wide = Matrix<double>(count, columns);
  std::copy_n(static_cast<const float*>(numbers.data()) + first * columns, count * columns, wide.data());
  return {wide.data(), count, columns};
}

Array to_numpy(Matrix<double>&& values, std::vector<std::size_t> shape) {
  auto owned = std::make_unique<Matrix<double>>(std::move(values));
  double* data = owned->data();
  const nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<Matrix<double>*>(p); });
  return Array(data, shape.size(), shape.data(), owner);
}

Array to_numpy(Matrix<double>&& values) {
  const auto rows = static_cast<std::size_t>(values.rows());
  const auto columns = static_cast<std::size_t>(values.cols());
  return to_numpy(std::move(values), {rows, columns});
}

Array to_numpy(std::vector<double>&& values) {
  auto owned = std::make_unique<std::vector<double>>(std::move(values));
  double* data = owned->data();
  const std::size_t shape[] = {owned->size()};
  const nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return Array(data, 1, shape, owner);
}

}  // namespace mercer::python
