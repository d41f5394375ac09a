#include "theory/gaussian_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace mercer {
namespace {

constexpr std::size_t most_components = 10000;

using Component = GaussianMixture::Component;

std::vector<Component> components_of(const Kernel& leaf, Index inputs) {
  const auto d = static_cast<std::size_t>(inputs);
  std::vector<Component> out;
  if (const auto* gaussian = std::get_if<Gaussian>(&leaf.form)) {
    Component c{1, std::vector<double>(d, 0.0), std::vector<double>(d)};
    for (Index i = 0; i < inputs; ++i) c.variance[static_cast<std::size_t>(i)] = std::pow(gaussian->length_scale[i], -2);
    out.push_back(std::move(c));
  } else if (const auto* mixture = std::get_if<SpectralMixture>(&leaf.form)) {
    const double total = std::accumulate(mixture->weights.begin(), mixture->weights.end(), 0.0);
    for (std::size_t q = 0; q < mixture->weights.size(); ++q) {
      Component c{mixture->weights[q] / total, std::vector<double>(d), std::vector<double>(d)};
      for (std::size_t i = 0; i < d; ++i) {
        c.mean[i] = 2 * std::numbers::pi * mixture->means[q][i];
        c.variance[i] = std::pow(2 * std::numbers::pi * mixture->scales[q][i], 2);
      }
      out.push_back(std::move(c));
    }
  }
  return out;
}

/// The law of u ± v with the sign fair: up to the common sign this is u + v of two symmetrised laws.
std::vector<Component> convolve(const std::vector<Component>& u, const std::vector<Component>& v) {
  std::vector<Component> out;
  for (const Component& a : u) {
    for (const Component& b : v) {
      for (const double sign : {1.0, -1.0}) {
        Component c = a;
        c.probability = 0.5 * a.probability * b.probability;
        for (std::size_t i = 0; i < c.mean.size(); ++i) {
          c.mean[i] += sign * b.mean[i];
          c.variance[i] += b.variance[i];
        }
        out.push_back(std::move(c));
      }
    }
  }
  return out;
}

}  // namespace

double GaussianMixture::largest_variance() const {
  double largest = 0;
  for (const Component& c : components) largest = std::max(largest, std::ranges::max(c.variance));
  return largest;
}

double GaussianMixture::largest_mean() const {
  double largest = 0;
  for (const Component& c : components) {
    largest = std::max(largest, std::inner_product(c.mean.begin(), c.mean.end(), c.mean.begin(), 0.0));
  }
  return largest;
}

double GaussianMixture::exponential_moment(double t) const {
  double sum = 0;
  for (const Component& c : components) {
    double exponent = 0;
    for (std::size_t i = 0; i < c.mean.size(); ++i) {
      const double left = 1 - 2 * t * c.variance[i];
      if (left <= 0) return std::numeric_limits<double>::infinity();
      exponent += t * c.mean[i] * c.mean[i] / left - 0.5 * std::log(left);
    }
    sum += c.probability * std::exp(exponent);
  }
  return sum;
}

Matrix<double> GaussianMixture::tilted_second(double t) const {
  const auto d = static_cast<Index>(components.front().mean.size());
  Matrix<double> sum(d, d);
  std::vector<double> mean(static_cast<std::size_t>(d));
  for (const Component& c : components) {
    double exponent = 0;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double left = 1 - 2 * t * c.variance[i];
      exponent += t * c.mean[i] * c.mean[i] / left - 0.5 * std::log(left);
      mean[i] = c.mean[i] / left;
    }
    const double weight = c.probability * std::exp(exponent);
    for (Index i = 0; i < d; ++i) {
      const auto a = static_cast<std::size_t>(i);
      sum(i, i) += weight * c.variance[a] / (1 - 2 * t * c.variance[a]);
      if (mean[a] == 0) continue;
      for (Index j = 0; j < d; ++j) sum(i, j) += weight * mean[a] * mean[static_cast<std::size_t>(j)];
    }
  }
  return sum;
}

std::optional<GaussianMixture> gaussian_mixture(const std::vector<Kernel>& factors, Index inputs) {
  GaussianMixture law;
  for (const Kernel& leaf : factors) {
    const std::vector<Component> next = components_of(leaf, inputs);
    if (next.empty()) return std::nullopt;
    if (2 * law.components.size() * next.size() > most_components) return std::nullopt;
    law.components = law.components.empty() ? next : convolve(law.components, next);
  }
  return law;
}

}  // namespace mercer
