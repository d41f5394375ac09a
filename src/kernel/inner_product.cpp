#include <algorithm>
#include <numeric>

#include "base/fail.hpp"
#include "kernel/leaf.hpp"

namespace mercer {

double integer_power(double base, int exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

double leaf_value(const Linear&, Point x, Point z) {
  return std::inner_product(x.begin(), x.end(), z.begin(), 0.0);
}

void leaf_gradient(const Linear&, Point, Point z, MutPoint gradient) {
  std::copy(z.begin(), z.end(), gradient.begin());
}

void leaf_hessian(const Linear&, Point, Point, MutMatrix) {
  fail_argument("linear is not a function of x - z, so it has no second derivative in x - z");
}

void leaf_parameter_gradient(const Linear&, Point, Point, MutPoint) {}

double leaf_value(const Polynomial& kernel, Point x, Point z) {
  return integer_power(leaf_value(Linear{}, x, z) + kernel.offset, kernel.degree);
}

namespace {

/// degree·(⟨x, z⟩ + offset)^(degree-1).
double polynomial_slope(const Polynomial& kernel, Point x, Point z) {
  return kernel.degree * integer_power(leaf_value(Linear{}, x, z) + kernel.offset, kernel.degree - 1);
}

}  // namespace

void leaf_gradient(const Polynomial& kernel, Point x, Point z, MutPoint gradient) {
  const double slope = polynomial_slope(kernel, x, z);
  for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = slope * z[i];
}

void leaf_hessian(const Polynomial&, Point, Point, MutMatrix) {
  fail_argument("polynomial is not a function of x - z, so it has no second derivative in x - z");
}

void leaf_parameter_gradient(const Polynomial& kernel, Point x, Point z, MutPoint gradient) {
  gradient[0] = polynomial_slope(kernel, x, z);
}

}  // namespace mercer
