#include "solve/low_gram.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel.hpp"

namespace mercer {

LowGram::LowGram(Index columns, Index block_rows) : packed_(block_rows, columns), gram_(columns, columns) {}

template <class Real>
void LowGram::add(Index row_in_block, MatrixView<const Real> features, std::span<const double> weights) {
  if (weights.empty()) {
    packed_.pack<Real>(row_in_block, features);
    return;
  }
  Matrix<Real> scaled(features);
  for (Index i = 0; i < scaled.rows(); ++i) {
    const auto root = static_cast<Real>(std::sqrt(weights[static_cast<std::size_t>(i)]));
    for (Real& v : scaled.row(i)) v *= root;
  }
  packed_.pack<Real>(row_in_block, scaled);
}

template void LowGram::add(Index, MatrixView<const float>, std::span<const double>);
template void LowGram::add(Index, MatrixView<const double>, std::span<const double>);

void LowGram::end_block() {
  accumulate_gram(packed_, gram_);
}

void LowGram::move_into(NormalSystem& system) {
  packed_ = BfloatRows(0, 0);
  system.gram = Matrix<double>(gram_.rows(), gram_.cols());
  parallel_for(gram_.rows(), [&](Index i) {
    const double mean = system.weight * system.mean_feature[static_cast<std::size_t>(i)];
    for (Index j = 0; j <= i; ++j) {
      system.gram(i, j) = static_cast<double>(gram_(i, j)) - mean * system.mean_feature[static_cast<std::size_t>(j)];
    }
  });
  gram_ = {};
}

}  // namespace mercer
