#pragma once
#include <bit>
#include <map>
#include <vector>

#include "map/sketch.hpp"
#include "unit/map/map_samples.hpp"

namespace mercer::samples {

/// The s × s' matrix of a sketch over its anchors, entry by entry from the definitions.
inline Dense touched_columns(const Sketch& sketch) {
  Dense s = Dense::Zero(sketch.size(), sketch.touched());
  if (const auto* sparse = std::get_if<SparseSketch>(&sketch.form)) {
    for (Index j = 0; j < sparse->columns(); ++j) {
      for (Index k = sparse->start[static_cast<std::size_t>(j)]; k < sparse->start[static_cast<std::size_t>(j + 1)]; ++k)
        s(sparse->row[static_cast<std::size_t>(k)], j) += sparse->value[static_cast<std::size_t>(k)];
    }
  } else if (const auto* full = std::get_if<DenseSketch>(&sketch.form)) {
    s = dense(full->transposed).transpose();
  } else {
    const auto& h = std::get<HadamardSketch>(sketch.form);
    for (Index r = 0; r < s.rows(); ++r) {
      for (Index j = 0; j < s.cols(); ++j) {
        const auto line = static_cast<std::uint64_t>(h.line[static_cast<std::size_t>(r)]);
        const double parity = std::popcount(line & static_cast<std::uint64_t>(j)) % 2 == 0 ? 1.0 : -1.0;
        s(r, j) = parity * h.sign[static_cast<std::size_t>(j)] / std::sqrt(static_cast<double>(s.rows()));
      }
    }
  }
  return s;
}

/// S, s × n.
inline Dense dense_sketch(const Sketch& sketch, Index n) {
  Dense s = Dense::Zero(sketch.size(), n);
  const Dense columns = touched_columns(sketch);
  for (Index j = 0; j < sketch.touched(); ++j) s.col(sketch.anchors[static_cast<std::size_t>(j)]) = columns.col(j);
  return s;
}

}  // namespace mercer::samples
