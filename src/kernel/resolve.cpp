#include "kernel/resolve.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/output_graph.hpp"
#include "kernel/rules.hpp"
#include "kernel/visit.hpp"

namespace mercer {
namespace {

void require(const std::string& broken) {
  if (!broken.empty()) fail_argument(broken);
}

std::string count_of(Index count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void resolve_scale(LengthScale& scale, const std::string& owner, const DataFacts& facts) {
  if (scale.median) {
    const bool usable = std::isfinite(facts.median_distance) && facts.median_distance > 0;
    scale = {{usable ? facts.median_distance : 1}, false};
  }
  const auto count = static_cast<Index>(scale.values.size());
  if (count != 1 && count != facts.inputs) {
    fail_argument(owner + " has " + count_of(count, "length scale") + ", and there " + (facts.inputs == 1 ? "is " : "are ") +
                  count_of(facts.inputs, "input") + "; give one length scale, or one per input");
  }
}

void resolve_kernel(Kernel& kernel, const DataFacts& facts) {
  require(broken_rule(kernel));
  const auto children = [&](std::vector<Kernel>& kernels) {
    for (Kernel& child : kernels) resolve_kernel(child, facts);
  };
  std::visit(Overload{[&](Sum& k) { children(k.terms); }, [&](Product& k) { children(k.factors); },
                      [&](Scaled& k) { children(k.kernel); }, [](Linear&) {}, [](Polynomial&) {},
                      [&](SpectralMixture& k) {
                        const auto count = static_cast<Index>(k.means.front().size());
                        if (count != facts.inputs) {
                          fail_argument("spectral_mixture has means and scales of " + count_of(count, "number") +
                                        ", and the data have " + count_of(facts.inputs, "input"));
                        }
                      },
                      [&](auto& k) { resolve_scale(k.length_scale, form_name(kernel), facts); }},
             kernel.form);
}

/// The first leaf that has no second derivative at 0, or null.
const Kernel* rough_leaf(const Kernel& kernel) {
  const auto first = [](const std::vector<Kernel>& kernels) {
    const Kernel* found = nullptr;
    for (auto child = kernels.begin(); child != kernels.end() && found == nullptr; ++child) found = rough_leaf(*child);
    return found;
  };
  return std::visit(
      Overload{[&](const Sum& k) { return first(k.terms); }, [&](const Product& k) { return first(k.factors); },
               [&](const Scaled& k) { return first(k.kernel); },
               [&](const auto&) { return has_second_moment(kernel) ? nullptr : &kernel; }},
      kernel.form);
}

[[noreturn]] void fail_rough(const Kernel& leaf, const std::string& owner) {
  const std::string name = form_name(leaf);
  if (!is_shift_invariant(leaf)) {
    fail_argument(owner + " needs a kernel of x - z alone, and " + name + " is not one; leave it out of " + owner +
                  " or add it as a term of its own");
  }
  const auto* matern = std::get_if<Matern>(&leaf.form);
  const LengthScale& scale = matern != nullptr ? matern->length_scale : std::get<Laplacian>(leaf.form).length_scale;
  const std::string what = matern != nullptr ? name + " with nu = " + shortest(matern->nu) : name;
  fail_argument(owner + " needs a kernel with a second derivative at 0, and " + what +
                " has none (its frequencies have infinite variance); try " + to_string(Kernel{Matern{scale, 1.5}}) + " or " +
                to_string(Kernel{Gaussian{scale}}));
}

void check_field(const Kernel& kernel, const std::string& owner, const DataFacts& facts, bool sourceless) {
  if (facts.outputs != facts.inputs) {
    fail_argument(owner + " learns a vector field, with as many outputs as inputs; there " +
                  (facts.outputs == 1 ? "is " : "are ") + count_of(facts.outputs, "output") + " and " +
                  count_of(facts.inputs, "input"));
  }
  if (sourceless && facts.inputs < 2) {
    fail_argument(owner + " needs at least 2 inputs: on a line only constants have no sources; try curl_free");
  }
  if (const Kernel* rough = rough_leaf(kernel)) fail_rough(*rough, owner);
}

GivenOutputs as_given(const Matrix<double>& a) {
  GivenOutputs given;
  for (Index i = 0; i < a.rows(); ++i) given.matrix.emplace_back(a.row(i).begin(), a.row(i).end());
  return given;
}

/// Symmetric to 1e-12 of the largest entry (then made exactly so) and positive semi-definite to 1e-10 of the largest
/// eigenvalue.
GivenOutputs checked_outputs(Matrix<double> a, const std::string& what) {
  double largest = 0;
  for (const double entry : a.values()) {
    if (!std::isfinite(entry)) fail_argument(what + " must be finite, got " + shortest(entry));
    largest = std::max(largest, std::abs(entry));
  }
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < i; ++j) {
      if (std::abs(a(i, j) - a(j, i)) > 1e-12 * largest) {
        fail_argument(what + " must be symmetric; entry (" + std::to_string(i + 1) + ", " + std::to_string(j + 1) + ") is " +
                      shortest(a(i, j)) + " and entry (" + std::to_string(j + 1) + ", " + std::to_string(i + 1) + ") is " +
                      shortest(a(j, i)));
      }
      a(i, j) = a(j, i) = a(i, j) / 2 + a(j, i) / 2;
    }
  }
  const auto values = eigh(a).values;
  if (values.front() < -1e-10 * std::abs(values.back())) {
    fail_argument(what + " must be positive semi-definite; its smallest eigenvalue is " + shortest(values.front()));
  }
  return as_given(a);
}

Matrix<double> given_matrix(const GivenOutputs& given, Index p) {
  require(broken_rule(OutputMatrix{given}));
  const auto size = static_cast<Index>(given.matrix.size());
  if (size != p) {
    fail_argument("the output matrix is " + std::to_string(size) + " × " + std::to_string(size) + ", and there " +
                  (p == 1 ? "is " : "are ") + count_of(p, "output"));
  }
  Matrix<double> a(p, p);
  for (Index i = 0; i < p; ++i) std::copy_n(given.matrix[static_cast<std::size_t>(i)].begin(), p, a.row(i).begin());
  return a;
}

OutputMatrix resolve_outputs(const OutputMatrix& outputs, const DataFacts& facts) {
  require(broken_rule(outputs));
  const Index p = facts.outputs;
  return std::visit(
      Overload{[](const IdentityOutputs& o) { return OutputMatrix{o}; },
               [&](const GivenOutputs& o) { return OutputMatrix{checked_outputs(given_matrix(o, p), "the output matrix")}; },
               [&](const CovarianceOutputs&) {
                 if (facts.output_covariance.rows() != p || facts.output_covariance.cols() != p) {
                   fail_argument("decomposable(…, covariance) needs the " + std::to_string(p) + " × " + std::to_string(p) +
                                 " covariance of the training targets, and it is not known here");
                 }
                 return OutputMatrix{checked_outputs(facts.output_covariance, "the covariance of the targets")};
               },
               [&](const GraphOutputs& o) {
                 const Matrix<double> laplacian = read_graph_laplacian(o.file, facts.output_names, p);
                 return OutputMatrix{checked_outputs(graph_output_matrix(laplacian, o.mix), "the matrix of the graph")};
               },
               [&](const QuantileOutputs& o) {
                 const auto count = static_cast<Index>(o.levels.size());
                 if (count != p) {
                   fail_argument("quantile has " + count_of(count, "level") + ", and there " + (p == 1 ? "is " : "are ") +
                                 count_of(p, "output"));
                 }
                 Matrix<double> a(p, p);
                 for (Index i = 0; i < p; ++i) {
                   for (Index j = 0; j < p; ++j) {
                     const double gap = o.levels[static_cast<std::size_t>(i)] - o.levels[static_cast<std::size_t>(j)];
                     a(i, j) = std::exp(-o.gamma * gap * gap);
                   }
                 }
                 return OutputMatrix{checked_outputs(std::move(a), "the matrix of the quantiles")};
               }},
      outputs);
}

bool uses_median(const Kernel& kernel) {
  return std::visit(
      Overload{[](const Sum& k) { return std::any_of(k.terms.begin(), k.terms.end(), uses_median); },
               [](const Product& k) { return std::any_of(k.factors.begin(), k.factors.end(), uses_median); },
               [](const Scaled& k) { return std::any_of(k.kernel.begin(), k.kernel.end(), uses_median); },
               [](const Linear&) { return false; }, [](const Polynomial&) { return false; },
               [](const SpectralMixture&) { return false; }, [](const auto& k) { return k.length_scale.median; }},
      kernel.form);
}

}  // namespace

OperatorKernel resolve(const OperatorKernel& kernel, const DataFacts& facts) {
  if (kernel.terms.empty()) fail_argument("an operator kernel needs at least one term");
  if (facts.inputs < 1 || facts.outputs < 1) fail_argument("a kernel needs at least one input and one output");
  OperatorKernel result = kernel;
  for (std::size_t t = 0; t < kernel.terms.size(); ++t) {
    OperatorTerm& term = result.terms[t];
    require(broken_factor_rule(term.weight));
    std::visit([&](auto& form) { resolve_kernel(form.kernel, facts); }, term.form);
    if (auto* form = std::get_if<Decomposable>(&term.form)) form->outputs = resolve_outputs(form->outputs, facts);
    // The fields are checked as written, so that the advice repeats the user's own length scale.
    std::visit(
        Overload{[](const Decomposable&) {}, [&](const CurlFree& k) { check_field(k.kernel, "curl_free", facts, false); },
                 [&](const DivergenceFree& k) { check_field(k.kernel, "divergence_free", facts, true); },
                 [&](const Helmholtz& k) {
                   require(broken_share_rule(k.share));
                   check_field(k.kernel, "helmholtz", facts, true);
                 }},
        kernel.terms[t].form);
  }
  return result;
}

bool needs_median(const OperatorKernel& kernel) {
  return std::any_of(kernel.terms.begin(), kernel.terms.end(), [](const OperatorTerm& term) {
    return std::visit([](const auto& form) { return uses_median(form.kernel); }, term.form);
  });
}

bool needs_covariance(const OperatorKernel& kernel) {
  return std::any_of(kernel.terms.begin(), kernel.terms.end(), [](const OperatorTerm& term) {
    const auto* form = std::get_if<Decomposable>(&term.form);
    return form != nullptr && std::holds_alternative<CovarianceOutputs>(form->outputs);
  });
}

Matrix<double> output_matrix(const OutputMatrix& outputs, Index p) {
  return std::visit(Overload{[&](const IdentityOutputs&) {
                               Matrix<double> a(p, p);
                               for (Index i = 0; i < p; ++i) a(i, i) = 1;
                               return a;
                             },
                             [&](const GivenOutputs& o) { return given_matrix(o, p); },
                             [](const auto&) -> Matrix<double> {
                               fail_internal("the output matrix was used before the kernel was resolved");
                             }},
                    outputs);
}

}  // namespace mercer
