#include "solve/row_operator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "base/scale.hpp"

namespace mercer {
namespace {
constexpr std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Enough for many threads, within memory: what there may be of each slot for `systems` columns (sums of a lane and of a
/// stretch in double, those of a stretch in float, and what roundings are seen to do to them) takes half a gigabyte at most,
/// and the floats of a block would take an eighth.
Index slots_for(const FeatureMap& map, Index systems, Index slot_rows) {
  constexpr double sums_budget = 512e6;
  constexpr double block_budget = 128e6;
  const Index width = map.coupling().is_constant() ? 1 : map.outputs();
  const auto columns = static_cast<double>(map.columns());
  const double slots = std::min(sums_budget / (32.0 * columns * static_cast<double>(systems * width)),
                                block_budget / (4.0 * columns * static_cast<double>(slot_rows)));
  return std::clamp<Index>(static_cast<Index>(slots), 1, 32);
}

/// Of sums, no more than `slots`: few where they are large and their memory would cost more than waiting for each other, but
/// enough for the threads of many a machine.
Index lanes_for(Index columns, Index features, Index slots) {
  constexpr double ample_bytes = 4e6;
  constexpr Index least = 16;
  const double bytes = 8.0 * static_cast<double>(columns) * static_cast<double>(features);
  const auto ample = static_cast<Index>(std::min(ample_bytes / bytes, static_cast<double>(slots)));
  return std::min(slots, std::max(ample, least));
}

/// φ¯ᵀW, of W as columns × k.
std::vector<double> mean_times(std::span<const double> mean, ConstMatrix w) {
  std::vector<double> offset(at(w.cols), 0.0);
  for (Index c = 0; c < w.rows; ++c) {
    for (Index k = 0; k < w.cols; ++k) offset[at(k)] += mean[at(c)] * w(c, k);
  }
  return offset;
}

bool is_zero(ConstMatrix a) {
  for (Index i = 0; i < a.rows; ++i) {
    if (std::ranges::any_of(a.row(i), [](double v) { return v != 0; })) return false;
  }
  return true;
}

/// What targets are about: sums of floats are of scale·(y - pivot). Floats have no room for 10⁻¹⁶⁰, nor for targets that
/// differ in their eighth digit, and what is constant has nothing to be learned, to the last bit.
struct Targets {
  std::vector<double> pivot;  ///< the first of them; 0 without an intercept, or where sums are exact
  std::vector<double> scale;  ///< powers of 2 that bring the first differences near 1

  explicit Targets(Index count) : pivot(at(count), 0.0), scale(at(count), 1.0) {}
  void look_at(RowSource& rows, bool intercept) {
    RowBlock block;
    rows.rewind();
    if (!rows.next(FeatureChunks<float>::slot_rows, block)) return;
    for (Index a = 0; a < block.targets.cols; ++a) {
      const double first = intercept ? block.targets(0, a) : 0.0;
      double largest = 0;
      for (Index i = 0; i < block.targets.rows; ++i) largest = std::max(largest, std::abs(block.targets(i, a) - first));
      pivot[at(a)] = first;
      scale[at(a)] = power_near_inverse(largest);
    }
  }
};

}  // namespace

template <class Real>
RowOperator<Real>::RowOperator(const FeatureMap& map, RowSource& rows, bool intercept, Index memory_bytes,
                               Index most_systems, Progress* progress, LowGram* low, Summed summed)
    : map_(map),
      rows_(rows),
      chunks_(map, rows, block_rows(map, std::max(most_systems, rows.target_count() + 1)) / FeatureChunks<Real>::slot_rows,
              memory_bytes),
      sums_(std::make_shared<std::vector<LaneSums>>(at(chunks_.slots()))),
      stretches_(chunks_.slots()),
      sampled_(sums_->size()),
      progress_(progress) {
  system_.coupling = &map.coupling();
  system_.intercept = intercept;
  accumulate(low, summed);
}

template <class Real>
void RowOperator<Real>::accumulate(LowGram* low, Summed summed) {
  const Index m = map_.columns();
  const Index p = rows_.target_count();
  const bool rounded = summed == Summed::as_rounded;
  NormalSystem& s = system_;
  s.weight = 0;
  s.mean_feature.assign(at(m), 0);
  s.mean_target.assign(at(p), 0);
  s.target_square.assign(at(p), 0);
  s.cross = Matrix<double>(m, p);
  Targets about(p);
  if (rounded) about.look_at(rows_, s.intercept);
  Matrix<double> sums(chunks_.slots(), 1 + 2 * p);  // Σ w, Σ w y, Σ w y² of each slot
  Matrix<double> squares(chunks_.slots(), 3);       // Σ (φ - φ in float)², Σ φ², number of some rows
  Matrix<double> products = adjoint_pass(
      p + 1,
      [&](const Chunk& chunk, MatrixView<Real> f) {
        add_difference(chunk, squares.row(chunk.slot));
        const std::span<double> sum = sums.row(chunk.slot);
        for (Index i = 0; i < f.rows; ++i) {
          const double w = chunk.weight(i);
          const double factor = rounded ? std::sqrt(w) : w;  // rounded features are √w φ
          f(i, 0) = static_cast<Real>(factor);
          sum[0] += w;
          for (Index a = 0; a < p; ++a) {
            const double y = chunk.targets(i, a) - about.pivot[at(a)];
            f(i, a + 1) = static_cast<Real>(about.scale[at(a)] * factor * y);
            sum[at(1 + a)] += w * y;
            sum[at(1 + p + a)] += w * y * y;
          }
        }
      },
      low, summed);
  const bool with_targets = rounded && low->takes_targets();
  std::vector<double> summed_targets = sums_of_factors(p + 1);  // as they are in the products, where there are no weights
  if (with_targets) {
    const LowGram::TargetSums along = low->sums_with_targets();
    for (Index a = 0; a < p; ++a) summed_targets[at(a + 1)] += along.targets[at(a)];
    for (Index c = 0; c < m; ++c) {
      products(c, 0) = along.features[at(c)];
      for (Index a = 0; a < p; ++a) products(c, a + 1) += along.products(c, a);
    }
  }
  double difference = 0;
  double square = 0;
  double looked_at = 0;
  for (Index slot = 0; slot < sums.rows(); ++slot) {
    difference += squares(slot, 0);
    square += squares(slot, 1);
    looked_at += squares(slot, 2);
    s.weight += sums(slot, 0);
    for (Index a = 0; a < p; ++a) {
      s.mean_target[at(a)] += sums(slot, 1 + a);
      s.target_square[at(a)] += sums(slot, 1 + p + a);
    }
  }
  // Phases that are not finite have features that are none, and bytes that do not show it.
  single_unit_ = square == 0 ? 0.0 : std::isfinite(square) ? std::sqrt(difference / square) : square;
  feature_square_ = square > 0 ? square / looked_at : 0.0;
  if (!(s.weight > 0)) fail_argument("there are no rows with positive weight to learn from");
  for (Index c = 0; c < m; ++c) {
    s.mean_feature[at(c)] = products(c, 0);
    for (Index a = 0; a < p; ++a) s.cross(c, a) = products(c, a + 1) / about.scale[at(a)];
  }
  const auto finite = [](double v) { return std::isfinite(v); };
  const bool all_finite = std::ranges::all_of(s.mean_feature, finite) && std::ranges::all_of(s.cross.values(), finite) &&
                          std::ranges::all_of(s.target_square, finite);
  if (!all_finite && !rounded) {  // sums of rounded rows may be floats
    fail_argument(
        "the sums of features or of squared targets overflow: scale the data (standardize), lower the degree of the kernel, "
        "or divide the weights by the largest of them");
  }
  for (double& v : s.mean_feature) v = s.intercept ? v / s.weight : 0;
  for (double& v : s.mean_target) v = s.intercept ? v / s.weight : 0;
  for (Index a = 0; a < p; ++a) {
    // Floats had no room for targets that are far smaller than the first: nothing is known then.
    if (rounded && s.target_square[at(a)] > 0 && is_zero(products.view().col_range(a + 1, 1))) {
      for (Index c = 0; c < m; ++c) s.cross(c, a) = std::numeric_limits<double>::quiet_NaN();
    }
    s.target_square[at(a)] -= s.weight * s.mean_target[at(a)] * s.mean_target[at(a)];
    const double sum = with_targets ? summed_targets[at(a + 1)] / about.scale[at(a)] : s.weight * s.mean_target[at(a)];
    for (Index c = 0; c < m; ++c) s.cross(c, a) -= sum * s.mean_feature[at(c)];
    s.mean_target[at(a)] += about.pivot[at(a)];
  }
}

template <class Real>
void RowOperator<Real>::add_difference(const Chunk& chunk, std::span<double> squares) const {
  using Other = std::conditional_t<std::is_same_v<Real, float>, double, float>;
  const Index row = chunk.largest_row(chunk.features.rows);
  if (row < 0) return;
  Matrix<Other> x(1, map_.inputs());
  Matrix<Other> phi(1, map_.columns());
  std::ranges::transform(chunk.rows.row(row), x.row(0).begin(), [](double v) { return static_cast<Other>(v); });
  map_.features(x, phi);
  squares[2] += 1;
  for (Index c = 0; c < phi.cols(); ++c) {
    const auto here = static_cast<double>(chunk.features(row, c));
    const double off = static_cast<double>(phi(0, c)) - here;
    squares[0] += off * off;
    squares[1] += here * here;
  }
}

template <class Real>
Index RowOperator<Real>::block_rows(const FeatureMap& map, Index most_systems) {
  constexpr Index slot_rows = FeatureChunks<Real>::slot_rows;
  return slot_rows * slots_for(map, most_systems, slot_rows);
}

template <class Real>
typename FeatureChunks<Real>::Others RowOperator<Real>::products_of(const LowGram& low) {
  return {[&] { return low.tasks(); }, [&](Index task) { low.run(task); }};
}

template <class Real>
void RowOperator<Real>::gather(LowGram& low) {
  chunks_.for_each_block(
      low.block_rows(), [&](const Chunk& chunk) { low.add<Real>(chunk.row_in_block, chunk.features, chunk.weights); },
      [&](Index first_row, Index rows) {
        report(progress_, "accumulating", static_cast<double>(first_row) / static_cast<double>(rows_.row_count()));
        low.begin_block(rows);
      },
      products_of(low));
}

template <class Real>
Index RowOperator<Real>::size() const {
  return coupling().is_constant() ? map_.columns() : coupling().parameters();
}

template <class Real>
Matrix<double> RowOperator<Real>::expand(ConstMatrix v) const {
  if (coupling().is_constant()) return Matrix<double>(v);
  const Index p = coupling().outputs();
  Matrix<double> w(map_.columns(), v.cols * p);
  Matrix<double> one(map_.columns(), p);
  std::vector<double> theta(at(v.rows));
  for (Index s = 0; s < v.cols; ++s) {
    for (Index k = 0; k < v.rows; ++k) theta[at(k)] = v(k, s);
    coupling().expand(theta, one);
    for (Index c = 0; c < w.rows(); ++c) std::ranges::copy(one.row(c), w.row(c).subspan(at(s * p)).begin());
  }
  return w;
}

template <class Real>
void RowOperator<Real>::contract(ConstMatrix s, MutMatrix out) const {
  if (coupling().is_constant()) {
    for (Index c = 0; c < s.rows; ++c) std::ranges::copy(s.row(c), out.row(c).begin());
    return;
  }
  const Index p = coupling().outputs();
  std::vector<double> theta(at(out.rows));
  for (Index k = 0; k < out.cols; ++k) {
    coupling().contract(s.col_range(k * p, p), theta);
    for (Index i = 0; i < out.rows; ++i) out(i, k) = theta[at(i)];
  }
}

template <class Real>
template <class Fill>
Matrix<double> RowOperator<Real>::adjoint_pass(Index cols, const Fill& fill, LowGram* low, Summed summed) {
  const Index m = map_.columns();
  for (LaneSums& lane : *sums_) lane.expect(cols, m);
  const auto start = [&](Index first_row, Index rows) {
    report(progress_, "passing over the rows", static_cast<double>(first_row) / static_cast<double>(rows_.row_count()));
    if (low != nullptr) low->begin_block(rows);
  };
  const auto rounded_with_targets = [&](const Chunk& chunk, MatrixView<const Real> f) {
    return summed == Summed::as_rounded && low->takes_targets() && chunk.weights.empty() &&
           low->add_with_targets<Real>(chunk.row_in_block, chunk.features, f.col_range(1, cols - 1));
  };
  const auto consume = [&](const Chunk& chunk) {
    if (chunk.first_of_stretch) stretches_.begin(chunk.slot, cols, m);
    Matrix<Real> f(chunk.features.rows, cols);
    fill(chunk, f.view());
    if (!rounded_with_targets(chunk, f)) {
      if (summed == Summed::as_rounded) low->round_and_add(chunk.row_in_block, chunk.features, chunk.weights);
      stretches_.of(chunk.slot).add(chunk.features, f);
      if (low != nullptr && summed == Summed::exactly) low->add<Real>(chunk.row_in_block, chunk.features, chunk.weights);
    }
  };
  const typename FeatureChunks<Real>::Ends ends{lanes_for(cols, m, std::ssize(*sums_)), [&](Index lane, Index slot) {
                                                  (*sums_)[at(lane)].add(stretches_.of(slot));
                                                  stretches_.end(slot);
                                                }};
  if (low != nullptr) {
    chunks_.for_each_block(low->block_rows(), consume, start, products_of(*low), ends);
  } else {
    chunks_.for_each(consume, start, ends);
  }
  const std::vector<double> ones = sums_of_factors(cols);
  constexpr Index strip = 256;
  Matrix<double> result(m, cols);
  parallel_for((m + strip - 1) / strip, [&](Index task) {
    const Index first = task * strip;
    const Index width = std::min(strip, m - first);
    std::array<double, at(strip)> sum{};
    for (Index k = 0; k < cols; ++k) {
      for (Index c = 0; c < width; ++c) sum[at(c)] = -system_.mean_feature[at(first + c)] * ones[at(k)];
      for (const LaneSums& lane : *sums_) {
        if (!lane.any()) continue;
        const double* part = lane.row(k).data() + first;
        for (Index c = 0; c < width; ++c) sum[at(c)] += part[c];
      }
      for (Index c = 0; c < width; ++c) result(first + c, k) = sum[at(c)];
    }
  });
  return result;
}

template <class Real>
void RowOperator<Real>::apply(ConstMatrix v, MutMatrix out, Matrix<double>* uncoupled) {
  Matrix<double> s = gram_times(expand(v));
  contract(s, out);
  if (uncoupled != nullptr) *uncoupled = std::move(s);
}

template <class Real>
std::vector<double> RowOperator<Real>::sums_of_factors(Index cols) const {
  std::vector<double> ones(at(cols), 0.0);
  for (const LaneSums& lane : *sums_) {
    for (Index k = 0; lane.any() && k < cols; ++k) ones[at(k)] += lane.ones()[at(k)];
  }
  return ones;
}

template <class Real>
SampledErrors RowOperator<Real>::measured(const RoundingSample& sample, Index columns, const Reduce& reduce) const {
  SampledErrors errors = sample.errors(size(), columns, reduce);
  // An estimate by few rows deserves less trust. Rows that lose more digits than those of the sample do are not among them.
  const double others = sample.largest_unit() > 0 ? std::max(1.0, single_unit_ / sample.largest_unit()) : 1.0;
  errors.caution = (3 + 48 / static_cast<double>(std::max<Index>(1, sample.rows()))) * others;
  return errors;
}

template <>
SampledErrors RowOperator<float>::apply_and_measure(ConstMatrix v, MutMatrix out) {
  const Matrix<double> w = expand(v);
  const std::vector<double> offset = mean_times(system_.mean_feature, w);
  RoundingSample sample(map_, w, system_.mean_feature, offset, sampled_, rows_.row_count());
  contract(gram_pass(w, offset, [&](const Chunk& chunk, MatrixView<const float> f) { sample.look(chunk, f); }), out);
  return measured(sample, v.cols, [&](ConstMatrix s, MutMatrix g) { contract(s, g); });
}

template <class Real>
LeftOfTargets RowOperator<Real>::left_of_targets(ConstMatrix w, double scale) {
  return left_pass(w, mean_times(system_.mean_feature, w), scale, [](const Chunk&, MatrixView<const Real>) {});
}

template <>
LeftOfTargets RowOperator<float>::left_and_measured(ConstMatrix w, double scale, Index columns, const Reduce& reduce,
                                                    SampledErrors& errors) {
  const std::vector<double> mean = system_.mean_feature;  // the pass finds a better one
  const std::vector<double> offset = mean_times(mean, w);
  RoundingSample sample(map_, w, mean, offset, sampled_, rows_.row_count(), TargetsLeft{system_.mean_target, scale});
  LeftOfTargets left =
      left_pass(w, offset, scale, [&](const Chunk& chunk, MatrixView<const float> f) { sample.look(chunk, f); });
  errors = measured(sample, columns, reduce);
  return left;
}

template <class Real>
template <class Look>
LeftOfTargets RowOperator<Real>::left_pass(ConstMatrix w, std::span<const double> offset, double scale, const Look& look) {
  const Index p = rows_.target_count();
  const ThinWeights<Real> weights(w);
  Matrix<double> squares(chunks_.slots(), p);
  // One more column, Σ w(φ - mean), mends the mean.
  Matrix<double> sums = adjoint_pass(w.cols + 1, [&](const Chunk& chunk, MatrixView<Real> factors) {
    const MatrixView<Real> f = factors.col_range(0, w.cols);
    weights.forward(chunk.features, f);
    chunk.centre_and_weigh(offset, f);
    chunk.take_from_targets(system_.mean_target, scale, f);
    look(chunk, f);
    const std::span<double> square = squares.row(chunk.slot);
    for (Index i = 0; i < f.rows; ++i) {
      const double weight = chunk.weight(i);
      factors(i, w.cols) = static_cast<Real>(weight);
      if (!(weight > 0)) continue;
      const Real* left = f.row(i).data();
      for (Index a = 0; a < p; ++a) square[at(a)] += static_cast<double>(left[a]) * static_cast<double>(left[a]) / weight;
    }
  });
  const std::vector<double> ones = sums_of_factors(w.cols + 1);
  LeftOfTargets left{Matrix<double>(w.rows, w.cols), std::vector<double>(at(p), 0.0), {}};
  for (Index slot = 0; slot < squares.rows(); ++slot) {
    for (Index a = 0; a < p; ++a) left.squares[at(a)] += squares(slot, a);
  }
  for (Index c = 0; c < w.rows; ++c) {
    const double shift = system_.intercept ? sums(c, w.cols) / system_.weight : 0.0;
    for (Index k = 0; k < w.cols; ++k) left.sums(c, k) = sums(c, k) - shift * ones[at(k)];
    system_.mean_feature[at(c)] += shift;
  }
  left.mean_feature = system_.mean_feature;
  // Σ w(e - mean)²: the mean of e is what the means of features were off by, times W.
  for (Index a = 0; a < p && system_.intercept; ++a) left.squares[at(a)] -= ones[at(a)] * ones[at(a)] / system_.weight;
  return left;
}

template <class Real>
Matrix<double> RowOperator<Real>::gram_times(ConstMatrix w) {
  return gram_pass(w, mean_times(system_.mean_feature, w), [](const Chunk&, MatrixView<const Real>) {});
}

template <class Real>
template <class Look>
Matrix<double> RowOperator<Real>::gram_pass(ConstMatrix w, std::span<const double> offset, const Look& look) {
  const ThinWeights<Real> weights(w);
  return adjoint_pass(w.cols, [&](const Chunk& chunk, MatrixView<Real> f) {
    weights.forward(chunk.features, f);
    chunk.centre_and_weigh(offset, f);
    look(chunk, f);
  });
}

template <class Real>
void RowOperator<Real>::random_rhs(std::string_view what, MutMatrix out) {
  const Index p = coupling().is_constant() ? 1 : coupling().outputs();
  const Stream stream(0, what);
  const Matrix<double> sum = adjoint_pass(out.cols * p, [&](const Chunk& chunk, MatrixView<Real> f) {
    for (Index i = 0; i < f.rows; ++i) {
      const double root = std::sqrt(chunk.weight(i));
      for (Index k = 0; k < f.cols; ++k) {
        f(i, k) = static_cast<Real>(
            root * stream.normal(static_cast<std::uint64_t>(chunk.first_row + i), static_cast<std::uint64_t>(k)));
      }
    }
  });
  contract(sum, out);
}

template <class Real>
Matrix<double> RowOperator<Real>::sample_rows(Index count, double& weight) {
  const Index p = coupling().is_constant() ? 1 : coupling().outputs();
  const Index n = rows_.row_count();
  const Index every = std::max<Index>(1, n / std::max<Index>(1, count / p));
  const Index kept = (n + every - 1) / every;
  Matrix<double> result(kept * p, size());
  std::vector<double> weights(at(kept), 0.0);
  chunks_.for_each([&](const Chunk& chunk) {
    Matrix<double> one(1, map_.columns());
    for (Index i = 0; i < chunk.features.rows; ++i) {
      const Index row = chunk.first_row + i;
      if (row % every != 0) continue;
      const double root = std::sqrt(chunk.weight(i));
      weights[at(row / every)] = root * root;
      for (Index c = 0; c < one.cols(); ++c)
        one(0, c) = root * (static_cast<double>(chunk.features(i, c)) - system_.mean_feature[at(c)]);
      if (coupling().is_constant()) {
        std::ranges::copy(one.row(0), result.row(row / every).begin());
      } else {
        coupling().dense_rows(one, result.view().row_range(row / every * p, p));
      }
    }
  });
  weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  return result;
}

template class RowOperator<float>;
template class RowOperator<double>;

}  // namespace mercer
