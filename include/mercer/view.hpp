#pragma once
#include <cstddef>
#include <span>
#include <type_traits>

namespace mercer {

using Index = std::ptrdiff_t;

/// A row-major matrix somebody else owns: entry (i, j) is data[i·stride + j].
template <class T>
struct MatrixView {
  T* data = nullptr;
  Index rows = 0;
  Index cols = 0;
  Index stride = 0;

  MatrixView() = default;
  MatrixView(T* data_, Index rows_, Index cols_) : MatrixView(data_, rows_, cols_, cols_) {}
  MatrixView(T* data_, Index rows_, Index cols_, Index stride_) : data(data_), rows(rows_), cols(cols_), stride(stride_) {}

  T& operator()(Index i, Index j) const { return data[i * stride + j]; }
  std::span<T> row(Index i) const { return {data + i * stride, static_cast<std::size_t>(cols)}; }
  MatrixView row_range(Index first, Index count) const { return {data + first * stride, count, cols, stride}; }
  MatrixView col_range(Index first, Index count) const { return {data + first, rows, count, stride}; }
  operator MatrixView<const T>() const  // NOLINT(google-explicit-constructor): a view is a view
      requires(!std::is_const_v<T>) {
    return {data, rows, cols, stride};
  }
};

using ConstMatrix = MatrixView<const double>;
using MutMatrix = MatrixView<double>;
using Point = std::span<const double>;
using MutPoint = std::span<double>;

}  // namespace mercer
