#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/backend.hpp"
#include "base/matrix.hpp"

namespace mercer {

/// The coefficients of conjugate gradients are those of a Lanczos process on M⁻¹A: with steps α_k and β_k = rz_{k+1}/rz_k,
///     T_kk = 1/α_k + β_{k-1}/α_{k-1},   T_{k,k+1} = √β_k/α_k.
class Lanczos {
 public:
  explicit Lanczos(Index columns) : columns_(static_cast<std::size_t>(columns)) {}

  /// After an iteration of column k with this step, and rᵀz before and after it.
  void add(std::size_t k, double step, double rz, double next) {
    Column& c = columns_[k];
    const double beta = next / rz;
    if (c.at_rest || c.diagonal.size() >= most) return;
    if (!(step > 0) || !std::isfinite(beta)) {
      c.at_rest = true;
      return;
    }
    c.diagonal.push_back(1 / step + c.carry);
    c.carry = beta / step;
    c.beside.push_back(std::sqrt(std::max(beta, 0.0)) / step);
  }
  /// Column k goes on from another vector.
  void restart(std::size_t k) {
    look(columns_[k]);
    columns_[k] = {};
  }

  void extremes(double& least, double& largest) {
    for (const Column& c : columns_) look(c);
    least = least_;
    largest = largest_;
  }

 private:
  static constexpr std::size_t most = 50;
  struct Column {
    std::vector<double> diagonal;
    std::vector<double> beside;
    double carry = 0;
    bool at_rest = false;  ///< what follows is rounding
  };
  void look(const Column& c) {
    const auto n = static_cast<Index>(c.diagonal.size());
    if (n == 0) return;
    Matrix<double> t(n, n);
    for (Index i = 0; i < n; ++i) {
      t(i, i) = c.diagonal[static_cast<std::size_t>(i)];
      if (i > 0) t(i, i - 1) = c.beside[static_cast<std::size_t>(i - 1)];
    }
    const std::vector<double> values = eigh(t).values;
    least_ = std::min(least_, values.front());
    largest_ = std::max(largest_, values.back());
  }

  std::vector<Column> columns_;
  double least_ = 1;
  double largest_ = 1;
};

}  // namespace mercer
