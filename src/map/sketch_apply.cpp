#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/parallel.hpp"
#include "map/sketch.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

Index power_of_two(Index n) {
  Index length = 1;
  while (length < n) length *= 2;
  return length;
}

/// v := H v with H_ij = (-1)^popcount(i & j), in place; N log₂ N additions.
void walsh_hadamard(std::vector<double>& v) {
  for (std::size_t half = 1; half < v.size(); half *= 2) {
    for (std::size_t first = 0; first < v.size(); first += 2 * half) {
      for (std::size_t k = first; k < first + half; ++k) {
        const double a = v[k];
        const double b = v[k + half];
        v[k] = a + b;
        v[k + half] = a - b;
      }
    }
  }
}

void right(const SparseSketch& s, ConstMatrix t, MutMatrix out) {
  for (Index i = 0; i < t.rows; ++i) {
    const auto to = out.row(i);
    std::ranges::fill(to, 0.0);
    for (Index j = 0; j < s.columns(); ++j) {
      for (Index k = s.start[at(j)]; k < s.start[at(j + 1)]; ++k) to[at(s.row[at(k)])] += s.value[at(k)] * t(i, j);
    }
  }
}

void right(const DenseSketch& s, ConstMatrix t, MutMatrix out) {
  gemm<double>(false, false, 1.0, t, s.transposed, 0.0, out);
}

void right(const HadamardSketch& s, ConstMatrix t, MutMatrix out) {
  std::vector<double> v(at(power_of_two(t.cols)));
  const double scale = 1 / std::sqrt(static_cast<double>(s.line.size()));
  for (Index i = 0; i < t.rows; ++i) {
    std::ranges::fill(v, 0.0);
    for (Index j = 0; j < t.cols; ++j) v[at(j)] = s.sign[at(j)] * t(i, j);
    walsh_hadamard(v);
    for (Index r = 0; r < out.cols; ++r) out(i, r) = scale * v[at(s.line[at(r)])];
  }
}

Matrix<double> transposed_times(const SparseSketch& s, ConstMatrix v) {
  Matrix<double> out(s.columns(), v.cols);
  for (Index j = 0; j < s.columns(); ++j) {
    for (Index k = s.start[at(j)]; k < s.start[at(j + 1)]; ++k) {
      add_multiple(&v(s.row[at(k)], 0), v.cols, s.value[at(k)], out.row(j).data());
    }
  }
  return out;
}

Matrix<double> transposed_times(const DenseSketch& s, ConstMatrix v) {
  Matrix<double> out(s.transposed.rows(), v.cols);
  gemm<double>(false, false, 1.0, s.transposed, v, 0.0, out);
  return out;
}

Matrix<double> transposed_times(const HadamardSketch& s, ConstMatrix v) {
  const auto n = static_cast<Index>(s.sign.size());
  const double scale = 1 / std::sqrt(static_cast<double>(s.line.size()));
  Matrix<double> columns(v.cols, n);  // one column of the answer is one row here
  parallel_for(v.cols, [&](Index c) {
    std::vector<double> w(at(power_of_two(n)));
    for (Index r = 0; r < v.rows; ++r) w[at(s.line[at(r)])] = scale * v(r, c);
    walsh_hadamard(w);
    for (Index j = 0; j < n; ++j) columns(c, j) = s.sign[at(j)] * w[at(j)];
  });
  return transposed(columns);
}

}  // namespace

void apply_right(const Sketch& sketch, ConstMatrix t, MutMatrix out) {
  std::visit([&](const auto& form) { right(form, t, out); }, sketch.form);
}

void add_mixed(const SparseSketch& sketch, Index first, ConstMatrix tile, MutMatrix mixed) {
  for (Index j = 0; j < tile.rows; ++j) {
    for (Index k = sketch.start[at(first + j)]; k < sketch.start[at(first + j + 1)]; ++k) {
      add_multiple(&tile(j, 0), tile.cols, sketch.value[at(k)], &mixed(sketch.row[at(k)], 0));
    }
  }
}

Matrix<double> apply_transposed(const Sketch& sketch, ConstMatrix v) {
  return std::visit([&](const auto& form) { return transposed_times(form, v); }, sketch.form);
}

}  // namespace mercer
