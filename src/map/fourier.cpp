#include "map/fourier.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "kernel/resolve.hpp"

namespace mercer {
namespace {

constexpr Index most_columns = Index{1} << 24;

const Kernel& scalar_kernel(const OperatorTerm& term) {
  return std::visit([](const auto& form) -> const Kernel& { return form.kernel; }, term.form);
}

/// ρ of the field kernels as a share of curl-free; -1 for decomposable.
double field_share(const OperatorTerm& term) {
  if (std::holds_alternative<CurlFree>(term.form)) return 1;
  if (std::holds_alternative<DivergenceFree>(term.form)) return 0;
  if (const auto* h = std::get_if<Helmholtz>(&term.form)) return h->share;
  return -1;
}

struct Part {
  std::size_t term = 0;
  SpectralTerm spectral;
  double weight = 1;
};

std::vector<Part> parts_of(const OperatorKernel& kernel, Index inputs) {
  std::vector<Part> parts;
  for (std::size_t t = 0; t < kernel.terms.size(); ++t) {
    for (auto& spectral : spectral_terms(scalar_kernel(kernel.terms[t]), inputs)) {
      const double weight = kernel.terms[t].weight * spectral.weight;
      parts.push_back({t, std::move(spectral), weight});
    }
  }
  return parts;
}

bool is_one(const std::vector<Monomial>& monomials) {
  return monomials.size() == 1 && monomials[0].coefficient == 1 &&
         std::ranges::all_of(monomials[0].exponents, [](int e) { return e == 0; });
}

template <class Real>
Real evaluate(const Monomial& monomial, std::span<const Real> x) {
  Real value = static_cast<Real>(monomial.coefficient);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (int e = 0; e < monomial.exponents[i]; ++e) value *= x[i];
  }
  return value;
}

}  // namespace

std::vector<Index> apportion(Index total, const std::vector<double>& weights) {
  const auto count = static_cast<Index>(weights.size());
  if (count > total) {
    fail_argument("the kernel has " + std::to_string(count) + " random parts but the map only " + std::to_string(total) +
                  " frequencies; give at least one each");
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Index> share(weights.size(), 1);
  std::vector<double> remainder(weights.size());
  Index left = total - count;
  const auto spread = static_cast<double>(left);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double exact = spread * weights[i] / sum;
    share[i] += static_cast<Index>(exact);
    remainder[i] = exact - std::floor(exact);
    left -= static_cast<Index>(exact);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  for (Index k = 0; k < left; ++k) ++share[order[static_cast<std::size_t>(k % count)]];
  return share;
}

const char* to_string(Sampling sampling) {
  switch (sampling) {
    case Sampling::monte_carlo:
      return "monte_carlo";
    case Sampling::orthogonal:
      return "orthogonal";
    case Sampling::quasi:
      return "quasi";
    case Sampling::automatic:
      break;
  }
  return "automatic";
}

FourierMap::FourierMap(const OperatorKernel& resolved, Index inputs, Index outputs, const FourierRecipe& recipe)
    : FeatureMap(inputs, outputs) {
  if (recipe.frequencies < 1)
    fail_argument("a Fourier map needs at least one frequency, got " + std::to_string(recipe.frequencies));
  const std::vector<Part> parts = parts_of(resolved, inputs);
  std::vector<double> weights;
  for (const auto& part : parts) {
    if (part.spectral.has_frequencies()) weights.push_back(part.weight);
  }
  std::vector<Index> shares;
  if (!weights.empty()) shares = apportion(recipe.frequencies, weights);
  const Index total = std::accumulate(shares.begin(), shares.end(), Index{0});
  if (checked_product(total, inputs) > most_columns * 64) fail_argument("the frequency matrix would be too large");
  frequencies_ = Matrix<double>(total, inputs);

  const Stream stream(recipe.seed, "fourier");
  Index frequency = 0;
  Index random_part = 0;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    const Part& part = parts[index];
    const OperatorTerm& term = resolved.terms[part.term];
    Group group;
    group.first_column = coupling_.columns();
    group.first_frequency = frequency;
    group.monomials = part.spectral.monomials;
    group.plain = is_one(group.monomials);
    auto columns = static_cast<Index>(group.monomials.size());
    group.scale = std::sqrt(part.weight);
    if (part.spectral.has_frequencies()) {
      group.frequencies = shares[static_cast<std::size_t>(random_part++)];
      group.scale /= std::sqrt(static_cast<double>(group.frequencies));
      columns = checked_product(columns, 2 * group.frequencies);
      const Sampling sampling = resolve_sampling(recipe.sampling, part.spectral, inputs);
      samplings_.push_back(sampling);
      const Matrix<double> drawn =
          sample_frequencies(part.spectral, inputs, group.frequencies, sampling, stream.child("part", index));
      std::ranges::copy(drawn.values(), frequencies_.row(frequency).data());
      frequency += group.frequencies;
    }
    if (coupling_.columns() + columns > most_columns)
      fail_argument("the map would have more than 16 million feature columns");
    const double share = field_share(term);
    if (share < 0) {
      coupling_.append_constant(columns,
                                symmetric_factor(output_matrix(std::get<Decomposable>(term.form).outputs, outputs)));
    } else {
      std::vector<double> factors;
      for (Index j = 0; j < group.frequencies; ++j) {
        append_field_factor(frequencies_.row(group.first_frequency + j), share, factors);
      }
      coupling_.append_per_frequency(2, group.frequencies, field_factor_width(inputs, share), std::move(factors));
    }
    groups_.push_back(std::move(group));
  }
  columns_ = transposed(frequencies_);
  columns_single_ = Matrix<float>(inputs, total);
  std::ranges::transform(columns_.values(), columns_single_.values().begin(),
                         [](double w) { return static_cast<float>(w); });
}

std::string FourierMap::sampling_name() const {
  if (samplings_.empty()) return "explicit";
  const bool same = std::ranges::all_of(samplings_, [&](Sampling s) { return s == samplings_.front(); });
  return same ? to_string(samplings_.front()) : "mixed";
}

template <>
const Matrix<double>& FourierMap::omega<double>() const {
  return columns_;
}
template <>
const Matrix<float>& FourierMap::omega<float>() const {
  return columns_single_;
}

template <class Real>
void FourierMap::chunk(MatrixView<const Real> x, MatrixView<Real> phi) const {
  thread_local Matrix<Real> across;  // xᵀ
  const Matrix<Real>& w = omega<Real>();
  if (across.rows() != x.cols || across.cols() < x.rows) across = Matrix<Real>(x.cols, x.rows);
  for (Index i = 0; i < x.rows; ++i) {
    for (Index k = 0; k < x.cols; ++k) across(k, i) = x(i, k);
  }
  for (const Group& g : groups_) {
    const Index f = g.frequencies;
    const auto scale = static_cast<Real>(g.scale);
    const MatrixView<Real> out = phi.col_range(g.first_column, g.columns());
    if (f == 0) {
      for (Index i = 0; i < x.rows; ++i) {
        for (Index c = 0; c < out.cols; ++c)
          out(i, c) = scale * evaluate<Real>(g.monomials[static_cast<std::size_t>(c)], x.row(i));
      }
      continue;
    }
    // Phases lie where the last cosines of the group will: one trip less to the caches.
    const MatrixView<Real> phase = out.col_range(out.cols - 2 * f, f);
    thin_adjoint<Real>(w.view().col_range(g.first_frequency, f), across.view().col_range(0, x.rows), false, phase);
    for (Index i = 0; i < x.rows; ++i) {
      for (Index c = 0; c < out.cols; c += 2 * f) {
        const Monomial& monomial = g.monomials[static_cast<std::size_t>(c / (2 * f))];
        const Real e = g.plain ? scale : scale * evaluate<Real>(monomial, x.row(i));
        cos_sin<Real>(&phase(i, 0), f, e, &out(i, c), &out(i, c + f));
      }
    }
  }
}

template <class Real>
void FourierMap::features_in(MatrixView<const Real> x, MatrixView<Real> phi) const {
  constexpr Index rows = 64;  // which stay in the second cache
  parallel_for((x.rows + rows - 1) / rows, [&](Index task) {
    const Index first = task * rows;
    const Index count = std::min(rows, x.rows - first);
    chunk<Real>(x.row_range(first, count), phi.row_range(first, count));
  });
}

void FourierMap::features(MatrixView<const float> x, MatrixView<float> phi) const {
  features_in<float>(x, phi);
}
void FourierMap::features(MatrixView<const double> x, MatrixView<double> phi) const {
  features_in<double>(x, phi);
}

std::vector<double> FourierMap::bounds() const {
  std::vector<double> bounds(static_cast<std::size_t>(columns()));
  for (const Group& g : groups_) {
    if (!g.plain) return {};
    const auto first = static_cast<std::ptrdiff_t>(g.first_column);
    std::fill_n(bounds.begin() + first, g.columns(), g.scale);
  }
  return bounds;
}

std::uint64_t FourierMap::fingerprint() const {
  return XXH3_64bits(frequencies_.data(), frequencies_.values().size_bytes());
}

}  // namespace mercer
