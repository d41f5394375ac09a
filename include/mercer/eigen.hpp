#pragma once
/// Optional: row-major Eigen matrices as Mercer's views, without copying. Include Eigen yourself; nothing else here needs
/// it.
#include <mercer/view.hpp>

#include <Eigen/Core>

namespace mercer {

using EigenRowMajor = ::Eigen::Matrix<double, ::Eigen::Dynamic, ::Eigen::Dynamic, ::Eigen::RowMajor>;

inline ConstMatrix view(const EigenRowMajor& m) {
  return {m.data(), m.rows(), m.cols()};
}
inline MutMatrix view(EigenRowMajor& m) {
  return {m.data(), m.rows(), m.cols()};
}

}  // namespace mercer
