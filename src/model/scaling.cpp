#include "model/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/touched.hpp"
#include "model/words.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

constexpr Index sample_rows = 1000;

/// One row of every thousandth of n, by chance: rows that come in turns (two sensors, day and night) would all be of one
/// kind at even steps.
Index sampled_row(const Stream& stream, Index sample, Index samples, Index n) {
  if (sample == samples) return n;
  const Index first = sample * n / samples;
  const Index count = (sample + 1) * n / samples - first;
  return first + std::min(count - 1, static_cast<Index>(stream.uniform(static_cast<std::uint64_t>(sample), 0) *
                                                        static_cast<double>(count)));
}

/// Weighted means and variances of columns, updated row by row (West 1979): no cancellation at offset 1e6.
struct Moments {
  explicit Moments(Index columns) : mean(at(columns), 0.0), variance(at(columns), 0.0) {}
  double weight = 0;
  std::vector<double> mean;
  std::vector<double> variance;  ///< never a sum: large weights and many rows leave it within the range of doubles

  void add(std::span<const double> values, double w) {
    if (w == 0) return;
    weight += w;
    const double share = w / weight;
    for (std::size_t j = 0; j < mean.size(); ++j) {
      const double delta = values[j] - mean[j];
      mean[j] += share * delta;
      variance[j] = (1 - share) * variance[j] + share * delta * ((1 - share) * delta);
    }
  }
  /// Of other rows (Chan, Golub and LeVeque 1983).
  void add(const Moments& other) {
    if (other.weight == 0) return;
    weight += other.weight;
    const double share = other.weight / weight;
    for (std::size_t j = 0; j < mean.size(); ++j) {
      const double delta = other.mean[j] - mean[j];
      mean[j] += share * delta;
      variance[j] = (1 - share) * variance[j] + share * delta * ((1 - share) * delta) + share * other.variance[j];
    }
  }
};

/// A number that is refused, before its source is asked for names.
struct Refused {
  RowPart part;
  Index column;
  Index row;
  std::string why;

  [[noreturn]] void fail(const RowSource& rows) const {
    fail_argument(rows.name_of(part, column) + " in " + rows.place_of(row) + " " + why);
  }
};

void check_finite(std::span<const double> values, Index row, RowPart part) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (!std::isfinite(values[j]))
      throw Refused{part, static_cast<Index>(j), row, "is " + shortest(values[j]) + ": every value must be finite"};
  }
}

constexpr Index checked_rows = 256;
/// work(first, end) for stretches of `checked_rows` of a block; then the first number of any that was refused, by the names
/// of its source.
template <class Work>
void for_checked_rows(const RowSource& source, Index rows, const Work& work) {
  const Index stretches = (rows + checked_rows - 1) / checked_rows;
  std::vector<std::optional<Refused>> refused(at(stretches));
  parallel_for(stretches, [&](Index stretch) {
    try {
      work(stretch * checked_rows, std::min(rows, (stretch + 1) * checked_rows));
    } catch (const Refused& number) {
      refused[at(stretch)] = number;
    }
  });
  for (const std::optional<Refused>& first : refused) {
    if (first) first->fail(source);
  }
}

Index class_number(double target, Index classes, Index row) {
  if (!(target >= 0 && target < static_cast<double>(classes) && target == std::floor(target))) {
    throw Refused{RowPart::target, 0, row,
                  "is " + shortest(target) + ", and a class is a whole number from 0 to " + std::to_string(classes - 1)};
  }
  return static_cast<Index>(target);
}

/// The row with the largest weight.
struct Heaviest {
  double weight = 0;
  Index row = 0;
  Index present = 0;  ///< rows that have any

  void add(const Heaviest& other) {
    present += other.present;
    if (!(other.weight > weight)) return;
    weight = other.weight;
    row = other.row;
  }
  void refuse_alone(double all, const RowSource& rows) const {
    if (present < 2 || all - weight > 1e-15 * weight) return;
    Refused{RowPart::weight, 0, row,
            "is " + shortest(weight) + ", beside which the " + counted(present - 1, "other row") +
                " count for nothing: check the weights"}
        .fail(rows);
  }
};

/// The largest value of columns whose variance is not finite.
struct Largest {
  double value = 0;  ///< its size
  Index column = 0;
  Index row = 0;

  void look_at(std::span<const double> values, Index at_row, const std::vector<double>& variance) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (std::isfinite(variance[j]) || !(std::abs(values[j]) > value)) continue;
      value = std::abs(values[j]);
      column = static_cast<Index>(j);
      row = at_row;
    }
  }
  void refuse(RowPart part, const RowSource& rows) const {
    if (!(value > 0)) return;
    Refused{part, column, row,
            "has size " + shortest(value) +
                ", too large to be squared: leave the row out, or divide the column by a power of ten"}
        .fail(rows);
  }
};

/// Targets that are not constant, though their variance is none that a double can hold: they would be taken for constant
/// ones. (Inputs that vary so little are: there is nothing to be learned from them.)
void refuse_tiny_targets(const RowSource& rows, const RowSummary& summary) {
  const ConstMatrix sample = summary.target_sample;
  for (Index j = 0; j < sample.cols; ++j) {
    if (!(summary.target_variance[at(j)] < std::numeric_limits<double>::min())) continue;
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (Index i = 0; i < sample.rows; ++i) {
      if (!(summary.sample_weight[at(i)] > 0)) continue;
      least = std::min(least, sample(i, j));
      most = std::max(most, sample(i, j));
    }
    const double range = most - least;
    if (!(range > 1e-13 * std::max(std::abs(least), std::abs(most)))) continue;  // constant, as scale_of has it
    fail_argument("the values of " + rows.name_of(RowPart::target, j) + " differ by " + rounded(range) +
                  ", too little to be squared: multiply the column by a power of ten");
  }
}

/// A scale that does not turn rounding noise into signal: columns that are constant up to 1e-13 of their size keep 1.
double scale_of(double variance, double mean) {
  const double deviation = std::sqrt(variance);
  return deviation > 1e-13 * std::abs(mean) && deviation > 0 && std::isfinite(deviation) ? deviation : 1.0;
}

/// Nothing that is learned from squares beyond the range of doubles would be right. One more pass where there are any.
void refuse_extremes(RowSource& rows, const RowSummary& summary) {
  const auto finite = [](double v) { return std::isfinite(v); };
  if (std::ranges::all_of(summary.input_variance, finite) && std::ranges::all_of(summary.target_variance, finite)) {
    refuse_tiny_targets(rows, summary);
    return;
  }
  Largest input;
  Largest target;
  RowBlock block;
  rows.rewind();
  while (rows.next(4096, block)) {
    for (Index i = 0; i < block.rows(); ++i) {
      if (!block.weights.empty() && block.weights[at(i)] == 0) continue;
      input.look_at(block.inputs.row(i), block.first_row + i, summary.input_variance);
      target.look_at(block.targets.row(i), block.first_row + i, summary.target_variance);
    }
  }
  input.refuse(RowPart::input, rows);
  target.refuse(RowPart::target, rows);
}

}  // namespace

Scaling Scaling::identity(Index inputs, Index targets) {
  return {std::vector<double>(at(inputs), 0.0), std::vector<double>(at(inputs), 1.0), std::vector<double>(at(targets), 0.0),
          std::vector<double>(at(targets), 1.0)};
}

std::vector<bool> scale_inputs(const Scaling& scaling, ConstMatrix x, MutMatrix scaled) {
  std::vector<bool> bad(at(x.rows), false);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index k = 0; k < x.cols; ++k) {
      const double v = (x(i, k) - scaling.input_shift[at(k)]) / scaling.input_scale[at(k)];
      if (!std::isfinite(v)) bad[at(i)] = true;
      scaled(i, k) = v;
    }
    if (bad[at(i)]) std::ranges::fill(scaled.row(i), 0.0);
  }
  return bad;
}

RowSummary summarize(RowSource& rows, Progress* progress) {
  constexpr Index block_rows = 16384;
  const Index n = rows.row_count();
  if (n < 0) fail_argument("the number of rows must be known before fitting");
  RowSummary summary;
  struct Stretch {
    Moments inputs;
    Moments targets;
    Heaviest heaviest;
  };
  const Stretch empty{Moments(rows.input_count()), Moments(rows.target_count()), {}};
  Stretch all = empty;
  const Index samples = std::min(n, sample_rows);
  summary.sample = Matrix<double>(samples, rows.input_count());
  summary.target_sample = Matrix<double>(samples, rows.target_count());
  const Stream stream(0, "rows of the summary");
  Index sample = 0;
  Index next = sampled_row(stream, sample, samples, n);
  RowBlock block;
  rows.rewind();
  while (rows.next(block_rows, block)) {
    report(progress, "scanning", static_cast<double>(block.first_row) / static_cast<double>(n));
    const auto weight = [&](Index i) { return block.weights.empty() ? 1.0 : block.weights[at(i)]; };
    std::vector<Stretch> stretches(at((block.rows() + checked_rows - 1) / checked_rows), empty);
    for_checked_rows(rows, block.rows(), [&](Index first, Index end) {
      Stretch& stretch = stretches[at(first / checked_rows)];
      for (Index i = first; i < end; ++i) {
        const Index row = block.first_row + i;
        const double w = weight(i);
        if (!(w >= 0) || !std::isfinite(w))
          throw Refused{RowPart::weight, 0, row, "is " + shortest(w) + ": weights must be finite and not negative"};
        check_finite(block.inputs.row(i), row, RowPart::input);
        check_finite(block.targets.row(i), row, RowPart::target);
        stretch.inputs.add(block.inputs.row(i), w);
        stretch.targets.add(block.targets.row(i), w);
        stretch.heaviest.add({w, row, w > 0 ? 1 : 0});
      }
    });
    for (const Stretch& stretch : stretches) {
      all.inputs.add(stretch.inputs);
      all.targets.add(stretch.targets);
      all.heaviest.add(stretch.heaviest);
      summary.weight += stretch.inputs.weight;
    }
    for (; next < block.first_row + block.rows(); next = sampled_row(stream, ++sample, samples, n)) {
      const Index i = next - block.first_row;
      std::ranges::copy(block.targets.row(i), summary.target_sample.row(sample).begin());
      std::ranges::copy(block.inputs.row(i), summary.sample.row(sample).begin());
      summary.sample_weight.push_back(weight(i));
    }
    summary.rows += block.rows();
  }
  if (summary.rows == 0) fail_argument("there are no rows to learn from");
  if (!(summary.weight > 0)) fail_argument("the weights of all rows are 0: there is nothing to learn from");
  all.heaviest.refuse_alone(summary.weight, rows);
  if (!std::isfinite(summary.weight)) {
    fail_argument("the weights add up to more than a number can be (the largest is " + shortest(all.heaviest.weight) +
                  "): divide them by it");
  }
  summary.input_mean = all.inputs.mean;
  summary.input_variance = all.inputs.variance;
  summary.target_mean = all.targets.mean;
  summary.target_variance = all.targets.variance;
  refuse_extremes(rows, summary);
  return summary;
}

Scaling standardizing(const RowSummary& summary, bool shared, bool scale_targets) {
  const auto scales = [&](const std::vector<double>& mean, const std::vector<double>& variance) {
    std::vector<double> scale;
    for (std::size_t j = 0; j < mean.size(); ++j) scale.push_back(scale_of(variance[j], mean[j]));
    if (shared && !scale.empty()) {
      double total = 0;
      double largest_mean = 0;
      for (std::size_t j = 0; j < mean.size(); ++j) {
        total += variance[j];
        largest_mean = std::max(largest_mean, std::abs(mean[j]));
      }
      std::ranges::fill(scale, scale_of(total / static_cast<double>(mean.size()), largest_mean));
    }
    return scale;
  };
  Scaling s;
  s.input_shift = summary.input_mean;
  s.input_scale = scales(summary.input_mean, summary.input_variance);
  if (scale_targets) {
    s.target_shift = summary.target_mean;
    s.target_scale = scales(summary.target_mean, summary.target_variance);
  }
  return s;
}

namespace {

/// The weighted median: the least value with half of the weight at or below it.
double median(std::vector<std::pair<double, double>> values) {
  std::ranges::sort(values);
  double total = 0;
  for (const auto& [value, weight] : values) total += weight;
  double below = 0;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (below >= total / 2) return value;
  }
  return 0;
}

}  // namespace

void scale_targets_robustly(const RowSummary& summary, bool shared, Scaling& scaling) {
  constexpr double normal = 1.4826;  // of a normal law, the standard deviation over the median absolute deviation
  const Index p = summary.target_sample.cols();
  std::vector<double> scale;
  for (Index a = 0; a < p; ++a) {
    std::vector<std::pair<double, double>> values;
    for (Index i = 0; i < summary.target_sample.rows(); ++i)
      values.emplace_back(summary.target_sample(i, a), summary.sample_weight[at(i)]);
    const double centre = median(values);
    for (auto& [value, weight] : values) value = std::abs(value - centre);
    const double spread = normal * median(values);
    if (!(spread > 1e-13 * std::abs(centre)) || !std::isfinite(spread)) return;
    scale.push_back(spread);
    scaling.target_shift[at(a)] = centre;
  }
  double square = 0;
  for (const double s : scale) square += s * s / static_cast<double>(p);
  for (Index a = 0; a < p; ++a) scaling.target_scale[at(a)] = shared ? std::sqrt(square) : scale[at(a)];
}

namespace {

struct Pair {
  double distance;
  double weight;
};

/// The least distance up to which pairs hold `share` of weight. Halving by selection, O(pairs): a sort took most of a small
/// fit.
double weighted_quantile(std::vector<Pair>& pairs, double share) {
  auto first = pairs.begin();
  auto last = pairs.end();
  while (last - first > 1) {
    const auto middle = first + (last - first) / 2;
    std::ranges::nth_element(first, middle, last, {}, &Pair::distance);
    double left = 0;
    for (auto pair = first; pair != middle; ++pair) left += pair->weight;
    if (left >= share) {
      last = middle;
    } else {
      share -= left;
      first = middle;
    }
  }
  return first->distance;
}

}  // namespace

double median_distance(const RowSummary& summary, const Scaling& scaling) {
  const Index n = summary.sample.rows();
  const Index d = summary.sample.cols();
  std::vector<Pair> pairs;  // apart
  pairs.reserve(at(n * (n - 1) / 2));
  double together = 0;  // weight of pairs at distance 0
  double total = 0;
  const auto add = [&](double distance, double weight) {
    if (!(weight > 0)) return;
    total += weight;
    if (distance > 0) {
      pairs.push_back({distance, weight});
    } else {
      together += weight;
    }
  };
  // In units of a power of 2 near the largest weight: squares of huge or tiny ones would leave the range of doubles.
  const double largest = n > 0 ? std::ranges::max(summary.sample_weight) : 0.0;
  if (!(largest > 0)) return 1;
  const double unit = std::exp2(std::ilogb(largest));
  const auto weight = [&](Index i) { return summary.sample_weight[at(i)] / unit; };
  for (Index i = 0; i < n; ++i) {
    const double wi = weight(i);
    add(0, wi * (wi - 1 / unit) / 2);
    for (Index j = 0; j < i; ++j) {
      double square = 0;
      for (Index k = 0; k < d; ++k) {
        const double delta = (summary.sample(i, k) - summary.sample(j, k)) / scaling.input_scale[at(k)];
        square += delta * delta;
      }
      add(std::sqrt(square), wi * weight(j));
    }
  }
  return pairs.empty() ? 1 : weighted_quantile(pairs, total / 2 - together);
}

ScaledRows::ScaledRows(RowSource& raw, const Scaling& scaling, const TargetCoding& coding, Index most_kept_bytes)
    : raw_(raw),
      scaling_(scaling),
      coding_(coding),
      keeps_(raw.row_count() >= 0 && static_cast<double>(raw.row_count()) * sizeof(double) *
                                             static_cast<double>(input_count() + target_count() + 1) <=
                                         static_cast<double>(most_kept_bytes)) {
  const auto inputs = static_cast<Index>(scaling.input_shift.size());
  const Index targets = coding.classifies() ? 1 : static_cast<Index>(scaling.target_shift.size());
  if (raw.input_count() != inputs || raw.target_count() != targets) {
    fail_argument("the rows have " + std::to_string(raw.input_count()) + " inputs and " +
                  std::to_string(raw.target_count()) + " targets, and " + std::to_string(inputs) + " and " +
                  std::to_string(targets) + " are needed");
  }
}

bool ScaledRows::next(Index max_rows, RowBlock& block) {
  check_stop();
  if (complete_) return give(std::min(max_rows, row_count() - position_), block);
  if (!raw_.next(max_rows, block)) {
    complete_ = keeps_ && position_ == row_count();
    return false;
  }
  const Index n = block.rows();
  keeps_ = keeps_ && position_ + n <= row_count();  // a source that has more rows than it says is none to keep
  const Index room = keeps_ ? row_count() : n;
  if (inputs_.rows() < room) {
    inputs_ = touched<double>(room, input_count());
    targets_ = touched<double>(room, target_count());
  }
  const Index first = keeps_ ? position_ : 0;
  for_checked_rows(raw_, n, [&](Index begin, Index end) { scale(block, begin, end, first); });
  if (!keeps_) {
    block.inputs = inputs_.view().row_range(0, n);
    block.targets = targets_.view().row_range(0, n);
    return true;
  }
  if (!block.weights.empty()) {
    weights_.resize(at(room), 1.0);
    std::ranges::copy(block.weights, weights_.begin() + position_);
  }
  return give(n, block);
}

bool ScaledRows::give(Index rows, RowBlock& block) {
  if (rows == 0) return false;
  block.first_row = position_;
  block.inputs = std::as_const(inputs_).view().row_range(position_, rows);
  block.targets = std::as_const(targets_).view().row_range(position_, rows);
  block.weights = std::span<const double>(weights_);
  if (!weights_.empty()) block.weights = block.weights.subspan(at(position_), at(rows));
  position_ += rows;
  return true;
}

void ScaledRows::scale(const RowBlock& block, Index begin, Index end, Index first) {
  const Index p = target_count();
  for (Index i = begin; i < end; ++i) {
    const Index row = block.first_row + i;
    check_finite(block.inputs.row(i), row, RowPart::input);
    check_finite(block.targets.row(i), row, RowPart::target);
    for (Index k = 0; k < inputs_.cols(); ++k) {
      inputs_(first + i, k) = (block.inputs(i, k) - scaling_.input_shift[at(k)]) / scaling_.input_scale[at(k)];
    }
    if (coding_.classifies()) {
      const Matrix<double>& codes = coding_.codes;
      std::ranges::copy(codes.row(class_number(block.targets(i, 0), codes.rows(), row)), targets_.row(first + i).begin());
      continue;
    }
    for (Index a = 0; a < p; ++a) {
      const Index t = a / coding_.copies;
      targets_(first + i, a) = (block.targets(i, t) - scaling_.target_shift[at(t)]) / scaling_.target_scale[at(t)];
    }
  }
}

}  // namespace mercer
