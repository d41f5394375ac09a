#include "kernel/mixture_tile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "backend/backend.hpp"
#include "kernel/tile.hpp"

namespace mercer {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double decay = -2 * pi * pi;  // of the envelope exp(-2π² Σ σ_k²δ_k²)

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

/// The fractional part of mean·x, from -½ to ½, to full precision: the product is exact as a sum of two doubles.
double turns(double mean, double x) {
  const double product = mean * x;
  return (product - std::nearbyint(product)) + std::fma(mean, x, -product);
}

/// Σ_k σ_qk²δ_k² along a row of a tile. With one input, δ² serves all components, and σ² goes to the exponential's scale.
class Squares {
 public:
  Squares(const SpectralMixture& kernel, ConstMatrix columns)
      : kernel_(kernel), columns_(columns), square_(at(columns.cols)) {}

  void start_row(const double* x) {
    x_ = x;
    constexpr double one = 1;
    if (columns_.rows == 1) squared_distances(columns_.data, 1, columns_.cols, x_, &one, square_.data());
  }
  const double* of(std::size_t q) {
    if (columns_.rows > 1) {
      squared_distances(columns_.data, columns_.rows, columns_.cols, x_, kernel_.scales[q].data(), square_.data());
    }
    return square_.data();
  }
  double scale(std::size_t q) const {
    return columns_.rows == 1 ? decay * kernel_.scales[q][0] * kernel_.scales[q][0] : decay;
  }

 private:
  const SpectralMixture& kernel_;
  ConstMatrix columns_;
  std::vector<double> square_;
  const double* x_ = nullptr;
};

/// Along a row of a tile, for each input k: δ_k·weight and δ_k²·weight.
void weigh_differences(const double* x, ConstMatrix columns, const double* weights, MutMatrix once, MutMatrix twice) {
  for (Index k = 0; k < columns.rows; ++k) {
    const double* column = columns.data + k * columns.stride;
    double* first = once.data + k * once.stride;
    double* second = twice.data + k * twice.stride;
    for (Index j = 0; j < columns.cols; ++j) {
      const double delta = x[k] - column[j];
      first[j] = delta * weights[j];
      second[j] = delta * first[j];
    }
  }
}

}  // namespace

MixtureTile::Waves MixtureTile::waves(const SpectralMixture& kernel, ConstMatrix rows) {
  const auto components = static_cast<Index>(kernel.weights.size());
  Waves result{Matrix<double>(components, rows.rows), Matrix<double>(components, rows.rows)};
  std::vector<double> phase(at(rows.rows));
  for (Index q = 0; q < components; ++q) {
    const std::vector<double>& mean = kernel.means[at(q)];
    for (Index i = 0; i < rows.rows; ++i) {
      double sum = 0;
      for (Index k = 0; k < rows.cols; ++k) sum += turns(mean[at(k)], rows(i, k));
      phase[at(i)] = 2 * pi * sum;
    }
    cos_sin<double>(phase.data(), rows.rows, 1.0, result.cosine.row(q).data(), result.sine.row(q).data());
  }
  return result;
}

MixtureTile::MixtureTile(const SpectralMixture& kernel, ConstMatrix x, ConstMatrix z)
    : kernel_(kernel), x_(x), z_(z), at_x_(waves(kernel, x)), at_z_(same_rows(x, z) ? at_x_ : waves(kernel, z)) {}

void MixtureTile::fill(Index first_row, Index first_col, MutMatrix tile) const {
  const Matrix<double> columns = transposed(z_.row_range(first_col, tile.cols));
  Squares squares(kernel_, columns);
  for (Index i = 0; i < tile.rows; ++i) {
    double* out = tile.data + i * tile.stride;
    std::fill_n(out, tile.cols, 0.0);
    squares.start_row(x_.row(first_row + i).data());
    for (Index q = 0; q < at_x_.cosine.rows(); ++q) {
      const double weight = kernel_.weights[at(q)];
      add_damped_wave(squares.of(at(q)), tile.cols, squares.scale(at(q)), &at_z_.cosine(q, first_col),
                      &at_z_.sine(q, first_col), weight * at_x_.cosine(q, first_row + i),
                      weight * at_x_.sine(q, first_row + i), out);
    }
  }
}

/// With even = e cos φ and odd = e sin φ: ∂k/∂w = even,  ∂k/∂μ_k = -2πw δ_k odd,  ∂k/∂σ_k = -4π²wσ_k δ_k² even,
/// ∂k/∂x_k = -w(2πμ_k odd + 4π²σ_k²δ_k even).
void MixtureTile::contract(Index first_row, Index first_col, ConstMatrix weights, MutPoint parameters,
                           MutMatrix inputs) const {
  const Index d = x_.cols;
  const Index width = weights.cols;
  const Index components = at_x_.cosine.rows();
  const Matrix<double> columns = transposed(z_.row_range(first_col, width));
  Squares squares(kernel_, columns);
  Matrix<double> once(d, width);
  Matrix<double> twice(d, width);
  std::vector<double> even(at(width));
  std::vector<double> odd(at(width));
  std::array<double, 2> sums{};
  for (Index i = 0; i < weights.rows; ++i) {
    const double* x = x_.row(first_row + i).data();
    const double* row = weights.data + i * weights.stride;
    squares.start_row(x);
    weigh_differences(x, columns, row, once, twice);
    for (Index q = 0; q < components; ++q) {
      const double weight = kernel_.weights[at(q)];
      damped_waves(squares.of(at(q)), width, squares.scale(at(q)), &at_z_.cosine(q, first_col), &at_z_.sine(q, first_col),
                   at_x_.cosine(q, first_row + i), at_x_.sine(q, first_row + i), even.data(), odd.data());
      dot_pair(row, even.data(), row, odd.data(), width, sums.data());
      parameters[at(q)] += sums[0];
      const double odd_sum = sums[1];
      for (Index k = 0; k < d; ++k) {
        const double scale = kernel_.scales[at(q)][at(k)];
        dot_pair(once.row(k).data(), odd.data(), twice.row(k).data(), even.data(), width, sums.data());
        parameters[at(components + q * d + k)] -= 2 * pi * weight * sums[0];
        parameters[at(components * (1 + d) + q * d + k)] -= 4 * pi * pi * weight * scale * sums[1];
        if (inputs.rows == 0) continue;
        dot_pair(once.row(k).data(), even.data(), row, even.data(), width, sums.data());
        inputs(i, k) -= 2 * pi * weight * (kernel_.means[at(q)][at(k)] * odd_sum + 2 * pi * scale * scale * sums[0]);
      }
    }
  }
}

}  // namespace mercer
