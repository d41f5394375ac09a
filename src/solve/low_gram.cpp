#include "solve/low_gram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

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

LowGram::LowGram(Index columns, Index block_rows, GramPrecision precision, const std::vector<double>& bounds)
    : precision_(precision),
      bytes_(packed_blocks<ByteRows>(precision == GramPrecision::int8, precision == GramPrecision::int8, block_rows,
                                     columns + 1)),
      packed_(packed_blocks<BfloatRows>(precision == GramPrecision::bf16 || precision == GramPrecision::bf16_three,
                                        precision == GramPrecision::bf16, block_rows, columns + 1)),
      rest_(packed_rows<BfloatRows>(precision == GramPrecision::bf16_three, block_rows, columns + 1)) {
  const Index size = columns + 1;
  if (integer()) {
    if (static_cast<Index>(bounds.size()) != columns) fail_internal("features without bounds cannot be rounded to bytes");
    for (const double bound : bounds) scales_.push_back(bound > 0 ? static_cast<float>(127 / bound) : 1.0F);
    scales_.push_back(127.0F);
    counts_ = Matrix<std::int32_t>(size, aligned(size));
  } else if (precision == GramPrecision::float32) {
    rows_ = Matrix<float>(block_rows, size);
    sum_ = Matrix<double>(size, size);
  } else {
    gram_ = Matrix<float>(size, aligned(size));
  }
}

void LowGram::begin_block(Index rows) {
  multiply_block();
  row_count_ = rows;
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
  std::vector<Real> ones(static_cast<std::size_t>(features.rows), Real(1));
  if (!weights.empty())
    std::ranges::transform(weights, ones.begin(), [](double w) { return static_cast<Real>(std::sqrt(w)); });
  if (precision_ == GramPrecision::float32) {
    for (Index i = 0; i < features.rows; ++i) {
      const Real root = ones[static_cast<std::size_t>(i)];
      const std::span<float> row = rows_.row(row_in_block + i);
      std::ranges::transform(features.row(i), row.begin(), [&](Real v) { return static_cast<float>(root * v); });
      row.back() = static_cast<float>(root);
    }
    return;
  }
  if (integer()) {
    if (!weights.empty()) fail_internal("rows with weights are not rounded to bytes");
    bytes_[gathered_].pack<Real>(row_in_block, features, ones, scales_);
    return;
  }
  if (weights.empty() && precision_ == GramPrecision::bf16) {
    packed_[gathered_].pack<Real>(row_in_block, features, ones);
    return;
  }
  Matrix<Real> scaled(features);
  for (Index i = 0; i < scaled.rows(); ++i) {
    for (Real& v : scaled.row(i)) v *= ones[static_cast<std::size_t>(i)];
  }
  packed_[gathered_].pack<Real>(row_in_block, scaled, ones);
  if (precision_ == GramPrecision::bf16) return;
  const auto remainder = [](Real v) { return v - rounded_to_bfloat(v); };
  std::ranges::transform(scaled.values(), scaled.values().begin(), remainder);
  std::ranges::transform(ones, ones.begin(), remainder);
  rest_.pack<Real>(row_in_block, scaled, ones);
}

template void LowGram::add(Index, MatrixView<const float>, std::span<const double>);
template void LowGram::add(Index, MatrixView<const double>, std::span<const double>);

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
    if (sum_.empty()) sum_ = Matrix<double>(part.rows(), part.rows());
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

double LowGram::value(Index i, Index j) const {
  const double sum = !sum_.empty() ? sum_(i, j)
                     : integer()   ? static_cast<double>(counts_(i, j))
                                   : static_cast<double>(gram_(i, j));
  if (!integer()) return sum;
  return sum / (static_cast<double>(scales_[static_cast<std::size_t>(i)]) *
                static_cast<double>(scales_[static_cast<std::size_t>(j)]));
}

void LowGram::move_into(NormalSystem& system) {
  begin_block(0);
  parallel_for(tasks(), [&](Index task) { run(task); });
  byte_tasks_.reset();
  bfloat_tasks_.reset();
  bytes_ = packed_blocks<ByteRows>(false, false, 0, 0);
  packed_ = packed_blocks<BfloatRows>(false, false, 0, 0);
  rest_ = BfloatRows(0, 0);
  rows_ = {};
  if (summed_rows_ > 0 && !sum_.empty()) flush();
  const Index m = std::max({counts_.rows(), gram_.rows(), sum_.rows()}) - 1;
  system.gram = Matrix<double>(m, m);
  const double total = value(m, m);
  const bool centre = system.intercept && total > 0;
  parallel_for(m, [&](Index i) {
    const double mean = centre ? value(m, i) / total : 0.0;
    for (Index j = 0; j <= i; ++j) system.gram(i, j) = value(i, j) - mean * value(m, j);
  });
  counts_ = {};
  gram_ = {};
  sum_ = {};
}

}  // namespace mercer
