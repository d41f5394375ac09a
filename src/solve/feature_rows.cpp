#include "solve/feature_rows.hpp"

#include <algorithm>

#include "base/fail.hpp"

namespace mercer {

template <class Real>
Index FeatureRows<Real>::block_rows(Index columns) {
  constexpr Index target_bytes = Index{32} << 20;
  const Index rows = target_bytes / (static_cast<Index>(sizeof(Real)) * std::max<Index>(1, columns));
  return std::clamp<Index>(rows / 64 * 64, 64, 8192);
}

template <class Real>
FeatureRows<Real>::FeatureRows(const FeatureMap& map, RowSource& rows) : map_(map), rows_(rows) {
  if (rows.input_count() != map.inputs()) {
    fail_argument("the map takes " + std::to_string(map.inputs()) + " inputs but the rows have " +
                  std::to_string(rows.input_count()));
  }
  const Index width = map.columns() + 1 + rows.target_count();
  const Index most = block_rows(width);
  const Index capacity = rows.row_count() >= 0 ? std::min(most, std::max<Index>(1, rows.row_count())) : most;
  inputs_ = Matrix<Real>(capacity, map.inputs());
  buffer_ = Matrix<Real>(capacity, width);
}

template <class Real>
bool FeatureRows<Real>::next() {
  if (!rows_.next(buffer_.rows(), block_)) return false;
  const Index n = block_.rows();
  for (Index i = 0; i < n; ++i) {
    std::ranges::transform(block_.inputs.row(i), inputs_.row(i).begin(), [](double v) { return static_cast<Real>(v); });
  }
  map_.features(inputs_.view().row_range(0, n), features());
  const Index one = map_.columns();
  for (Index i = 0; i < n; ++i) {
    buffer_(i, one) = 1;
    std::ranges::transform(block_.targets.row(i), buffer_.row(i).subspan(static_cast<std::size_t>(one + 1)).begin(),
                           [](double v) { return static_cast<Real>(v); });
  }
  return true;
}

template class FeatureRows<float>;
template class FeatureRows<double>;

}  // namespace mercer
