// Pointwise variance of the random Fourier approximation of K, and the upper bound of proposition 3.1.

#include <limits>
#include <vector>

#include "base/fail.hpp"
#include "theory/bounds.hpp"
#include "theory/derivatives.hpp"
#include "theory/moments.hpp"
#include "theory/small_matrix.hpp"

namespace mercer {
namespace {

std::vector<double> twice(Point delta) {
  std::vector<double> out(delta.begin(), delta.end());
  for (double& x : out) x *= 2;
  return out;
}

/// The part's K(δ) from the Hessian of k:  A(ω) is linear in ωωᵀ, and E[cos⟨ω,δ⟩ωωᵀ] = -∇∇ᵀk(δ).
Matrix<double> field_value(const RandomPart& part, const ShiftDerivatives& k) {
  Matrix<double> value(k.hessian.rows(), k.hessian.cols());
  add_scaled(value, -part.scale * (part.curl - part.divergence), k.hessian);
  add_identity(value, -part.scale * part.divergence * trace(k.hessian));
  return value;
}

/// ½(E[cos⟨ω,2δ⟩A²] + E[A²]) - K(δ)², the variance of one draw.
Matrix<double> variance_of_draw(const RandomPart& part, Point delta) {
  const auto d = static_cast<Index>(delta.size());
  if (!part.field) {
    const double k = scalar_value(part.factors, delta);
    Matrix<double> v = mean_square_operator(part, d);
    const double factor = 0.5 * (1 + scalar_value(part.factors, twice(delta)) - 2 * k * k);
    for (double& x : v.values()) x *= factor;
    return v;
  }
  const ShiftDerivatives there = shift_derivatives(part.factors, twice(delta));
  const double c2 = part.scale * part.scale * part.curl * part.curl;
  const double d2 = part.scale * part.scale * part.divergence * part.divergence;
  Matrix<double> v(d, d);
  add_scaled(v, 0.5, mean_square_operator(part, d));
  add_scaled(v, 0.5 * (c2 - d2), there.fourth);
  add_identity(v, 0.5 * d2 * trace(there.fourth));
  const Matrix<double> value = field_value(part, shift_derivatives(part.factors, delta));
  add_scaled(v, -1, product(value, value));
  return v;
}

/// sym(K(2δ)E[A]) + ½(1 - k(2δ))E[A]² - K(δ)²: the variance were A constant at its mean; see bounds.hpp.
Matrix<double> variance_without_spread(const RandomPart& part, Point delta) {
  const auto d = static_cast<Index>(delta.size());
  if (!part.field) return variance_of_draw(part, delta);
  const ShiftDerivatives there = shift_derivatives(part.factors, twice(delta));
  const Matrix<double> mean = mean_operator(part, d);
  Matrix<double> v = symmetric_product(field_value(part, there), mean);
  add_scaled(v, 0.5 * (1 - there.value), product(mean, mean));
  const Matrix<double> value = field_value(part, shift_derivatives(part.factors, delta));
  add_scaled(v, -1, product(value, value));
  return v;
}

/// The parts of the kernel, checked for what the pointwise formulas need; `finite` says whether E[A²] exists.
std::vector<RandomPart> checked_parts(const OperatorKernel& kernel, Index inputs, bool& finite) {
  auto parts = random_parts(kernel, inputs, implied_outputs(kernel, inputs));
  finite = true;
  for (const RandomPart& part : parts) {
    if (!part.shift_invariant) {
      fail_argument(
          "the variance as a function of x - z needs a shift-invariant kernel, and this one multiplies "
          "frequencies by linear or polynomial factors");
    }
    if (part.field && tail_index(part.factors) <= 4) finite = false;
  }
  return parts;
}

}  // namespace

double pointwise_variance(const OperatorKernel& kernel, Point delta) {
  bool finite = true;
  const auto parts = checked_parts(kernel, static_cast<Index>(delta.size()), finite);
  if (!finite) return std::numeric_limits<double>::infinity();
  if (parts.empty()) return 0;
  Matrix<double> sum = variance_of_draw(parts[0], delta);
  for (double& x : sum.values()) x /= parts[0].share;
  for (std::size_t i = 1; i < parts.size(); ++i) add_scaled(sum, 1 / parts[i].share, variance_of_draw(parts[i], delta));
  return symmetric_norm(sum);
}

double proposition_bound(const OperatorKernel& kernel, Point delta) {
  const auto d = static_cast<Index>(delta.size());
  bool finite = true;
  const auto parts = checked_parts(kernel, d, finite);
  if (!finite) return std::numeric_limits<double>::infinity();
  double bound = 0;
  for (const RandomPart& part : parts) {
    const double one = symmetric_norm(variance_without_spread(part, delta)) + symmetric_norm(variance_operator(part, d));
    bound += one / part.share;
  }
  return bound;
}

}  // namespace mercer
