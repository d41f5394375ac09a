#include "solve/low_gram.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.hpp"

namespace mercer {
namespace {

/// Rows of whole cache lines.
Index aligned(Index columns) {
  return (columns + 15) / 16 * 16;
}

}  // namespace

LowGram::LowGram(Index columns, Index block_rows)
    : packed_(block_rows, columns + 1), gram_(columns + 1, aligned(columns + 1)) {}

template <class Real>
void LowGram::add(Index row_in_block, MatrixView<const Real> features, std::span<const double> weights) {
  std::vector<Real> ones(static_cast<std::size_t>(features.rows), Real(1));
  if (weights.empty()) {
    packed_.pack<Real>(row_in_block, features, ones);
    return;
  }
  std::ranges::transform(weights, ones.begin(), [](double w) { return static_cast<Real>(std::sqrt(w)); });
  Matrix<Real> scaled(features);
  for (Index i = 0; i < scaled.rows(); ++i) {
    for (Real& v : scaled.row(i)) v *= ones[static_cast<std::size_t>(i)];
  }
  packed_.pack<Real>(row_in_block, scaled, ones);
}

template void LowGram::add(Index, MatrixView<const float>, std::span<const double>);
template void LowGram::add(Index, MatrixView<const double>, std::span<const double>);

void LowGram::end_block() {
  accumulate_gram(packed_, gram_.view().col_range(0, gram_.rows()));
}

void LowGram::move_into(NormalSystem& system) {
  const Index m = gram_.rows() - 1;
  packed_ = BfloatRows(0, 0);
  system.gram = Matrix<double>(m, m);
  const auto total = static_cast<double>(gram_(m, m));
  const bool centre = system.intercept && total > 0;
  parallel_for(m, [&](Index i) {
    const double mean = centre ? static_cast<double>(gram_(m, i)) / total : 0.0;
    for (Index j = 0; j <= i; ++j) {
      system.gram(i, j) = static_cast<double>(gram_(i, j)) - mean * static_cast<double>(gram_(m, j));
    }
  });
  gram_ = {};
}

}  // namespace mercer
