#include "solve/rounding_sample.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Of a chunk: in double they stay in the second cache, too.
constexpr Index most_rows = 24;

/// One slot in five of every block, by turns, and of it the chunk with some row: all places of a block and of a slot come
/// up.
bool in_sample(const RoundingSample::Chunk& chunk, Index slots) {
  constexpr Index every = 5;
  constexpr Index slot_rows = FeatureChunks<float>::slot_rows;
  const Index turn = (chunk.first_row - chunk.row_in_block) / (slots * slot_rows) + chunk.slot;
  if (turn % every != 0) return false;
  const Index row = (turn / every * 97) % slot_rows;
  const Index first = chunk.row_in_block % slot_rows;
  return first <= row && row < first + chunk.features.rows;
}

}  // namespace

std::vector<double> mean_times(std::span<const double> mean, ConstMatrix w) {
  std::vector<double> offset(at(w.cols), 0.0);
  for (Index c = 0; c < w.rows; ++c) {
    for (Index k = 0; k < w.cols; ++k) offset[at(k)] += mean[at(c)] * w(c, k);
  }
  return offset;
}

RoundingSample::RoundingSample(const FeatureMap& map, ConstMatrix w, std::span<const double> mean, Index slots)
    : map_(map), w_(transposed(w)), mean_(mean), offset_(mean_times(mean, w)), slots_(at(slots)) {}

void RoundingSample::look(const Chunk& chunk, MatrixView<const float> f) {
  Slot& slot = slots_[at(chunk.slot)];
  slot.passed += chunk.features.rows;
  if (!in_sample(chunk, static_cast<Index>(slots_.size()))) return;
  const Index m = map_.columns();
  const Index k = f.cols;
  if (slot.difference.empty()) {
    slot.difference = Matrix<double>(k, m);
    slot.ones.assign(at(k), 0.0);
  }
  const Index rows = std::min(most_rows, chunk.features.rows);
  const MatrixView<const float> features = chunk.features.row_range(0, rows);
  slot.rows += rows;
  thread_local Matrix<double> buffer;
  if (buffer.rows() < rows || buffer.cols() != m) buffer = Matrix<double>(rows, m);
  const MutMatrix phi = buffer.view().row_range(0, rows);
  map_.features(chunk.rows.row_range(0, rows), phi);
  for (Index i = 0; i < rows; ++i) {
    for (Index c = 0; c < m; ++c) {
      const double off = static_cast<double>(features(i, c)) - phi(i, c);
      slot.square += off * off;
      slot.all += phi(i, c) * phi(i, c);
    }
  }
  thread_local Matrix<double> part;
  thread_local Matrix<float> rough;
  if (part.rows() != k || part.cols() != m) {
    part = Matrix<double>(k, m);
    rough = Matrix<float>(k, m);
  }
  Matrix<double> exact(rows, k);
  thin_forward<double>(phi, w_, exact);
  weigh(chunk, offset_, exact.view());
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < k; ++j) slot.ones[at(j)] += static_cast<double>(f(i, j)) - exact(i, j);
  }
  thin_adjoint<double>(phi, exact, false, part);
  thin_adjoint<float>(features, f.row_range(0, rows), false, rough);
  for (Index i = 0; i < part.size(); ++i) slot.difference.data()[i] += static_cast<double>(rough.data()[i]) - part.data()[i];
}

double RoundingSample::unit() const {
  double square = 0;
  double all = 0;
  for (const Slot& slot : slots_) {
    square += slot.square;
    all += slot.all;
  }
  return all > 0 ? std::sqrt(square / all) : 0.0;
}

std::vector<double> RoundingSample::errors(Index size, Index columns,
                                           const std::function<void(ConstMatrix s, MutMatrix out)>& reduce) const {
  // Few groups of slots: what each costs here is not spread over the threads.
  constexpr Index most_groups = 8;
  std::vector<Slot> groups(at(most_groups));
  double passed = 0;
  double seen = 0;
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    const Slot& slot = slots_[k];
    passed += static_cast<double>(slot.passed);
    if (slot.rows == 0) continue;
    seen += static_cast<double>(slot.rows);
    Slot& group = groups[k % groups.size()];
    if (group.rows == 0) {
      group = slot;
      continue;
    }
    group.rows += slot.rows;
    for (Index i = 0; i < group.difference.size(); ++i) group.difference.data()[i] += slot.difference.data()[i];
    for (std::size_t j = 0; j < group.ones.size(); ++j) group.ones[j] += slot.ones[j];
  }
  Matrix<double> total(size, columns);
  std::vector<double> squares(at(columns), 0.0);  // Σ ‖g‖²
  double count = 0;
  for (const Slot& group : groups) {
    if (group.rows == 0) continue;
    Matrix<double> s = transposed(group.difference);
    for (Index c = 0; c < s.rows(); ++c) {
      for (Index k = 0; k < s.cols(); ++k) s(c, k) -= mean_[at(c)] * group.ones[at(k)];
    }
    Matrix<double> g(size, columns);
    reduce(s, g);
    for (Index i = 0; i < g.rows(); ++i) {
      for (Index k = 0; k < columns; ++k) {
        squares[at(k)] += g(i, k) * g(i, k);
        total(i, k) += g(i, k);
      }
    }
    count += 1;
  }
  const std::vector<double> sums = column_dots(total, total);
  const double ratio = passed / seen;
  std::vector<double> errors(at(columns));
  for (std::size_t k = 0; k < errors.size(); ++k) {
    const double scatter = count > 1 ? (squares[k] - sums[k] / count) * count / (count - 1) : 0.0;
    errors[k] = std::sqrt(ratio * ratio * std::max(0.0, sums[k] - scatter) + ratio * std::max(0.0, scatter));
  }
  return errors;
}

}  // namespace mercer
