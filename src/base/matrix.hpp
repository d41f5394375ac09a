#pragma once
#include <mercer/view.hpp>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "base/checked.hpp"

namespace mercer {

/// An owned row-major matrix, 64-byte aligned, zero-filled.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(Index rows, Index cols, Pages cleared_when_touched = Pages::of_large)
      : rows_(rows), cols_(cols), data_(allocate(checked_bytes(rows, cols, sizeof(T)), cleared_when_touched)) {}
  Matrix(Index rows, Index cols, std::initializer_list<T> values) : Matrix(rows, cols) {
    std::copy(values.begin(), values.end(), data());
  }
  explicit Matrix(MatrixView<const T> v) : Matrix(v.rows, v.cols) {
    for (Index i = 0; i < rows_; ++i) std::copy_n(v.data + i * v.stride, cols_, data() + i * cols_);
  }
  Matrix(const Matrix& other) : Matrix(other.view()) {}
  Matrix& operator=(const Matrix& other) {
    if (this != &other) *this = Matrix(other);
    return *this;
  }
  Matrix(Matrix&& other) noexcept
      : rows_(std::exchange(other.rows_, 0)), cols_(std::exchange(other.cols_, 0)), data_(std::move(other.data_)) {}
  Matrix& operator=(Matrix&& other) noexcept {
    rows_ = std::exchange(other.rows_, 0);
    cols_ = std::exchange(other.cols_, 0);
    data_ = std::move(other.data_);
    return *this;
  }
  ~Matrix() = default;

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index size() const { return rows_ * cols_; }
  bool empty() const { return size() == 0; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator()(Index i, Index j) { return data_.get()[i * cols_ + j]; }
  const T& operator()(Index i, Index j) const { return data_.get()[i * cols_ + j]; }
  std::span<T> row(Index i) { return view().row(i); }
  std::span<const T> row(Index i) const { return view().row(i); }
  std::span<T> values() { return {data(), static_cast<std::size_t>(size())}; }
  std::span<const T> values() const { return {data(), static_cast<std::size_t>(size())}; }
  MatrixView<T> view() { return {data(), rows_, cols_}; }
  MatrixView<const T> view() const { return {data(), rows_, cols_}; }
  operator MatrixView<T>() { return view(); }              // NOLINT(google-explicit-constructor)
  operator MatrixView<const T>() const { return view(); }  // NOLINT(google-explicit-constructor)

 private:
  struct Free {
    std::size_t mapped = 0;
    void operator()(T* p) const { release({p, mapped}); }
  };
  using Storage = std::unique_ptr<T[], Free>;

  static Storage allocate(std::size_t bytes, Pages cleared_when_touched);

  Index rows_ = 0;
  Index cols_ = 0;
  Storage data_;
};

template <class T>
typename Matrix<T>::Storage Matrix<T>::allocate(std::size_t bytes, Pages cleared_when_touched) {
  if (bytes == 0) return {};
  const ZeroedBlock block = zeroed_aligned(bytes, cleared_when_touched);
  return Storage(static_cast<T*>(block.data), Free{block.mapped});
}

}  // namespace mercer
