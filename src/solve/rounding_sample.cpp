#include "solve/rounding_sample.hpp"

#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Of a chunk: in double they stay in the second cache, too.
constexpr Index most_rows = 24;
/// Differences are kept times that: floats have no room for what is a few roundings of 1e-36, nor for those of 1e28 by much
/// more.
constexpr double enlarged = 0x1p32;
/// Rows of which a sample would tell little and all cost nothing.
constexpr Index few = 4096;

/// One stretch in five, or fewer where there are many: some forty stretches tell as much as is needed.
Index stretches_for_one(Index rows_to_come) {
  return std::clamp<Index>(rows_to_come / 10'000, 5, 25);
}

/// One stretch in `every`, by turns among the slots, and of it the chunk with some row: all slots and all places of a
/// stretch come up. (Of one slot in four, which would take less memory, errors of sorted tables were found too small.)
bool in_sample(const RoundingSample::Chunk& chunk, Index slots, Index every) {
  constexpr Index slot_rows = FeatureChunks<float>::slot_rows;
  const Index turn = chunk.first_row / (slots * slot_rows) + chunk.slot;
  if (turn % every != 0) return false;
  const Index row = (turn / every * 97) % slot_rows;
  const Index first = chunk.row_in_block % slot_rows;
  return first <= row && row < first + chunk.features.rows;
}

}  // namespace

void RoundingSample::Weights::add(const Chunk& chunk, Index rows) {
  for (Index i = 0; i < rows; ++i) stretch += chunk.weight(i);
}

void RoundingSample::Weights::end_stretch() {
  sum += stretch;
  square += stretch * stretch;
  stretch = 0;
}

RoundingSample::RoundingSample(const FeatureMap& map, ConstMatrix w, std::span<const double> mean,
                               std::span<const double> offset, Rooms& rooms, Index rows_to_come,
                               std::optional<TargetsLeft> left)
    : map_(map),
      w_(transposed(w)),
      mean_(mean),
      offset_(offset),
      left_(left),
      every_(stretches_for_one(rows_to_come)),
      whole_(rows_to_come >= 0 && rows_to_come <= few) {
  for (Matrix<float>& room : rooms) slots_.push_back({room});
}

void RoundingSample::look(const Chunk& chunk, MatrixView<const float> f) {
  Slot& slot = slots_[at(chunk.slot)];
  slot.passed.add(chunk, chunk.features.rows);
  if (whole_ || in_sample(chunk, static_cast<Index>(slots_.size()), every_)) compare(chunk, f, slot);
  if (!chunk.last_of_stretch) return;
  slot.passed.end_stretch();
  slot.seen.end_stretch();
}

void RoundingSample::clear(Slot& slot) const {
  if (slot.difference.rows() == w_.rows() && slot.difference.cols() == w_.cols()) {
    std::ranges::fill(slot.difference.values(), 0.0F);
  } else {
    slot.difference = Matrix<float>(w_.rows(), w_.cols());
  }
  slot.ones.assign(at(w_.rows()), 0.0);
}

void RoundingSample::compare(const Chunk& chunk, MatrixView<const float> f, Slot& slot) {
  const Index m = map_.columns();
  const Index k = f.cols;
  if (slot.rows == 0) clear(slot);
  const Index rows = whole_ ? chunk.features.rows : std::min(most_rows, chunk.features.rows);
  const MatrixView<const float> features = chunk.features.row_range(0, rows);
  slot.seen.add(chunk, rows);
  thread_local Matrix<double> buffer;
  if (buffer.rows() < rows || buffer.cols() != m) buffer = Matrix<double>(rows, m);
  const MutMatrix phi = buffer.view().row_range(0, rows);
  map_.features(chunk.rows.row_range(0, rows), phi);
  slot.rows += rows;
  const Index largest = chunk.largest_row(rows);
  for (Index c = 0; largest >= 0 && c < m; ++c) {
    const double off = static_cast<double>(features(largest, c)) - phi(largest, c);
    slot.square += off * off;
    slot.all += phi(largest, c) * phi(largest, c);
  }
  Matrix<double> exact(rows, k);
  thin_forward<double>(phi, w_, exact);
  chunk.centre_and_weigh(offset_, exact.view());
  if (left_) chunk.take_from_targets(left_->mean, left_->scale, exact.view());
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < k; ++j) slot.ones[at(j)] += static_cast<double>(f(i, j)) - exact(i, j);
  }
  constexpr Index strip = 768;  // of features: the two sums stay in the first cache
  thread_local Matrix<double> precise_room;
  thread_local Matrix<float> rough_room;
  if (precise_room.rows() < k) precise_room = Matrix<double>(k, strip);
  if (rough_room.rows() < k) rough_room = Matrix<float>(k, strip);
  for (Index first = 0; first < m; first += strip) {
    const Index width = std::min(strip, m - first);
    const MutMatrix precise = precise_room.view().row_range(0, k).col_range(0, width);
    const MatrixView<float> rough = rough_room.view().row_range(0, k).col_range(0, width);
    thin_adjoint<double>(phi.col_range(first, width), exact, false, precise);
    thin_adjoint<float>(features.col_range(first, width), f.row_range(0, rows), false, rough);
    for (Index j = 0; j < k; ++j) {
      float* difference = slot.difference.row(j).data() + first;
      const double* in_double = precise.row(j).data();
      const float* in_float = rough.row(j).data();
      for (Index c = 0; c < width; ++c)
        difference[c] += static_cast<float>(enlarged * (static_cast<double>(in_float[c]) - in_double[c]));
    }
  }
}

Index RoundingSample::rows() const {
  Index sum = 0;
  for (const Slot& slot : slots_) sum += slot.rows;
  return sum;
}

double RoundingSample::largest_unit() const {
  double square = 0;
  double all = 0;
  for (const Slot& slot : slots_) {
    square += slot.square;
    all += slot.all;
  }
  return all > 0 ? std::sqrt(square / all) : 0.0;
}

SampledErrors RoundingSample::errors(Index size, Index columns,
                                     const std::function<void(ConstMatrix s, MutMatrix out)>& reduce) const {
  Weights passed;
  Weights seen;
  std::vector<const Slot*> with_rows;
  for (const Slot& slot : slots_) {
    passed.sum += slot.passed.sum;
    passed.square += slot.passed.square;
    seen.sum += slot.seen.sum;
    seen.square += slot.seen.square;
    if (slot.rows > 0) with_rows.push_back(&slot);
  }
  // Few groups of slots: every one has its own sums of all systems. Without any, one of no weight, which says nothing.
  const Index groups = std::clamp<Index>(std::ssize(with_rows), 1, 8);
  SampledErrors errors;
  errors.groups.resize(at(groups));
  const Index m = w_.cols();
  parallel_for(groups, [&](Index group) {
    Matrix<double> sums(m, w_.rows());
    constexpr Index tile = 64;  // of sums, which are written across
    for (Index k = group; k < std::ssize(with_rows); k += groups) {
      const Slot& slot = *with_rows[at(k)];
      for (Index first = 0; first < m; first += tile) {
        for (Index j = 0; j < sums.cols(); ++j) {
          for (Index c = first; c < std::min(m, first + tile); ++c)
            sums(c, j) += static_cast<double>(slot.difference(j, c)) / enlarged - mean_[at(c)] * slot.ones[at(j)];
        }
      }
    }
    errors.groups[at(group)] = Matrix<double>(size, columns);
    reduce(sums, errors.groups[at(group)]);
  });
  errors.alike = passed.sum / seen.sum;
  errors.by_chance = passed.square / seen.square;
  return errors;
}

}  // namespace mercer
