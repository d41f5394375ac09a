#include "solve/low_gram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/touched.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// Rows of whole cache lines.
Index aligned(Index columns) {
  return (columns + 15) / 16 * 16;
}

template <class Rows>
Rows packed_rows(bool wanted, Index rows, Index columns) {
  return wanted ? Rows(rows, columns) : Rows(0, 0);
}
template <class Rows>
std::array<Rows, 2> packed_blocks(bool first, bool second, Index rows, Index columns) {
  return {packed_rows<Rows>(first, rows, columns), packed_rows<Rows>(second, rows, columns)};
}

/// Of weights, in the first of so many columns.
template <class Real>
Matrix<Real> square_roots(std::span<const double> weights, Index rows, Index columns) {
  Matrix<Real> roots(rows, columns);
  for (Index i = 0; i < rows; ++i) roots(i, 0) = weights.empty() ? Real(1) : static_cast<Real>(std::sqrt(weights[at(i)]));
  return roots;
}
template <class Real>
void scale_rows(MatrixView<Real> a, MatrixView<const Real> by) {
  for (Index i = 0; i < a.rows; ++i) {
    for (Real& v : a.row(i)) v *= by(i, 0);
  }
}

/// The nearest whole number of one below 2²², as the products of bytes have it, in a way that every CPU does for several
/// numbers at a time.
float nearest(float v) {
  constexpr float large = 0x1.8p23F;
  return (v + large) - large;
}
double nearest(double v) {
  constexpr double large = 0x1.8p52;
  return (v + large) - large;
}

/// A target is a whole number of steps, v = 128²a + 128b + c with |a| ≤ 127 and |b|, |c| ≤ 64.
constexpr Index target_bytes = 3;
constexpr double target_step = 0x1p-15;
constexpr std::array<double, target_bytes> byte_units = {target_step * 128 * 128, target_step * 128, target_step};

std::array<double, target_bytes> bytes_of(double target) {
  const double v = nearest(target / target_step);
  const double a = nearest(v / (128 * 128));
  const double b = nearest((v - 128 * 128 * a) / 128);
  return {a, b, v - 128 * 128 * a - 128 * b};
}

/// Each makes the matrix larger by three columns: more than an eighth of them would take longer than sums of floats.
Index targets_along(GramPrecision precision, Index columns, Index targets) {
  return precision == GramPrecision::int8 && 8 * target_bytes * targets <= columns ? targets : 0;
}

/// Of bytes, whose sums are exact whatever the blocks, few threads get fewer: packed rows are fresh memory, three bytes for
/// each number of a block, and two threads wait for each other no longer after 4096 rows than after 8192.
Index rows_at_once(GramPrecision precision, Index most_rows) {
  constexpr Index for_each_thread = 2048;
  return precision == GramPrecision::int8 ? std::min(most_rows, for_each_thread * threads()) : most_rows;
}

std::string path_words(LowNumber number) {
  switch (active_path(number)) {
    case PackedPath::amx:
      return " (AMX)";
    case PackedPath::avx512:
      return " (AVX-512)";
    default:
      return " (portable)";
  }
}

}  // namespace

std::string words(GramPrecision gram) {
  switch (gram) {
    case GramPrecision::int8:
      return "int8" + path_words(LowNumber::int8);
    case GramPrecision::bf16:
      return "bf16" + path_words(LowNumber::bf16);
    case GramPrecision::bf16_three:
      return "three bf16 products" + path_words(LowNumber::bf16);
    case GramPrecision::float32:
      break;
  }
  return "float32";
}

LowGram::LowGram(Index columns, Index most_rows, GramPrecision precision, const std::vector<double>& bounds, Index targets)
    : precision_(precision),
      block_rows_(rows_at_once(precision, most_rows)),
      columns_(columns),
      targets_(targets_along(precision, columns, targets)),
      bytes_(packed_blocks<ByteRows>(precision == GramPrecision::int8, precision == GramPrecision::int8, block_rows_,
                                     columns + 1 + target_bytes * targets_)),
      packed_(packed_blocks<BfloatRows>(precision == GramPrecision::bf16 || precision == GramPrecision::bf16_three,
                                        precision == GramPrecision::bf16, block_rows_, columns + 1)),
      rest_(packed_rows<BfloatRows>(precision == GramPrecision::bf16_three, block_rows_, columns + 1)) {
  const Index size = columns + 1 + target_bytes * targets_;
  if (integer()) {
    if (static_cast<Index>(bounds.size()) != columns) fail_internal("features without bounds cannot be rounded to bytes");
    for (const double bound : bounds) scales_.push_back(bound > 0 ? static_cast<float>(127 / bound) : 1.0F);
    for (const float scale : scales_) steps_.push_back(1 / scale);
    scales_.push_back(127.0F);
    scales_.resize(at(size), 1.0F);
    counts_ = touched<std::int32_t>(size, aligned(size));
  } else if (precision == GramPrecision::float32) {
    rows_ = Matrix<float>(block_rows_, size);
    sum_ = Matrix<double>(size, size, Pages::small);
  } else {
    gram_ = touched<float>(size, aligned(size));
  }
}

void LowGram::begin_block(Index rows) {
  multiply_block();
  row_count_ = rows;
  rows_seen_ += rows;
  const auto set_rows = [&](auto& packed) {
    if (packed.cols() > 0) packed.set_rows(rows);
  };
  set_rows(bytes_[gathered_]);
  set_rows(packed_[gathered_]);
  set_rows(rest_);
}

Index LowGram::tasks() const {
  return byte_tasks_ ? byte_tasks_->count() : bfloat_tasks_ ? bfloat_tasks_->count() : 0;
}

void LowGram::run(Index task) const {
  if (byte_tasks_) {
    byte_tasks_->run(task);
  } else {
    bfloat_tasks_->run(task);
  }
}

template <class Real>
void LowGram::add(Index row_in_block, MatrixView<const Real> features, std::span<const double> weights) {
  const Matrix<Real> beside = square_roots<Real>(weights, features.rows, 1 + target_bytes * targets_);
  if (weights.empty()) return pack<Real>(row_in_block, features, beside);
  Matrix<Real> scaled(features);
  scale_rows<Real>(scaled, beside);
  pack<Real>(row_in_block, scaled, beside);
}

template <class Real>
bool LowGram::add_with_targets(Index row_in_block, MatrixView<const Real> features, MatrixView<const Real> targets) {
  if (targets.cols != targets_) fail_internal("not as many targets go along as were foreseen");
  Matrix<Real> beside = square_roots<Real>({}, features.rows, 1 + target_bytes * targets_);
  for (Index i = 0; i < targets.rows; ++i) {
    const std::span<Real> bytes = beside.row(i).subspan(1);
    for (Index a = 0; a < targets.cols; ++a) {
      const auto target = static_cast<double>(targets(i, a));
      if (!(std::abs(target) <= most_target)) return false;
      std::ranges::transform(bytes_of(target), bytes.begin() + target_bytes * a,
                             [](double v) { return static_cast<Real>(v); });
    }
  }
  pack<Real>(row_in_block, features, beside);
  return true;
}

template <class Real>
void LowGram::round_and_add(Index row_in_block, MatrixView<Real> features, std::span<const double> weights) {
  const Matrix<Real> beside = square_roots<Real>(weights, features.rows, 1 + target_bytes * targets_);
  if (!weights.empty()) scale_rows<Real>(features, beside);
  pack<Real>(row_in_block, features, beside);
  for (Index i = 0; i < features.rows; ++i) {
    const std::span<Real> row = features.row(i);
    if (integer()) {
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = nearest(row[c] * Real(scales_[c])) * Real(steps_[c]);
    } else if (precision_ == GramPrecision::bf16) {
      for (Real& v : row) v = rounded_to_bfloat(v);
    }
  }
}

template <class Real>
void LowGram::pack(Index row_in_block, MatrixView<const Real> features, MatrixView<const Real> beside) {
  if (precision_ == GramPrecision::float32) {
    for (Index i = 0; i < features.rows; ++i) {
      const std::span<float> row = rows_.row(row_in_block + i);
      std::ranges::transform(features.row(i), row.begin(), [](Real v) { return static_cast<float>(v); });
      row.back() = static_cast<float>(beside(i, 0));
    }
    return;
  }
  if (integer()) {
    for (Index i = 0; i < beside.rows; ++i) {
      if (beside(i, 0) != 1) fail_internal("rows with weights are not rounded to bytes");
    }
    bytes_[gathered_].pack<Real>(row_in_block, features, beside, scales_);
    return;
  }
  packed_[gathered_].pack<Real>(row_in_block, features, beside);
  if (precision_ == GramPrecision::bf16) return;
  const auto remainder = [](Real v) { return v - rounded_to_bfloat(v); };
  Matrix<Real> rest(features);
  Matrix<Real> rest_beside(beside);
  for (Matrix<Real>* a : {&rest, &rest_beside}) std::ranges::transform(a->values(), a->values().begin(), remainder);
  rest_.pack<Real>(row_in_block, rest, rest_beside);
}

template void LowGram::add(Index, MatrixView<const float>, std::span<const double>);
template void LowGram::add(Index, MatrixView<const double>, std::span<const double>);
template bool LowGram::add_with_targets(Index, MatrixView<const float>, MatrixView<const float>);
template bool LowGram::add_with_targets(Index, MatrixView<const double>, MatrixView<const double>);
template void LowGram::round_and_add(Index, MatrixView<float>, std::span<const double>);
template void LowGram::round_and_add(Index, MatrixView<double>, std::span<const double>);

Index LowGram::most_summed_rows() const {
  switch (precision_) {
    case GramPrecision::int8:
      return (Index{1} << 31) / (Index{127} * 127);
    case GramPrecision::bf16:
      return Index{1} << 16;
    default:
      return Index{1} << 14;
  }
}

void LowGram::multiply_block() {
  byte_tasks_.reset();
  bfloat_tasks_.reset();
  if (row_count_ == 0) return;
  if (precision_ == GramPrecision::float32) {
    constexpr Index rows = 2048;  // float sums of more would lose digits
    for (Index first = 0; first < row_count_; first += rows)
      accumulate_gram<float>(rows_.view().row_range(first, std::min(rows, row_count_ - first)), sum_);
    return;
  }
  if (summed_rows_ > 0 && summed_rows_ + row_count_ > most_summed_rows()) flush();
  summed_rows_ += row_count_;
  const Index size = std::max(counts_.rows(), gram_.rows());
  const std::size_t next = 1 - gathered_;
  const auto among_others = [&](auto& blocks, auto& tasks, auto sums) {
    blocks[gathered_].adopt_reordered(blocks[next]);
    tasks.emplace(blocks[gathered_], blocks[gathered_], sums);
    gathered_ = next;
  };
  if (integer()) {
    among_others(bytes_, byte_tasks_, counts_.view().col_range(0, size));
  } else if (precision_ == GramPrecision::bf16) {
    among_others(packed_, bfloat_tasks_, gram_.view().col_range(0, size));
  } else {  // three products of the same tiles, one after the other
    const MatrixView<float> gram = gram_.view().col_range(0, size);
    accumulate_gram<float>(packed_[gathered_], gram);
    accumulate_gram(packed_[gathered_], rest_, gram);
  }
}

void LowGram::flush() {
  const auto move = [&](auto& part) {
    if (sum_.empty()) sum_ = Matrix<double>(part.rows(), part.rows(), Pages::small);
    parallel_for(part.rows(), [&](Index i) {
      for (Index j = 0; j <= i; ++j) sum_(i, j) += static_cast<double>(part(i, j));
      std::ranges::fill(part.row(i), 0);
    });
  };
  if (integer()) {
    move(counts_);
  } else {
    move(gram_);
  }
  summed_rows_ = 0;
}

void LowGram::finish_products() {
  begin_block(0);
  parallel_for(tasks(), [&](Index task) { run(task); });
  byte_tasks_.reset();
  bfloat_tasks_.reset();
  bytes_ = packed_blocks<ByteRows>(false, false, 0, 0);
  packed_ = packed_blocks<BfloatRows>(false, false, 0, 0);
  rest_ = BfloatRows(0, 0);
  rows_ = {};
  if (sum_.empty()) return;
  if (summed_rows_ > 0) flush();
  counts_ = {};
  gram_ = {};
}

template <class Work>
void LowGram::with_sums(const Work& work) const {
  if (!sum_.empty()) {
    work(sum_);
  } else if (integer()) {
    work(counts_);
  } else {
    work(gram_);
  }
}

LowGram::TargetSums LowGram::sums_with_targets() {
  finish_products();
  TargetSums result{std::vector<double>(at(columns_)), std::vector<double>(at(targets_)),
                    Matrix<double>(columns_, targets_)};
  with_sums([&](const auto& sums) {
    const auto sum = [&](Index i, Index j) { return static_cast<double>(sums(i, j)) / static_cast<double>(scales_[at(j)]); };
    for (Index j = 0; j < columns_; ++j)
      result.features[at(j)] = sum(columns_, j) / static_cast<double>(scales_[at(columns_)]);
    for (Index a = 0; a < targets_; ++a) {
      for (Index k = 0; k < target_bytes; ++k) {
        const Index row = columns_ + 1 + target_bytes * a + k;
        result.targets[at(a)] += byte_units[at(k)] * sum(row, columns_);
        for (Index j = 0; j < columns_; ++j) result.products(j, a) += byte_units[at(k)] * sum(row, j);
      }
    }
  });
  return result;
}

std::vector<double> LowGram::move_into(NormalSystem& system) {
  finish_products();
  const Index m = columns_;
  std::vector<double> units(at(m + 1), 1.0);
  for (std::size_t j = 0; j < std::min(units.size(), scales_.size()); ++j) units[j] = 1 / static_cast<double>(scales_[j]);
  with_sums([&](const auto& sums) {
    std::vector<double> ones(at(m));  // Σ √w·√wφ of the rounded rows
    for (Index j = 0; j < m; ++j) ones[at(j)] = static_cast<double>(sums(m, j)) * units[at(m)] * units[at(j)];
    const double total = static_cast<double>(sums(m, m)) * units[at(m)] * units[at(m)];
    const bool centre = system.intercept && total > 0;
    system.gram = Matrix<double>(m, m, Pages::small);
    parallel_for(m, [&](Index i) {
      const double mean = centre ? ones[at(i)] / total : 0.0;
      const auto* sum = sums.row(i).data();
      double* row = system.gram.row(i).data();
      for (Index j = 0; j <= i; ++j)
        row[j] = static_cast<double>(sum[j]) * (units[at(i)] * units[at(j)]) - mean * ones[at(j)];
    });
  });
  counts_ = {};
  gram_ = {};
  sum_ = {};
  if (!integer() || rows_seen_ < m + 1) return {};
  const double least = std::pow(std::sqrt(static_cast<double>(rows_seen_)) - std::sqrt(static_cast<double>(m + 1)), 2);
  units.pop_back();  // ones are not rounded
  for (double& unit : units) unit *= least * unit / 12;
  return units;
}

}  // namespace mercer
