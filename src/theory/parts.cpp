#include "theory/parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/fail.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/resolve.hpp"
#include "kernel/spectral.hpp"
#include "kernel/visit.hpp"
#include "theory/small_matrix.hpp"

namespace mercer {
namespace {

void check_leaf(const LengthScale& scale, Index inputs) {
  const auto count = static_cast<Index>(scale.values.size());
  if (scale.median || (count != 1 && count != inputs)) {
    fail_argument("error bounds need a resolved kernel: one length scale, or one for each of the " + std::to_string(inputs) +
                  " inputs, got " + (scale.median ? "median" : std::to_string(count)));
  }
}

void check_leaf(const Kernel& leaf, Index inputs) {
  std::visit(Overload{[&](const SpectralMixture& m) {
                        for (const auto& row : m.means) {
                          if (static_cast<Index>(row.size()) != inputs) {
                            fail_argument("spectral_mixture has means of " + std::to_string(row.size()) + " inputs, not " +
                                          std::to_string(inputs));
                          }
                        }
                      },
                      [&](const auto& form) {
                        if constexpr (requires { form.length_scale; }) check_leaf(form.length_scale, inputs);
                      }},
             leaf.form);
}

bool is_constant(const SpectralTerm& term) {
  return term.monomials.size() == 1 && std::ranges::all_of(term.monomials[0].exponents, [](int e) { return e == 0; });
}

void set_operator(const OperatorTerm& term, Index inputs, Index outputs, RandomPart& part) {
  std::visit(Overload{[&](const Decomposable& form) { part.outputs = output_matrix(form.outputs, outputs); },
                      [&](const CurlFree&) { part.curl = 1; }, [&](const DivergenceFree&) { part.divergence = 1; },
                      [&](const Helmholtz& form) {
                        part.curl = form.share;
                        part.divergence = 1 - form.share;
                      }},
             term.form);
  part.field = !std::holds_alternative<Decomposable>(term.form);
  if (inputs == 1) part.divergence = 0;  // ‖ω‖² - ω² = 0
  if (part.field && inputs != outputs) {
    fail_argument("a vector field needs as many outputs as inputs, got " + std::to_string(outputs) + " and " +
                  std::to_string(inputs));
  }
}

}  // namespace

std::vector<RandomPart> random_parts(const OperatorKernel& kernel, Index inputs, Index outputs) {
  if (inputs < 1 || outputs < 1) fail_argument("error bounds need at least one input and one output");
  std::vector<RandomPart> parts;
  for (const OperatorTerm& term : kernel.terms) {
    const Kernel& scalar = std::visit([](const auto& form) -> const Kernel& { return form.kernel; }, term.form);
    for (const SpectralTerm& spectral : spectral_terms(scalar, inputs)) {
      if (!spectral.has_frequencies()) continue;
      RandomPart part;
      part.factors = spectral.factors;
      for (const Kernel& leaf : part.factors) check_leaf(leaf, inputs);
      part.share = term.weight * spectral.weight;
      part.shift_invariant = is_constant(spectral);
      part.scale = part.share * std::pow(spectral.monomials[0].coefficient, 2);
      set_operator(term, inputs, outputs, part);
      parts.push_back(std::move(part));
    }
  }
  const double total =
      std::accumulate(parts.begin(), parts.end(), 0.0, [](double sum, const RandomPart& part) { return sum + part.share; });
  for (RandomPart& part : parts) part.share /= total;
  return parts;
}

Index implied_outputs(const OperatorKernel& kernel, Index inputs) {
  for (const OperatorTerm& term : kernel.terms) {
    const auto* form = std::get_if<Decomposable>(&term.form);
    if (form == nullptr) return inputs;
    if (const auto* given = std::get_if<GivenOutputs>(&form->outputs)) return static_cast<Index>(given->matrix.size());
  }
  return 1;
}

double operator_norm_factor(const RandomPart& part) {
  if (!part.field) return part.scale * symmetric_norm(part.outputs);
  return part.scale * std::max(part.curl, part.divergence);
}

double tail_index(const std::vector<Kernel>& factors) {
  double index = std::numeric_limits<double>::infinity();
  for (const Kernel& leaf : factors) {
    if (const auto* matern = std::get_if<Matern>(&leaf.form)) index = std::min(index, 2 * matern->nu);
    if (std::holds_alternative<Laplacian>(leaf.form)) index = std::min(index, 1.0);
  }
  return index;
}

double scalar_value(const std::vector<Kernel>& factors, Point delta) {
  const std::vector<double> origin(delta.size(), 0.0);
  double product = 1;
  for (const Kernel& leaf : factors) {
    const double at_zero = std::holds_alternative<SpectralMixture>(leaf.form) ? value(leaf, origin, origin) : 1.0;
    product *= value(leaf, delta, origin) / at_zero;
  }
  return product;
}

}  // namespace mercer
