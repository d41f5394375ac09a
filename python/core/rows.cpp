#include "rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer::python {

std::string NamedRows::name_of(RowPart part, Index column) const {
  const auto k = static_cast<std::size_t>(column);
  if (part == RowPart::input && k < names.inputs.size()) return "column " + mercer::quoted(names.inputs[k]);
  if (part == RowPart::target && k < names.targets.size()) return "target " + mercer::quoted(names.targets[k]);
  return RowSource::name_of(part, column);
}

NumpyRows::NumpyRows(Numbers inputs, std::optional<Numbers> targets, std::optional<Weights> weights)
    : inputs_(std::move(inputs)), targets_(std::move(targets)), weights_(std::move(weights)) {
  const Index n = row_count();
  const auto check = [n](const char* what, Index rows) {
    if (rows != n)
      fail_argument(std::string(what) + " have " + std::to_string(rows) + " rows and inputs " + std::to_string(n));
  };
  if (targets_) check("targets", mercer::python::row_count(*targets_));
  if (weights_) check("weights", static_cast<Index>(weights_->shape(0)));
}

bool NumpyRows::next(Index max_rows, RowBlock& block) {
  const Index count = std::min(max_rows, row_count() - position_);
  if (count <= 0) return false;
  block.first_row = position_;
  block.inputs = rows_of(inputs_, position_, count, wide_inputs_);
  block.targets = targets_ ? rows_of(*targets_, position_, count, wide_targets_) : ConstMatrix(nullptr, count, 0);
  block.weights =
      weights_ ? std::span(weights_->data() + position_, static_cast<std::size_t>(count)) : std::span<const double>();
  position_ += count;
  return true;
}

IteratorRows::IteratorRows(nb::object restart, Index inputs, Index targets, Index rows)
    : restart_(std::move(restart)), inputs_(inputs), targets_(targets), rows_(rows) {}

IteratorRows::~IteratorRows() {
  const nb::gil_scoped_acquire python;
  pulled_.reset();
  iterator_.reset();
  restart_.reset();
}

void IteratorRows::rewind() {
  const nb::gil_scoped_acquire python;
  pulled_.reset();
  iterator_.reset();
  first_row_ = 0;
}

bool IteratorRows::pull() {
  const nb::gil_scoped_acquire python;
  pulled_.reset();
  if (!iterator_) iterator_ = nb::iter(restart_());
  nb::object item = nb::steal(PyIter_Next(iterator_.ptr()));
  if (!item.is_valid()) {
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return false;
  }
  auto [x, y, w] = nb::cast<std::tuple<Numbers, std::optional<Numbers>, std::optional<Weights>>>(item);
  if (column_count(x) != inputs_ || (y ? column_count(*y) : 0) != targets_)
    fail_argument("a block of rows has other columns than the first one");
  pulled_.emplace(std::move(x), std::move(y), std::move(w));
  return true;
}

bool IteratorRows::next(Index max_rows, RowBlock& block) {
  if (x_.rows() < max_rows) {
    x_ = Matrix<double>(max_rows, inputs_);
    y_ = Matrix<double>(max_rows, targets_);
    w_.resize(static_cast<std::size_t>(max_rows));
  }
  Index filled = 0;
  RowBlock part;
  while (filled < max_rows) {
    if (!pulled_ && !pull()) break;
    if (!pulled_->next(max_rows - filled, part)) {
      if (!pull()) break;
      continue;
    }
    for (Index i = 0; i < part.rows(); ++i) {
      std::ranges::copy(part.inputs.row(i), x_.row(filled + i).begin());
      if (targets_ > 0) std::ranges::copy(part.targets.row(i), y_.row(filled + i).begin());
      w_[static_cast<std::size_t>(filled + i)] = part.weights.empty() ? 1.0 : part.weights[static_cast<std::size_t>(i)];
    }
    filled += part.rows();
  }
  if (filled == 0) return false;
  block.first_row = first_row_;
  block.inputs = ConstMatrix(x_.data(), filled, inputs_);
  block.targets = ConstMatrix(y_.data(), filled, targets_);
  block.weights = std::span(w_.data(), static_cast<std::size_t>(filled));
  first_row_ += filled;
  return true;
}

}  // namespace mercer::python
