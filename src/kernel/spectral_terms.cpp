#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/rules.hpp"
#include "kernel/spectral.hpp"

namespace mercer {
namespace {

constexpr std::size_t most_terms = 1000;
constexpr Index most_monomials = 100'000;
constexpr Index most_exponents = 100'000'000;  // monomials times inputs: 400 MB
constexpr Index most_pairs = 1'000'000;        // of monomials to multiply before equal ones are merged

using Terms = std::vector<SpectralTerm>;

void check_monomials(double monomials, Index inputs) {
  if (monomials > static_cast<double>(most_monomials) ||
      monomials * static_cast<double>(inputs) > static_cast<double>(most_exponents)) {
    fail_argument("the linear and polynomial parts of the kernel have " +
                  (monomials < 1e15 ? human_count(monomials) : "more than 1e15") + " monomials in " +
                  human_count(static_cast<double>(inputs)) + " inputs, too many for explicit features (" +
                  human_count(static_cast<double>(most_monomials)) + " monomials, " +
                  human_count(static_cast<double>(most_exponents)) + " exponents); lower the degree, or use a sketch");
  }
}

void check_terms(std::size_t terms) {
  if (terms > most_terms) {
    fail_argument("multiplied out, the kernel is a sum of more than " + std::to_string(most_terms) + " products");
  }
}

void check_scale(const Kernel& leaf, const LengthScale& scale, Index inputs) {
  const std::string name = form_name(leaf);
  const auto size = static_cast<Index>(scale.values.size());
  if (scale.median) fail_argument(name + ": the length scale is still 'median'; give a number, or fit on data");
  if (size != 1 && size != inputs) {
    fail_argument(name + " has " + std::to_string(size) + " length scales for " + std::to_string(inputs) +
                  " inputs; give one, or one per input");
  }
}

Monomial constant_monomial(Index inputs) {
  return {1, std::vector<int>(static_cast<std::size_t>(inputs))};
}

SpectralTerm leaf_term(const Kernel& leaf, Index inputs) {
  return {1, {constant_monomial(inputs)}, {leaf}};
}

/// C(n, k) in doubles: exact while it is below 2⁵³.
double binomial(int n, int k) {
  double value = 1;
  for (int i = 1; i <= std::min(k, n - k); ++i) value = value * (n - i + 1) / i;
  return value;
}

/// The number of ways to write `degree` as a sum of `variables` parts: C(variables + degree - 1, degree).
double composition_count(Index variables, int degree) {
  double count = 1;
  for (int i = 1; i <= degree; ++i) count = count * (static_cast<double>(variables) - 1 + i) / i;
  return count;
}

/// (⟨x,z⟩ + c)^q = Σ_|α|=q q!/α! c^α_0 Π_i (x_i z_i)^α_i over α in N^{1+d}: one monomial Π x_i^α_i with coefficient
/// √(q!/α! c^α_0) for each. The part of c comes last, and is left out when c = 0.
std::vector<Monomial> polynomial_monomials(int degree, double offset, Index inputs) {
  const Index variables = inputs + (offset > 0 ? 1 : 0);
  check_monomials(composition_count(variables, degree), inputs);
  std::vector<Monomial> monomials;
  std::vector<int> alpha(static_cast<std::size_t>(variables));
  alpha[0] = degree;
  while (true) {
    double square = 1;
    int left = degree;
    for (const int a : alpha) {
      square *= binomial(left, a);
      left -= a;
    }
    if (offset > 0) {
      for (int i = 0; i < alpha.back(); ++i) square *= offset;
    }
    if (!std::isfinite(square))
      fail_argument("polynomial: offset " + shortest(offset) + " to the degree overflows; lower it");
    monomials.push_back({std::sqrt(square), {alpha.begin(), alpha.begin() + inputs}});
    if (alpha.back() == degree) return monomials;
    // The next composition of `degree` (Nijenhuis and Wilf, NEXCOM).
    const auto first =
        static_cast<std::size_t>(std::find_if(alpha.begin(), alpha.end(), [](int a) { return a > 0; }) - alpha.begin());
    const int value = std::exchange(alpha[first], 0);
    alpha[0] = value - 1;
    ++alpha[first + 1];
  }
}

bool is_constant(const std::vector<Monomial>& monomials) {
  return monomials.size() == 1 && std::all_of(monomials[0].exponents.begin(), monomials[0].exponents.end(),
                                              [](int exponent) { return exponent == 0; });
}

std::vector<Monomial> scaled(std::vector<Monomial> monomials, double factor) {
  for (Monomial& m : monomials) m.coefficient *= factor;
  return monomials;
}

/// (Σ_r e_r(x)e_r(z))(Σ_s f_s(x)f_s(z)) = Σ_rs (e_r f_s)(x) (e_r f_s)(z); equal monomials merge by adding squared
/// coefficients.
std::vector<Monomial> multiply(const std::vector<Monomial>& a, const std::vector<Monomial>& b, Index inputs) {
  if (is_constant(a)) return scaled(b, a[0].coefficient);
  if (is_constant(b)) return scaled(a, b[0].coefficient);
  const double pairs = static_cast<double>(a.size()) * static_cast<double>(b.size());
  if (pairs > static_cast<double>(most_pairs)) check_monomials(pairs, inputs);
  std::map<std::vector<int>, double> squares;
  std::vector<int> exponents(static_cast<std::size_t>(inputs));
  for (const Monomial& e : a) {
    for (const Monomial& f : b) {
      for (std::size_t i = 0; i < exponents.size(); ++i) exponents[i] = e.exponents[i] + f.exponents[i];
      const double coefficient = e.coefficient * f.coefficient;
      squares[exponents] += coefficient * coefficient;
    }
    check_monomials(static_cast<double>(squares.size()), inputs);
  }
  std::vector<Monomial> product;
  product.reserve(squares.size());
  for (auto& [key, square] : squares) product.push_back({std::sqrt(square), key});
  return product;
}

Terms multiply(const Terms& a, const Terms& b, Index inputs) {
  check_terms(a.size() * b.size());
  Terms product;
  double monomials = 0;
  for (const SpectralTerm& s : a) {
    for (const SpectralTerm& t : b) {
      SpectralTerm term{s.weight * t.weight, multiply(s.monomials, t.monomials, inputs), s.factors};
      term.factors.insert(term.factors.end(), t.factors.begin(), t.factors.end());
      monomials += static_cast<double>(term.monomials.size());
      check_monomials(monomials, inputs);
      product.push_back(std::move(term));
    }
  }
  return product;
}

/// One overload per form; `kernel` is the whole that holds it.
struct Expand {
  Index inputs;

  Terms operator()(const Kernel& kernel) const {
    if (const std::string broken = broken_rule(kernel); !broken.empty()) fail_argument(broken);
    return std::visit([&](const auto& form) { return (*this)(form, kernel); }, kernel.form);
  }

  /// The leaves that have a length scale.
  template <class Leaf>
  Terms operator()(const Leaf& form, const Kernel& kernel) const {
    check_scale(kernel, form.length_scale, inputs);
    return {leaf_term(kernel, inputs)};
  }
  Terms operator()(const SpectralMixture& form, const Kernel&) const {
    const auto width = static_cast<Index>(form.means.front().size());
    if (width != inputs) {
      fail_argument("spectral_mixture has means of " + std::to_string(width) + " numbers for " + std::to_string(inputs) +
                    " inputs");
    }
    double total = 0;
    for (const double w : form.weights) total += w;
    if (!std::isfinite(total)) fail_argument("spectral_mixture: the sum of the weights overflows");
    SpectralMixture unit = form;
    for (double& w : unit.weights) w /= total;
    SpectralTerm term = leaf_term({std::move(unit)}, inputs);
    term.weight = total;
    return {std::move(term)};
  }
  Terms operator()(const Linear&, const Kernel&) const { return {{1, polynomial_monomials(1, 0, inputs), {}}}; }
  Terms operator()(const Polynomial& form, const Kernel&) const {
    return {{1, polynomial_monomials(form.degree, form.offset, inputs), {}}};
  }
  Terms operator()(const Sum& form, const Kernel&) const {
    Terms all;
    double monomials = 0;
    for (const Kernel& part : form.terms) {
      for (SpectralTerm& term : (*this)(part)) {
        monomials += static_cast<double>(term.monomials.size());
        check_monomials(monomials, inputs);
        all.push_back(std::move(term));
      }
      check_terms(all.size());
    }
    return all;
  }
  Terms operator()(const Product& form, const Kernel&) const {
    Terms product = {{1, {constant_monomial(inputs)}, {}}};
    for (const Kernel& factor : form.factors) product = multiply(product, (*this)(factor), inputs);
    return product;
  }
  Terms operator()(const Scaled& form, const Kernel&) const {
    Terms terms = (*this)(form.kernel[0]);
    for (SpectralTerm& term : terms) term.weight *= form.factor;
    return terms;
  }
};

}  // namespace

std::vector<SpectralTerm> spectral_terms(const Kernel& kernel, Index inputs) {
  if (inputs < 1) fail_argument("a kernel needs at least one input");
  return Expand{inputs}(kernel);
}

}  // namespace mercer
