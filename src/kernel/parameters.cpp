#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/fail.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/leaf.hpp"
#include "kernel/rules.hpp"
#include "kernel/visit.hpp"

namespace mercer {
namespace {

using Rows = std::vector<std::vector<double>>;

void name_list(std::vector<std::string>& names, const std::string& what, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) names.push_back(what + "[" + std::to_string(i) + "]");
}

void name_rows(std::vector<std::string>& names, const std::string& what, const Rows& rows) {
  for (std::size_t q = 0; q < rows.size(); ++q) name_list(names, what + "[" + std::to_string(q) + "]", rows[q].size());
}

/// Visits every parameter of a kernel in order; `visit` gets a double& (or const double&).
template <class AnyKernel, class Visit>
void for_each_parameter(AnyKernel& kernel, const Visit& visit) {
  const auto all = [&](auto& values) { std::for_each(values.begin(), values.end(), visit); };
  const auto all_rows = [&](auto& rows) { std::for_each(rows.begin(), rows.end(), all); };
  const auto each = [&](auto& child) { for_each_parameter(child, visit); };
  static_assert(std::is_same_v<std::remove_const_t<AnyKernel>, Kernel>);
  std::visit(
      [&](auto& k) {
        using Form = std::remove_cvref_t<decltype(k)>;
        if constexpr (std::is_same_v<Form, Sum>) {
          std::for_each(k.terms.begin(), k.terms.end(), each);
        } else if constexpr (std::is_same_v<Form, Product>) {
          std::for_each(k.factors.begin(), k.factors.end(), each);
        } else if constexpr (std::is_same_v<Form, Scaled>) {
          visit(k.factor);
          each(k.kernel.front());
        } else if constexpr (std::is_same_v<Form, SpectralMixture>) {
          all(k.weights);
          all_rows(k.means);
          all_rows(k.scales);
        } else if constexpr (std::is_same_v<Form, Polynomial>) {
          visit(k.offset);
        } else if constexpr (!std::is_same_v<Form, Linear>) {
          all(k.length_scale.values);
          if constexpr (std::is_same_v<Form, RationalQuadratic>) visit(k.alpha);
        }
      },
      kernel.form);
}

void add_names(const Kernel& kernel, const std::string& path, std::vector<std::string>& names) {
  const auto children = [&](const std::vector<Kernel>& kernels, const char* what) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      add_names(kernels[i], path + what + "[" + std::to_string(i) + "].", names);
    }
  };
  const std::string own = path + form_name(kernel) + ".";
  const auto scales = [&](const LengthScale& scale) {
    if (scale.values.size() == 1) {
      names.push_back(own + "length_scale");
    } else {
      name_list(names, own + "length_scale", scale.values.size());
    }
  };
  std::visit(
      Overload{[&](const Sum& k) { children(k.terms, "terms"); }, [&](const Product& k) { children(k.factors, "factors"); },
               [&](const Scaled& k) {
                 names.push_back(path + "factor");
                 const bool again = std::holds_alternative<Scaled>(k.kernel.front().form);
                 add_names(k.kernel.front(), again ? path + "kernel." : path, names);
               },
               [&](const SpectralMixture& k) {
                 name_list(names, own + "weights", k.weights.size());
                 name_rows(names, own + "means", k.means);
                 name_rows(names, own + "scales", k.scales);
               },
               [&](const Polynomial&) { names.push_back(own + "offset"); }, [](const Linear&) {},
               [&](const RationalQuadratic& k) {
                 scales(k.length_scale);
                 names.push_back(own + "alpha");
               },
               [&](const auto& k) { scales(k.length_scale); }},
      kernel.form);
}

std::size_t parameter_count(const Kernel& kernel) {
  std::size_t count = 0;
  for_each_parameter(kernel, [&](const double&) { ++count; });
  return count;
}

/// The slice of `gradient` that belongs to each child in turn, filled by the child.
void children_gradients(const std::vector<Kernel>& kernels, Point x, Point z, MutPoint gradient) {
  for (const Kernel& child : kernels) {
    const std::size_t count = parameter_count(child);
    parameter_gradient(child, x, z, gradient.first(count));
    gradient = gradient.subspan(count);
  }
}

/// Each factor's own gradient times the values of the others (by prefix and suffix products, so that zeros are no trouble).
void product_parameter_gradient(const Product& kernel, Point x, Point z, MutPoint gradient) {
  children_gradients(kernel.factors, x, z, gradient);
  const std::size_t n = kernel.factors.size();
  std::vector<double> after(n + 1, 1.0);
  for (std::size_t i = n; i-- > 0;) after[i] = after[i + 1] * value(kernel.factors[i], x, z);
  double before = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t count = parameter_count(kernel.factors[i]);
    for (double& entry : gradient.first(count)) entry *= before * after[i + 1];
    gradient = gradient.subspan(count);
    before *= value(kernel.factors[i], x, z);
  }
}

}  // namespace

std::vector<double> parameters(const Kernel& kernel) {
  std::vector<double> result;
  for_each_parameter(kernel, [&](const double& parameter) { result.push_back(parameter); });
  return result;
}

std::vector<std::string> parameter_names(const Kernel& kernel) {
  std::vector<std::string> names;
  add_names(kernel, "", names);
  return names;
}

Kernel with_parameters(const Kernel& kernel, std::span<const double> parameters) {
  const std::size_t count = parameter_count(kernel);
  if (parameters.size() != count) {
    fail_argument("this kernel has " + std::to_string(count) + " parameters, got " + std::to_string(parameters.size()));
  }
  Kernel result = kernel;
  std::size_t next = 0;
  for_each_parameter(result, [&](double& parameter) { parameter = parameters[next++]; });
  return result;
}

void parameter_gradient(const Kernel& kernel, Point x, Point z, MutPoint gradient) {
  std::visit(Overload{[&](const Sum& k) { children_gradients(k.terms, x, z, gradient); },
                      [&](const Product& k) { product_parameter_gradient(k, x, z, gradient); },
                      [&](const Scaled& k) {
                        gradient[0] = value(k.kernel.front(), x, z);
                        parameter_gradient(k.kernel.front(), x, z, gradient.subspan(1));
                        for (double& entry : gradient.subspan(1)) entry *= k.factor;
                      },
                      [&](const auto& leaf) { leaf_parameter_gradient(leaf, x, z, gradient); }},
             kernel.form);
}

}  // namespace mercer
