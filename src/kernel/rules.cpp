#include "kernel/rules.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/text.hpp"
#include "kernel/visit.hpp"

namespace mercer {
namespace {

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

std::string broken_length_scale(const LengthScale& scale, const std::string& owner) {
  if (scale.median) return "";
  if (scale.values.empty()) return owner + " has no length scale; write a number, a list or median";
  const auto bad = std::find_if_not(scale.values.begin(), scale.values.end(), is_positive);
  return bad == scale.values.end() ? "" : owner + " needs length scales > 0, got " + shortest(*bad);
}

std::string broken_positive(double value, const std::string& owner, const char* what) {
  return is_positive(value) ? "" : owner + " needs " + what + " > 0, got " + shortest(value);
}

using Rows = std::vector<std::vector<double>>;

/// Q rows, as long as each other, every entry accepted by `good`.
template <class Good>
std::string broken_rows(const Rows& rows, std::size_t components, std::size_t width, const char* what, const char* rule,
                        Good good) {
  if (rows.size() != components) {
    return "spectral_mixture has " + std::to_string(components) + " weights but " + std::to_string(rows.size()) + " " + what;
  }
  for (const auto& row : rows) {
    if (row.size() != width) {
      return "spectral_mixture needs means and scales of one length, got rows of " + std::to_string(width) + " and " +
             std::to_string(row.size()) + " numbers";
    }
    const auto bad = std::find_if_not(row.begin(), row.end(), good);
    if (bad != row.end()) return std::string("spectral_mixture needs ") + what + " " + rule + ", got " + shortest(*bad);
  }
  return "";
}

std::string broken_mixture(const SpectralMixture& mixture) {
  const std::size_t components = mixture.weights.size();
  if (components == 0) return "spectral_mixture needs at least one weight";
  if (components > max_mixture_components) {
    return "spectral_mixture takes at most " + std::to_string(max_mixture_components) + " components, got " +
           std::to_string(components);
  }
  const auto bad = std::find_if_not(mixture.weights.begin(), mixture.weights.end(), is_positive);
  if (bad != mixture.weights.end()) return "spectral_mixture needs weights > 0, got " + shortest(*bad);
  const std::size_t width = mixture.means.empty() ? 0 : mixture.means.front().size();
  if (!mixture.means.empty() && width == 0) return "spectral_mixture needs means with at least one number each";
  std::string broken = broken_rows(mixture.means, components, width, "means", "that are finite",
                                   [](double value) { return std::isfinite(value); });
  if (!broken.empty()) return broken;
  return broken_rows(mixture.scales, components, width, "scales", ">= 0",
                     [](double value) { return std::isfinite(value) && value >= 0; });
}

std::string broken_polynomial(const Polynomial& kernel) {
  if (kernel.degree < 1 || kernel.degree > max_polynomial_degree) {
    return "polynomial needs a degree from 1 to " + std::to_string(max_polynomial_degree) + ", got " +
           std::to_string(kernel.degree);
  }
  const bool good = std::isfinite(kernel.offset) && kernel.offset >= 0;
  return good ? "" : "polynomial needs offset >= 0, got " + shortest(kernel.offset);
}

std::string broken_given(const GivenOutputs& outputs) {
  const std::size_t size = outputs.matrix.size();
  if (size == 0) return "the output matrix is empty";
  for (const auto& row : outputs.matrix) {
    if (row.size() != size) {
      return "the output matrix must be square, got " + std::to_string(size) + " rows and a row of " +
             std::to_string(row.size()) + " numbers";
    }
    const auto bad = std::find_if_not(row.begin(), row.end(), [](double value) { return std::isfinite(value); });
    if (bad != row.end()) return "the output matrix must be finite, got " + shortest(*bad);
  }
  return "";
}

std::string broken_graph(const GraphOutputs& outputs) {
  if (outputs.file.empty()) return "graph needs the name of an edge list";
  if (outputs.file.find('\0') != std::string::npos) return "graph needs a file name without a zero byte";
  const bool good = outputs.mix >= 0 && outputs.mix <= 1;
  return good ? "" : "graph needs mix from 0 to 1, got " + shortest(outputs.mix);
}

std::string broken_quantile(const QuantileOutputs& outputs) {
  if (outputs.levels.empty()) return "quantile needs at least one level";
  const auto bad =
      std::find_if_not(outputs.levels.begin(), outputs.levels.end(), [](double level) { return level > 0 && level < 1; });
  if (bad != outputs.levels.end()) return "quantile needs levels between 0 and 1, got " + shortest(*bad);
  const bool good = std::isfinite(outputs.gamma) && outputs.gamma >= 0;
  return good ? "" : "quantile needs gamma >= 0, got " + shortest(outputs.gamma);
}

}  // namespace

const char* form_name(const Kernel& kernel) {
  return std::visit(
      Overload{[](const Gaussian&) { return "gaussian"; }, [](const Matern&) { return "matern"; },
               [](const Laplacian&) { return "laplacian"; }, [](const Cauchy&) { return "cauchy"; },
               [](const RationalQuadratic&) { return "rational_quadratic"; },
               [](const SpectralMixture&) { return "spectral_mixture"; }, [](const Linear&) { return "linear"; },
               [](const Polynomial&) { return "polynomial"; }, [](const Sum&) { return "sum"; },
               [](const Product&) { return "product"; }, [](const Scaled&) { return "scaled"; }},
      kernel.form);
}

std::string broken_factor_rule(double factor) {
  return is_positive(factor) ? "" : "a kernel can only be multiplied by a positive finite number, got " + shortest(factor);
}

std::string broken_share_rule(double share) {
  return share >= 0 && share <= 1 ? "" : "helmholtz needs share from 0 to 1, got " + shortest(share);
}

std::string broken_rule(const Kernel& kernel) {
  const std::string owner = form_name(kernel);
  return std::visit(
      Overload{[&](const Gaussian& k) { return broken_length_scale(k.length_scale, owner); },
               [&](const Laplacian& k) { return broken_length_scale(k.length_scale, owner); },
               [&](const Cauchy& k) { return broken_length_scale(k.length_scale, owner); },
               [&](const Matern& k) {
                 const std::string broken = broken_length_scale(k.length_scale, owner);
                 return broken.empty() ? broken_positive(k.nu, owner, "nu") : broken;
               },
               [&](const RationalQuadratic& k) {
                 const std::string broken = broken_length_scale(k.length_scale, owner);
                 return broken.empty() ? broken_positive(k.alpha, owner, "alpha") : broken;
               },
               [](const SpectralMixture& k) { return broken_mixture(k); }, [](const Linear&) { return std::string(); },
               [](const Polynomial& k) { return broken_polynomial(k); },
               [](const Sum& k) { return std::string(k.terms.empty() ? "a sum of kernels needs at least one term" : ""); },
               [](const Product& k) {
                 return std::string(k.factors.empty() ? "a product of kernels needs at least one factor" : "");
               },
               [](const Scaled& k) {
                 return k.kernel.size() == 1 ? broken_factor_rule(k.factor)
                                             : std::string("a scaled kernel needs exactly one kernel");
               }},
      kernel.form);
}

std::string broken_rule(const OutputMatrix& outputs) {
  return std::visit(
      Overload{[](const IdentityOutputs&) { return std::string(); }, [](const CovarianceOutputs&) { return std::string(); },
               [](const GivenOutputs& o) { return broken_given(o); }, [](const GraphOutputs& o) { return broken_graph(o); },
               [](const QuantileOutputs& o) { return broken_quantile(o); }},
      outputs);
}

}  // namespace mercer
