#include "solve/dual_bundle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/matrix.hpp"

namespace mercer {
namespace {

constexpr std::size_t most_points = 12;

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

/// min over the simplex of cᵀα + ½αᵀGα: moves weight between the pair of points that gains most per unit, until none gains.
std::vector<double> simplex_minimiser(const Matrix<double>& g, const std::vector<double>& c) {
  const Index n = g.rows();
  std::vector<double> alpha(c.size(), 0.0);
  std::vector<double> slope = c;
  alpha[0] = 1;
  for (Index k = 0; k < n; ++k) slope[static_cast<std::size_t>(k)] += g(k, 0);
  for (int step = 0; step < 2000; ++step) {
    std::size_t to = 0;
    std::size_t from = 0;
    double most = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      for (std::size_t j = 0; j < c.size(); ++j) {
        const double gain = slope[j] - slope[i];
        if (alpha[j] <= 0 || gain <= 0) continue;
        const auto a = static_cast<Index>(i);
        const auto b = static_cast<Index>(j);
        const double move = std::min(alpha[j], gain / std::max(g(a, a) + g(b, b) - 2 * g(a, b), 1e-300));
        if (move * gain > most) {
          most = move * gain;
          to = i;
          from = j;
        }
      }
    }
    if (!(most > 1e-16 * std::abs(slope[to]))) break;
    const auto a = static_cast<Index>(to);
    const auto b = static_cast<Index>(from);
    const double bend = std::max(g(a, a) + g(b, b) - 2 * g(a, b), 1e-300);
    const double move = std::min(alpha[from], (slope[from] - slope[to]) / bend);
    alpha[to] += move;
    alpha[from] -= move;
    for (Index k = 0; k < n; ++k) slope[static_cast<std::size_t>(k)] += move * (g(k, a) - g(k, b));
  }
  return alpha;
}

}  // namespace

double DualPoint::bound() const {
  return -charge - 0.5 * inner(pull, pull);
}

double DualBundle::add(DualPoint point) {
  points_.push_back(std::move(point));
  if (points_.size() > most_points) points_.pop_front();
  const auto n = static_cast<Index>(points_.size());
  Matrix<double> g(n, n);
  std::vector<double> c;
  for (Index i = 0; i < n; ++i) {
    const DualPoint& a = points_[static_cast<std::size_t>(i)];
    c.push_back(a.charge);
    for (Index j = 0; j <= i; ++j) g(i, j) = g(j, i) = inner(a.pull, points_[static_cast<std::size_t>(j)].pull);
  }
  // The bound is computed from the combination itself: whatever the α, it holds.
  DualPoint mix;
  mix.pull.assign(points_.front().pull.size(), 0.0);
  const std::vector<double> alpha = simplex_minimiser(g, c);
  double total = 0;
  for (const double a : alpha) total += a;
  for (std::size_t k = 0; k < alpha.size(); ++k) {
    mix.charge += alpha[k] / total * points_[k].charge;
    for (std::size_t i = 0; i < mix.pull.size(); ++i) mix.pull[i] += alpha[k] / total * points_[k].pull[i];
  }
  return mix.bound();
}

}  // namespace mercer
