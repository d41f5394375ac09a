#include "kernel/length_scale.hpp"

#include <array>
#include <cstdio>
#include <type_traits>
#include <variant>

#include "base/text.hpp"

namespace mercer {
namespace {

template <class Form>
concept HasLengthScale = requires(Form f) {
  f.length_scale;
};

/// By way of text, so that the shortest text of the result has no more digits either.
double four_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  double rounded = value;
  parse_number(text.data(), rounded);
  return rounded;
}

/// Hands every length scale of the kernel to `use`.
template <class K, class Use>
void visit_scales(K& kernel, const Use& use) {
  const auto children = [&](auto& kernels) {
    for (auto& child : kernels) visit_scales(child, use);
  };
  std::visit(
      [&](auto& form) {
        using Form = std::remove_cvref_t<decltype(form)>;
        if constexpr (std::is_same_v<Form, Sum>) children(form.terms);
        if constexpr (std::is_same_v<Form, Product>) children(form.factors);
        if constexpr (std::is_same_v<Form, Scaled>) children(form.kernel);
        if constexpr (HasLengthScale<Form>) use(form.length_scale);
      },
      kernel.form);
}

}  // namespace

bool has_length_scales(const OperatorKernel& kernel) {
  bool found = false;
  for (const OperatorTerm& term : kernel.terms) {
    std::visit([&](const auto& form) { visit_scales(form.kernel, [&](const LengthScale&) { found = true; }); }, term.form);
  }
  return found;
}

OperatorKernel with_length_scales(OperatorKernel kernel, double median_distance, double factor) {
  const auto change = [&](LengthScale& scale) {
    if (scale.median) {
      scale = {{four_digits(median_distance * factor)}, false};
    } else if (factor != 1) {
      for (double& value : scale.values) value = four_digits(value * factor);
    }
  };
  for (OperatorTerm& term : kernel.terms) std::visit([&](auto& form) { visit_scales(form.kernel, change); }, term.form);
  return kernel;
}

}  // namespace mercer
