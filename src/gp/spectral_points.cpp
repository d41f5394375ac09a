#include "gp/spectral_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/spectral.hpp"
#include "map/fourier.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

constexpr std::array<std::pair<const char*, Allocation>, 3> allocations = {
    {{"softmax", Allocation::softmax}, {"optimal", Allocation::optimal}, {"uniform", Allocation::uniform}}};
constexpr std::array<std::pair<const char*, PointSampling>, 3> samplings = {
    {{"mc", PointSampling::monte_carlo}, {"antithetic", PointSampling::antithetic}, {"qmc", PointSampling::quasi}}};

template <class Table>
auto look_up(const Table& table, const std::string& text, const char* what) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table) {
    if (text == name) return value;
    names.emplace_back(name);
  }
  fail_argument(std::string(what) + " " + mercer::quoted(text) + " is none of " + join(names, ", ") +
                did_you_mean(text, names));
}

template <class Table, class Value>
const char* name_in(const Table& table, Value value) {
  return std::ranges::find(table, value, [](const auto& entry) { return entry.second; })->first;
}

/// w_q √(mean of Var cos(2π⟨s, δ⟩)).
double optimal_share(const Mixture& mixture, Index q, ConstMatrix differences) {
  double variance = 0;
  std::vector<double> twice(at(differences.cols));
  for (Index i = 0; i < differences.rows; ++i) {
    std::ranges::transform(differences.row(i), twice.begin(), [](double v) { return 2 * v; });
    const double k = component_value(mixture, q, differences.row(i));
    variance += std::max(0.0, (1 + component_value(mixture, q, twice)) / 2 - k * k);
  }
  const auto rows = static_cast<double>(std::max<Index>(differences.rows, 1));
  return mixture.weights[at(q)] * std::sqrt(variance / rows);
}

/// Rows ε_0, -ε_0, ε_1, -ε_1, …
Matrix<double> antithetic(const SpectralTerm& law, Index inputs, Index count, const Stream& stream) {
  const Matrix<double> half = sample_frequencies(law, inputs, (count + 1) / 2, Sampling::monte_carlo, stream);
  Matrix<double> all(count, inputs);
  for (Index i = 0; i < count; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    std::ranges::transform(half.row(i / 2), all.row(i).begin(), [&](double v) { return sign * v; });
  }
  return all;
}

}  // namespace

Allocation parse_allocation(const std::string& text) {
  return look_up(allocations, text, "the allocation of spectral points");
}
const char* to_string(Allocation allocation) {
  return name_in(allocations, allocation);
}
PointSampling parse_point_sampling(const std::string& text) {
  return look_up(samplings, text, "the sampling of spectral points");
}
const char* to_string(PointSampling sampling) {
  return name_in(samplings, sampling);
}

std::vector<Index> allocate(const Mixture& mixture, Index total, Allocation rule, double temperature,
                            ConstMatrix differences) {
  std::vector<double> shares(at(mixture.components()), 1.0);
  const double largest = *std::ranges::max_element(mixture.weights);
  for (std::size_t q = 0; q < shares.size(); ++q) {
    if (rule == Allocation::softmax) shares[q] = std::pow(mixture.weights[q] / largest, 1 / temperature);
    if (rule == Allocation::optimal) shares[q] = optimal_share(mixture, static_cast<Index>(q), differences);
  }
  if (std::ranges::all_of(shares, [](double s) { return !(s > 0); })) std::ranges::fill(shares, 1.0);
  return apportion(total, shares);
}

SpectralPoints draw_points(const Mixture& mixture, const std::vector<Index>& shares, PointSampling sampling,
                           const Stream& stream) {
  SpectralPoints points;
  points.shares = shares;
  for (std::size_t q = 0; q < shares.size(); ++q) {
    points.component.insert(points.component.end(), at(shares[q]), static_cast<Index>(q));
  }
  const Index d = mixture.inputs();
  points.epsilon = Matrix<double>(static_cast<Index>(points.component.size()), d);
  const SpectralTerm law{1.0, {{1.0, std::vector<int>(at(d), 0)}}, {mixture.envelope}};
  Index first = 0;
  for (std::size_t q = 0; q < shares.size(); ++q) {
    const Stream own = stream.child("component", q);
    const Matrix<double> drawn =
        sampling == PointSampling::antithetic
            ? antithetic(law, d, shares[q], own)
            : sample_frequencies(law, d, shares[q],
                                 sampling == PointSampling::quasi ? Sampling::quasi : Sampling::monte_carlo, own);
    std::ranges::copy(drawn.values(), points.epsilon.row(first).begin());
    first += shares[q];
  }
  return points;
}

Matrix<double> frequencies(const Mixture& mixture, const SpectralPoints& points) {
  Matrix<double> s(points.count(), mixture.inputs());
  for (Index j = 0; j < s.rows(); ++j) {
    const Index q = points.component[at(j)];
    for (Index k = 0; k < s.cols(); ++k) s(j, k) = mixture.means(q, k) + mixture.scales(q, k) * points.epsilon(j, k);
  }
  return s;
}

std::vector<double> amplitudes(const Mixture& mixture, const SpectralPoints& points) {
  std::vector<double> a(at(points.count()));
  for (std::size_t j = 0; j < a.size(); ++j) {
    const Index q = points.component[j];
    a[j] = std::sqrt(mixture.weights[at(q)] / static_cast<double>(points.shares[at(q)]));
  }
  return a;
}

}  // namespace mercer
