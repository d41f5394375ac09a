#include "model/process_text.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

constexpr const char* allowed = "it is spectral_mixture[:Q][,student|laplace], exact or vfe[:M]";
constexpr double most_components = 1000;
constexpr double most_inducing = 20000;

/// "name:10" → 10; `fallback` without a colon.
Index count_after(const std::string& text, Index fallback, double most, const std::string& what) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return fallback;
  double value = 0;
  if (!parse_number(text.substr(colon + 1), value) || value != std::floor(value) || value < 1 || value > most) {
    fail_argument(what + " " + mercer::quoted(text) + ": after the colon stands a whole number from 1 to " + shortest(most));
  }
  return static_cast<Index>(value);
}

Kernel envelope_named(const std::string& law) {
  if (law == "gaussian") return {Gaussian{{{1.0}, false}}};
  if (law == "student") return {Matern{{{1.0}, false}, 1.5}};
  if (law == "laplace") return {Cauchy{{{1.0}, false}}};
  fail_argument("the law " + mercer::quoted(law) + " of spectral components is none of gaussian, student, laplace" +
                did_you_mean(law, {"gaussian", "student", "laplace"}));
}

bool names_mixture(const std::string& text) {
  return text == "spectral_mixture" || text.starts_with("spectral_mixture:");
}

/// "spectral_mixture[:Q][,law]".
void read_mixture(const std::string& text, const std::string& what, ProcessPlan& plan) {
  const std::vector<std::string> parts = split(text, ',');
  plan.components = count_after(parts.front(), plan.components, most_components, what);
  if (parts.size() > 2) fail_argument(what + " " + mercer::quoted(text) + " has too many parts; " + allowed);
  if (parts.size() == 2) plan.envelope = envelope_named(parts[1]);
}

MeanForm mean_named(const std::string& text) {
  if (text == "none") return MeanForm::none;
  if (text == "constant" || text == "auto") return MeanForm::constant;
  if (text == "linear") return MeanForm::linear;
  fail_argument("the mean " + mercer::quoted(text) + " is none of auto, none, constant, linear" +
                did_you_mean(text, {"auto", "none", "constant", "linear"}));
}

/// What a process takes no part in.
void refuse_others(const FitOptions& options) {
  if (!options.classes.empty()) fail_argument("--gp learns numbers, not classes; leave --gp out to classify");
  if (options.loss != "square" || !options.quantiles.empty())
    fail_argument("--gp has a Gaussian likelihood: --loss and --quantiles do not go with it");
  if (options.penalty) fail_argument("--gp learns the noise, which takes the place of --penalty; leave one of them out");
  if (options.solver != "auto") fail_argument("--solver is for given kernels; --gp takes --optimizer adam or lbfgs");
  const GpOptions& gp = options.gp;
  if (gp.outputs != "independent" && gp.outputs != "shared")
    fail_argument("--outputs " + mercer::quoted(gp.outputs) + " is neither independent nor shared" +
                  did_you_mean(gp.outputs, {"independent", "shared"}));
  if (gp.points < 1 || gp.points > 100000) fail_argument("a spectrum takes from 1 to 100000 points");
  if (gp.steps < 0 || gp.draws < 1 || gp.posterior_draws < 1 || gp.restarts < 1)
    fail_argument("steps, draws and restarts of a Gaussian process are whole numbers above 0");
  if (!(gp.rate > 0) || !std::isfinite(gp.rate)) fail_argument("the rate of adam is a number above 0");
  if (!(gp.validation >= 0 && gp.validation <= 0.5))
    fail_argument("--validation keeps a share from 0 to 0.5 of the rows out of training, got " + shortest(gp.validation));
}

bool has_amplitude(const Kernel& kernel) {
  return std::holds_alternative<Scaled>(kernel.form) || std::holds_alternative<SpectralMixture>(kernel.form);
}

}  // namespace

ProcessPlan process_plan(const FitOptions& options) {
  refuse_others(options);
  const std::string& text = options.gp.kind;
  const std::string name = text.substr(0, text.find_first_of(":,"));
  ProcessPlan plan;
  plan.mean = mean_named(options.gp.mean);
  if (name == "spectral_mixture") {
    read_mixture(text, "--gp", plan);
    plan.open_mean = options.gp.mean == "auto";
    return plan;
  }
  if (name != "exact" && name != "vfe") {
    fail_argument("--gp " + mercer::quoted(text) + " is unknown" + did_you_mean(name, {"spectral_mixture", "exact", "vfe"}) +
                  "; " + allowed);
  }
  plan.kind = name == "exact" ? ProcessKind::exact : ProcessKind::variational;
  if (name == "exact" && text != name) fail_argument("--gp exact takes nothing after it; give its kernel with --kernel");
  plan.inducing = count_after(text, plan.inducing, most_inducing, "--gp");
  plan.mixture_kernel = names_mixture(options.kernel);
  if (plan.mixture_kernel) read_mixture(options.kernel, "--kernel", plan);
  return plan;
}

FitOptions process_options(const FitOptions& options) {
  if (options.gp.kind.empty()) return options;
  const ProcessPlan plan = process_plan(options);
  FitOptions result = options;
  if (plan.mixture_kernel) result.kernel = "gaussian(1)";
  result.map = plan.kind == ProcessKind::exact         ? "exact"
               : plan.kind == ProcessKind::variational ? "nystrom:" + std::to_string(plan.inducing)
                                                       : "fourier:" + std::to_string(options.gp.points);
  result.intercept = plan.mean != MeanForm::none;
  return result;
}

Kernel with_amplitudes(const Kernel& kernel) {
  if (has_amplitude(kernel)) return kernel;
  if (const auto* sum = std::get_if<Sum>(&kernel.form)) {
    Sum scaled;
    std::ranges::transform(sum->terms, std::back_inserter(scaled.terms), with_amplitudes);
    return {scaled};
  }
  if (const auto* product = std::get_if<Product>(&kernel.form)) {
    if (std::ranges::any_of(product->factors, has_amplitude)) return kernel;
  }
  return {Scaled{1.0, {kernel}}};
}

}  // namespace mercer
