#include "solve/low_gram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/backend.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

/// Rows of whole cache lines.
Index aligned(Index columns) {
  return (columns + 15) / 16 * 16;
}

BfloatRows packed_rows(bool wanted, Index rows, Index columns) {
  return wanted ? BfloatRows(rows, columns) : BfloatRows(0, 0);
}

std::string path_words() {
  switch (active_bfloat()) {
    case BfloatPath::amx:
      return " (AMX)";
    case BfloatPath::avx512_bf16:
      return " (AVX-512)";
    default:
      return " (portable)";
  }
}

}  // namespace

std::string words(GramPrecision gram) {
  switch (gram) {
    case GramPrecision::bf16:
      return "bf16" + path_words();
    case GramPrecision::bf16_three:
      return "three bf16 products" + path_words();
    case GramPrecision::float32:
      break;
  }
  return "float32";
}

LowGram::LowGram(Index columns, Index block_rows, GramPrecision precision)
    : precision_(precision),
      packed_(packed_rows(precision != GramPrecision::float32, block_rows, columns + 1)),
      rest_(packed_rows(precision == GramPrecision::bf16_three, block_rows, columns + 1)) {
  if (precision == GramPrecision::float32) {
    rows_ = Matrix<float>(block_rows, columns + 1);
    sum_ = Matrix<double>(columns + 1, columns + 1);
  } else {
    gram_ = Matrix<float>(columns + 1, aligned(columns + 1));
  }
}

void LowGram::begin_block(Index rows) {
  row_count_ = rows;
  if (packed_.cols() > 0) packed_.set_rows(rows);
  if (rest_.cols() > 0) rest_.set_rows(rows);
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
  if (weights.empty() && precision_ == GramPrecision::bf16) {
    packed_.pack<Real>(row_in_block, features, ones);
    return;
  }
  Matrix<Real> scaled(features);
  for (Index i = 0; i < scaled.rows(); ++i) {
    for (Real& v : scaled.row(i)) v *= ones[static_cast<std::size_t>(i)];
  }
  packed_.pack<Real>(row_in_block, scaled, ones);
  if (precision_ == GramPrecision::bf16) return;
  const auto remainder = [](Real v) { return v - rounded_to_bfloat(v); };
  std::ranges::transform(scaled.values(), scaled.values().begin(), remainder);
  std::ranges::transform(ones, ones.begin(), remainder);
  rest_.pack<Real>(row_in_block, scaled, ones);
}

template void LowGram::add(Index, MatrixView<const float>, std::span<const double>);
template void LowGram::add(Index, MatrixView<const double>, std::span<const double>);

void LowGram::end_block() {
  if (precision_ == GramPrecision::float32) {
    accumulate_gram<float>(rows_.view().row_range(0, row_count_), sum_);
    return;
  }
  const MatrixView<float> gram = gram_.view().col_range(0, gram_.rows());
  accumulate_gram(packed_, gram);
  if (precision_ == GramPrecision::bf16_three) accumulate_gram(packed_, rest_, gram);
  if (++blocks_ >= (precision_ == GramPrecision::bf16 ? 32 : 8)) flush();
}

void LowGram::flush() {
  if (sum_.empty()) sum_ = Matrix<double>(gram_.rows(), gram_.rows());
  parallel_for(gram_.rows(), [&](Index i) {
    for (Index j = 0; j <= i; ++j) sum_(i, j) += static_cast<double>(gram_(i, j));
    std::ranges::fill(gram_.row(i), 0.0F);
  });
  blocks_ = 0;
}

void LowGram::move_into(NormalSystem& system) {
  packed_ = rest_ = BfloatRows(0, 0);
  rows_ = {};
  if (!gram_.empty() && !sum_.empty()) flush();
  const auto value = [&](Index i, Index j) { return sum_.empty() ? static_cast<double>(gram_(i, j)) : sum_(i, j); };
  const Index m = (sum_.empty() ? gram_.rows() : sum_.rows()) - 1;
  system.gram = Matrix<double>(m, m);
  const double total = value(m, m);
  const bool centre = system.intercept && total > 0;
  parallel_for(m, [&](Index i) {
    const double mean = centre ? value(m, i) / total : 0.0;
    for (Index j = 0; j <= i; ++j) system.gram(i, j) = value(i, j) - mean * value(m, j);
  });
  gram_ = {};
  sum_ = {};
}

}  // namespace mercer
