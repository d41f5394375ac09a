#include <mercer/kernel.hpp>

#include <algorithm>
#include <variant>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/rules.hpp"
#include "kernel/visit.hpp"

// What is printed is what parse.cpp reads back to the same value: parentheses stand wherever a sum, a product or a scaled
// kernel is a factor, and nowhere else.

namespace mercer {
namespace {

std::string text_of(const std::vector<double>& values) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const double value : values) parts.push_back(shortest(value));
  return "[" + join(parts, ", ") + "]";
}

std::string text_of(const std::vector<std::vector<double>>& rows) {
  std::vector<std::string> parts;
  parts.reserve(rows.size());
  for (const auto& row : rows) parts.push_back(text_of(row));
  return "[" + join(parts, ", ") + "]";
}

/// Rows of one number each are a flat list: [0.1, 0.2].
std::string text_of_frequencies(const std::vector<std::vector<double>>& rows) {
  const bool flat = std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.size() == 1; });
  if (!flat) return text_of(rows);
  std::vector<double> values;
  values.reserve(rows.size());
  for (const auto& row : rows) values.push_back(row.front());
  return text_of(values);
}

std::string text_of(const LengthScale& scale) {
  if (scale.median) return "median";
  return scale.values.size() == 1 ? shortest(scale.values.front()) : text_of(scale.values);
}

std::string text_of(const std::string& file) {
  std::string result = "\"";
  for (const char c : file) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string sum_text(const Kernel& kernel);
std::string product_text(const Kernel& kernel);

bool is_leaf(const Kernel& kernel) {
  return !std::holds_alternative<Sum>(kernel.form) && !std::holds_alternative<Product>(kernel.form) &&
         !std::holds_alternative<Scaled>(kernel.form);
}

std::string factor_text(const Kernel& kernel) {
  return is_leaf(kernel) ? sum_text(kernel) : "(" + sum_text(kernel) + ")";
}

std::string scaled_text(const Scaled& scaled) {
  const Kernel& inner = scaled.kernel.front();
  const bool bare = std::holds_alternative<Product>(inner.form);
  return shortest(scaled.factor) + "*" + (bare ? product_text(inner) : factor_text(inner));
}

std::string leaf_text(const Kernel& kernel) {
  const std::string name = form_name(kernel);
  return std::visit(
      Overload{[&](const Gaussian& k) { return name + "(" + text_of(k.length_scale) + ")"; },
               [&](const Laplacian& k) { return name + "(" + text_of(k.length_scale) + ")"; },
               [&](const Cauchy& k) { return name + "(" + text_of(k.length_scale) + ")"; },
               [&](const Matern& k) { return name + "(" + text_of(k.length_scale) + ", nu=" + shortest(k.nu) + ")"; },
               [&](const RationalQuadratic& k) {
                 return name + "(" + text_of(k.length_scale) + ", alpha=" + shortest(k.alpha) + ")";
               },
               [&](const SpectralMixture& k) {
                 return name + "(weights=" + text_of(k.weights) + ", means=" + text_of_frequencies(k.means) +
                        ", scales=" + text_of_frequencies(k.scales) + ")";
               },
               [&](const Linear&) { return name + "()"; },
               [&](const Polynomial& k) {
                 return name + "(degree=" + std::to_string(k.degree) + ", offset=" + shortest(k.offset) + ")";
               },
               [](const auto&) { return std::string(); }},
      kernel.form);
}

std::string product_text(const Kernel& kernel) {
  if (const auto* product = std::get_if<Product>(&kernel.form)) {
    std::vector<std::string> parts;
    for (const Kernel& factor : product->factors) parts.push_back(factor_text(factor));
    return join(parts, "*");
  }
  if (const auto* scaled = std::get_if<Scaled>(&kernel.form)) return scaled_text(*scaled);
  return leaf_text(kernel);
}

std::string sum_text(const Kernel& kernel) {
  const auto* sum = std::get_if<Sum>(&kernel.form);
  if (sum == nullptr) return product_text(kernel);
  std::vector<std::string> parts;
  for (const Kernel& term : sum->terms) parts.push_back(sum_text(term));
  return join(parts, " + ");
}

void check_printable(const Kernel& kernel) {
  const std::string broken = broken_rule(kernel);
  if (!broken.empty()) fail_argument(broken);
  std::visit(Overload{[](const Sum& k) { std::for_each(k.terms.begin(), k.terms.end(), check_printable); },
                      [](const Product& k) { std::for_each(k.factors.begin(), k.factors.end(), check_printable); },
                      [](const Scaled& k) { check_printable(k.kernel.front()); }, [](const auto&) {}},
             kernel.form);
}

std::string outputs_text(const OutputMatrix& outputs) {
  return std::visit(Overload{[](const IdentityOutputs&) { return std::string("identity"); },
                             [](const CovarianceOutputs&) { return std::string("covariance"); },
                             [](const GivenOutputs& o) { return text_of(o.matrix); },
                             [](const GraphOutputs& o) { return "graph(" + text_of(o.file) + ", " + shortest(o.mix) + ")"; },
                             [](const QuantileOutputs& o) {
                               return "quantile(" + text_of(o.levels) + ", gamma=" + shortest(o.gamma) + ")";
                             }},
                    outputs);
}

/// A term a bare scalar kernel stands for.
bool is_scalar_term(const OperatorTerm& term) {
  const auto* form = std::get_if<Decomposable>(&term.form);
  return form != nullptr && term.weight == 1 && std::holds_alternative<IdentityOutputs>(form->outputs);
}

std::string term_text(const OperatorTerm& term) {
  const std::string weight = term.weight == 1 ? "" : shortest(term.weight) + "*";
  return weight + std::visit(Overload{[](const Decomposable& k) {
                                        return "decomposable(" + to_string(k.kernel) + ", " + outputs_text(k.outputs) + ")";
                                      },
                                      [](const CurlFree& k) { return "curl_free(" + to_string(k.kernel) + ")"; },
                                      [](const DivergenceFree& k) { return "divergence_free(" + to_string(k.kernel) + ")"; },
                                      [](const Helmholtz& k) {
                                        return "helmholtz(" + to_string(k.kernel) + ", " + shortest(k.share) + ")";
                                      }},
                             term.form);
}

}  // namespace

std::string to_string(const Kernel& kernel) {
  check_printable(kernel);
  return sum_text(kernel);
}

std::string to_string(const OperatorKernel& kernel) {
  if (kernel.terms.empty()) fail_argument("an operator kernel needs at least one term");
  std::vector<std::string> parts;
  bool after_scalar = false;  // two bare scalar neighbours would be read as one term
  for (const OperatorTerm& term : kernel.terms) {
    after_scalar = is_scalar_term(term) && !after_scalar;
    parts.push_back(after_scalar ? to_string(std::get<Decomposable>(term.form).kernel) : term_text(term));
  }
  return join(parts, " + ");
}

bool is_decomposable(const OperatorKernel& kernel) {
  return kernel.terms.size() == 1 && std::holds_alternative<Decomposable>(kernel.terms.front().form);
}

bool is_vector_field(const OperatorKernel& kernel) {
  return std::any_of(kernel.terms.begin(), kernel.terms.end(),
                     [](const OperatorTerm& term) { return !std::holds_alternative<Decomposable>(term.form); });
}

}  // namespace mercer
