#include "gp/tile_gradient.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <variant>

#include "backend/backend.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/leaf.hpp"
#include "kernel/matern.hpp"
#include "kernel/visit.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

template <class Leaf>
concept Vectorised = std::same_as<Leaf, Gaussian> || std::same_as<Leaf, Matern>;

/// Replaces each s by g'(s), and by 0 at s = 0, where it only ever meets δ = 0.
void apply_slope(const Gaussian&, std::span<double> s) {
  exponential(s.data(), static_cast<Index>(s.size()), -0.5);
  for (double& v : s) v *= -0.5;
}

/// With z = √(2νs): ν = ½: -e^-z/2z;  ν = 3/2: -(3/2)e^-z;  ν = 5/2: -(5/6)(1 + z)e^-z.
void apply_slope(const Matern& kernel, std::span<double> s) {
  if (kernel.nu != 0.5 && kernel.nu != 1.5 && kernel.nu != 2.5) {
    for (double& v : s) v = v > 0 ? matern_first(kernel.nu, v) : 0;
    return;
  }
  std::vector<double> decay(s.size());
  for (std::size_t j = 0; j < s.size(); ++j) decay[j] = std::min(std::sqrt(2 * kernel.nu * s[j]), 1e150);
  std::ranges::copy(decay, s.begin());
  exponential(decay.data(), static_cast<Index>(decay.size()), -1);
  for (std::size_t j = 0; j < s.size(); ++j) {
    if (kernel.nu == 0.5) {
      s[j] = s[j] > 0 ? -0.5 * decay[j] / s[j] : 0;
    } else if (kernel.nu == 1.5) {
      s[j] = -1.5 * decay[j];
    } else {
      s[j] = -(5.0 / 6.0) * (1 + s[j]) * decay[j];
    }
  }
}

/// ∂k/∂ℓ_k = -2 g'(s) t_k²/ℓ_k and ∂k/∂x_k = 2 g'(s) t_k/ℓ_k, t_k = δ_k/ℓ_k; one shared ℓ gets -2 g'(s) s/ℓ.
template <Vectorised Leaf>
void contract_radial(const Leaf& leaf, const SquaredDistances& distances, Index first_row, Index first_col, ConstMatrix x,
                     ConstMatrix z, ConstMatrix weights, MutPoint parameters, MutMatrix inputs) {
  const Index width = weights.cols;
  const bool shared = leaf.length_scale.values.size() == 1;
  Matrix<double> squares(weights.rows, width);
  distances.fill(first_row, first_col, squares);
  const Matrix<double> columns = transposed(z);
  std::vector<double> slope(at(width));
  std::vector<double> t(at(width));
  std::vector<double> t_slope(at(width));
  std::array<double, 2> sums{};
  for (Index i = 0; i < weights.rows; ++i) {
    const double* row = weights.data + i * weights.stride;
    std::ranges::copy(squares.row(i), slope.begin());
    apply_slope(leaf, slope);
    for (Index j = 0; j < width; ++j) slope[at(j)] *= row[j];
    if (shared) {
      dot_pair(slope.data(), squares.row(i).data(), slope.data(), squares.row(i).data(), width, sums.data());
      parameters[0] -= 2 * sums[0] / leaf.length_scale[0];
      if (inputs.rows == 0) continue;
    }
    for (Index k = 0; k < x.cols; ++k) {
      const double scale = leaf.length_scale[k];
      const double* column = columns.row(k).data();
      for (Index j = 0; j < width; ++j) {
        t[at(j)] = (x(i, k) - column[j]) / scale;
        t_slope[at(j)] = slope[at(j)] * t[at(j)];
      }
      dot_pair(slope.data(), t.data(), t_slope.data(), t.data(), width, sums.data());
      if (inputs.rows > 0) inputs(i, k) += 2 * sums[0] / scale;
      if (!shared) parameters[at(k)] -= 2 * sums[1] / scale;
    }
  }
}

template <class Leaf>
void contract_pointwise(const Leaf& leaf, ConstMatrix x, ConstMatrix z, ConstMatrix weights, MutPoint parameters,
                        MutMatrix inputs) {
  std::vector<double> part(parameters.size());
  std::vector<double> slope(at(x.cols));
  for (Index i = 0; i < weights.rows; ++i) {
    for (Index j = 0; j < weights.cols; ++j) {
      const double weight = weights(i, j);
      if (weight == 0) continue;
      if (!part.empty()) leaf_parameter_gradient(leaf, x.row(i), z.row(j), part);
      for (std::size_t p = 0; p < part.size(); ++p) parameters[p] += weight * part[p];
      if (inputs.rows == 0) continue;
      leaf_gradient(leaf, x.row(i), z.row(j), slope);
      for (Index k = 0; k < x.cols; ++k) inputs(i, k) += weight * slope[at(k)];
    }
  }
}

/// a := a ∘ b.
void multiply(MutMatrix a, ConstMatrix b) {
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) a(i, j) *= b(i, j);
  }
}

}  // namespace

TileGradient::TileGradient(const Kernel& kernel, ConstMatrix x, ConstMatrix z)
    : x_(x), z_(z), size_(static_cast<Index>(parameters(kernel).size())) {
  const auto add_children = [&](const std::vector<Kernel>& kernels, bool values) {
    for (const Kernel& child : kernels) {
      children_.emplace_back(child, x, z);
      if (values) values_.emplace_back(child, x, z);
    }
  };
  std::visit(Overload{[&](const Sum& k) {
                        form_ = Sum{};
                        add_children(k.terms, false);
                      },
                      [&](const Product& k) {
                        form_ = Product{};
                        add_children(k.factors, true);
                      },
                      [&](const Scaled& k) {
                        form_ = Scaled{k.factor, {}};
                        add_children(k.kernel, true);
                      },
                      [&](const SpectralMixture& k) {
                        form_ = k;
                        mixture_.emplace_back(k, x, z);
                      },
                      [&](const auto& leaf) {
                        form_ = leaf;
                        if constexpr (Vectorised<std::remove_cvref_t<decltype(leaf)>>)
                          distances_.emplace_back(leaf.length_scale, x, z);
                      }},
             kernel.form);
}

void TileGradient::contract_children(Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters,
                                     MutMatrix inputs) const {
  for (const TileGradient& child : children_) {
    child.contract(first_row, first_col, weights, parameters.first(at(child.size_)), inputs);
    parameters = parameters.subspan(at(child.size_));
  }
}

void TileGradient::contract_product(Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters,
                                    MutMatrix inputs) const {
  std::vector<Matrix<double>> values;
  for (const TileKernel& child : values_) {
    child.fill(first_row, first_col, values.emplace_back(weights.rows, weights.cols));
  }
  for (std::size_t c = 0; c < children_.size(); ++c) {
    Matrix<double> own(weights);
    for (std::size_t other = 0; other < values.size(); ++other) {
      if (other != c) multiply(own, values[other]);
    }
    children_[c].contract(first_row, first_col, own, parameters.first(at(children_[c].size_)), inputs);
    parameters = parameters.subspan(at(children_[c].size_));
  }
}

void TileGradient::contract_scaled(double factor, Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters,
                                   MutMatrix inputs) const {
  Matrix<double> own(weights.rows, weights.cols);
  values_.front().fill(first_row, first_col, own);
  for (Index i = 0; i < own.rows(); ++i) {
    for (Index j = 0; j < own.cols(); ++j) {
      parameters[0] += weights(i, j) * own(i, j);
      own(i, j) = factor * weights(i, j);
    }
  }
  children_.front().contract(first_row, first_col, own, parameters.subspan(1), inputs);
}

void TileGradient::contract(Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters,
                            MutMatrix inputs) const {
  const ConstMatrix x = x_.row_range(first_row, weights.rows);
  const ConstMatrix z = z_.row_range(first_col, weights.cols);
  std::visit(
      Overload{[&](const Sum&) { contract_children(first_row, first_col, weights, parameters, inputs); },
               [&](const Product&) { contract_product(first_row, first_col, weights, parameters, inputs); },
               [&](const Scaled& k) { contract_scaled(k.factor, first_row, first_col, weights, parameters, inputs); },
               [&](const SpectralMixture&) { mixture_.front().contract(first_row, first_col, weights, parameters, inputs); },
               [&](const auto& leaf) {
                 if constexpr (Vectorised<std::remove_cvref_t<decltype(leaf)>>) {
                   contract_radial(leaf, distances_.front(), first_row, first_col, x, z, weights, parameters, inputs);
                 } else {
                   contract_pointwise(leaf, x, z, weights, parameters, inputs);
                 }
               }},
      form_);
}

}  // namespace mercer
