// What a fitted function is made of, in numbers that other programs can evaluate:
//     f(x) = intercept + x·slopes + Σ over blocks,   x and f in scaled units.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <mercer/kernel.hpp>
#include <mercer/model.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <type_traits>

#include "arrays.hpp"
#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "bindings.hpp"
#include "kernel/resolve.hpp"
#include "kernel/visit.hpp"
#include "map/anchor_map.hpp"
#include "map/fourier.hpp"
#include "model/state.hpp"

namespace mercer::python {
namespace {

nb::dict tree(const Kernel& kernel);

nb::list trees(const std::vector<Kernel>& kernels) {
  nb::list list;
  for (const Kernel& kernel : kernels) list.append(tree(kernel));
  return list;
}

nb::dict leaf(const char* form, const LengthScale& scale) {
  nb::dict node;
  node["form"] = form;
  node["length_scale"] = scale.values;
  return node;
}

/// A kernel as nested dictionaries; "form" is the word of its text form, or sum, product, scaled.
nb::dict tree(const Kernel& kernel) {
  return std::visit(Overload{[](const Gaussian& k) { return leaf("gaussian", k.length_scale); },
                             [](const Laplacian& k) { return leaf("laplacian", k.length_scale); },
                             [](const Cauchy& k) { return leaf("cauchy", k.length_scale); },
                             [](const Matern& k) {
                               nb::dict node = leaf("matern", k.length_scale);
                               node["nu"] = k.nu;
                               return node;
                             },
                             [](const RationalQuadratic& k) {
                               nb::dict node = leaf("rational_quadratic", k.length_scale);
                               node["alpha"] = k.alpha;
                               return node;
                             },
                             [](const SpectralMixture& k) {
                               nb::dict node;
                               node["form"] = "spectral_mixture";
                               node["weights"] = k.weights;
                               node["means"] = k.means;
                               node["scales"] = k.scales;
                               return node;
                             },
                             [](const Linear&) {
                               nb::dict node;
                               node["form"] = "linear";
                               return node;
                             },
                             [](const Polynomial& k) {
                               nb::dict node;
                               node["form"] = "polynomial";
                               node["degree"] = k.degree;
                               node["offset"] = k.offset;
                               return node;
                             },
                             [](const Sum& k) {
                               nb::dict node;
                               node["form"] = "sum";
                               node["kernels"] = trees(k.terms);
                               return node;
                             },
                             [](const Product& k) {
                               nb::dict node;
                               node["form"] = "product";
                               node["kernels"] = trees(k.factors);
                               return node;
                             },
                             [](const Scaled& k) {
                               nb::dict node;
                               node["form"] = "scaled";
                               node["factor"] = k.factor;
                               node["kernels"] = trees(k.kernel);
                               return node;
                             }},
                    kernel.form);
}

Matrix<double> product(ConstMatrix a, ConstMatrix b, double factor = 1) {
  Matrix<double> c(a.rows, b.cols);
  gemm<double>(false, false, factor, a, b, 0.0, c);
  return c;
}

/// f_a += Σ_r e_r(x) [cos⟨ω, x⟩ | sin⟨ω, x⟩] weights_r, outputs from `first` on; without frequencies e_r(x) weights_r.
nb::dict fourier_block(Matrix<double> frequencies, nb::list monomials, Matrix<double> weights, Index first) {
  nb::dict block;
  block["kind"] = "fourier";
  block["frequencies"] = frequencies.empty() ? nb::object(nb::none()) : nb::cast(to_numpy(std::move(frequencies)));
  block["monomials"] = std::move(monomials);
  block["weights"] = to_numpy(std::move(weights));
  block["first"] = first;
  return block;
}

nb::tuple monomial_of(double coefficient, const std::vector<int>& exponents) {
  return nb::make_tuple(coefficient, exponents);
}

void add_fourier(const FourierMap& map, const Matrix<double>& all, nb::list& blocks) {
  for (const FourierMap::Group& group : map.groups()) {
    nb::list monomials;
    for (const Monomial& m : group.monomials) monomials.append(monomial_of(group.scale * m.coefficient, m.exponents));
    const auto columns = static_cast<Index>(group.monomials.size()) * std::max<Index>(1, 2 * group.frequencies);
    Matrix<double> weights(all.view().row_range(group.first_column, columns));
    Matrix<double> omega;
    if (group.frequencies > 0)
      omega = Matrix<double>(map.frequencies().view().row_range(group.first_frequency, group.frequencies));
    blocks.append(fourier_block(std::move(omega), std::move(monomials), std::move(weights), 0));
  }
}

/// f_a += Σ_i k(x, z_i) c_ia.
nb::dict anchor_block(const Kernel& kernel, ConstMatrix anchors, Matrix<double> coefficients, Index first) {
  nb::dict block;
  block["kind"] = "anchors";
  block["kernel"] = tree(kernel);
  block["anchors"] = to_numpy(Matrix<double>(anchors));
  block["coefficients"] = to_numpy(std::move(coefficients));
  block["first"] = first;
  return block;
}

/// φ(x)W = k(x, anchors) SᵀVW: what mixes and projects becomes part of the coefficients.
Matrix<double> at_anchors(const AnchorParts& parts, const Matrix<double>& weights) {
  Matrix<double> coefficients = product(parts.projection, weights);
  if (!parts.mixed()) return coefficients;
  Sketch sketch;
  sketch.form = parts.mixing;
  return apply_transposed(sketch, coefficients);
}

void add_sketch(const AnchorMap& map, const OperatorKernel& kernel, const Matrix<double>& weights, nb::list& blocks) {
  blocks.append(anchor_block(one_scalar_kernel(kernel), map.parts().anchors, at_anchors(map.parts(), weights), 0));
}

/// f += weight Σ_i [share·curl_free(k) + (1 - share)·divergence_free(k)](x, z_i) c_i.
nb::dict field_block(const Kernel& kernel, double share, ConstMatrix anchors, Matrix<double> coefficients) {
  nb::dict block = anchor_block(kernel, anchors, std::move(coefficients), 0);
  block["kind"] = "field";
  block["share"] = share;
  return block;
}

void add_exact(const ExactProblem& problem, const Matrix<double>& coefficients, nb::list& blocks) {
  for (const OperatorTerm& term : problem.kernel.terms) {
    const auto field = [&](const Kernel& kernel, double share) {
      Matrix<double> weighted = coefficients;
      for (double& c : weighted.values()) c *= term.weight;
      return field_block(kernel, share, problem.inputs, std::move(weighted));
    };
    blocks.append(std::visit(Overload{[&](const Decomposable& form) {
                                        const Matrix<double> a = output_matrix(form.outputs, coefficients.cols());
                                        return anchor_block(form.kernel, problem.inputs,
                                                            product(coefficients, a, term.weight), 0);
                                      },
                                      [&](const CurlFree& form) { return field(form.kernel, 1); },
                                      [&](const DivergenceFree& form) { return field(form.kernel, 0); },
                                      [&](const Helmholtz& form) { return field(form.kernel, form.share); }},
                             term.form));
  }
}

/// The mean over K draws of M points: K·M frequencies, weights over K.
nb::dict spectral_block(const SpectralPosterior& posterior, Index first) {
  const auto draws = static_cast<Index>(posterior.draws().size());
  const Index points = posterior.draws().front().process.frequencies.rows();
  Matrix<double> frequencies(draws * points, posterior.inputs());
  Matrix<double> weights(2 * draws * points, posterior.outputs());
  for (Index k = 0; k < draws; ++k) {
    const SpectralDraw& draw = posterior.draws()[static_cast<std::size_t>(k)];
    for (Index j = 0; j < points; ++j) {
      const Index to = k * points + j;
      std::ranges::transform(draw.process.frequencies.row(j), frequencies.row(to).begin(),
                             [](double s) { return 2 * std::numbers::pi * s; });
      const double share = draw.process.amplitudes[static_cast<std::size_t>(j)] / static_cast<double>(draws);
      for (Index a = 0; a < weights.cols(); ++a) {
        weights(to, a) = share * draw.weights(j, a);
        weights(draws * points + to, a) = share * draw.weights(points + j, a);
      }
    }
  }
  nb::list one;
  one.append(monomial_of(1, std::vector<int>(static_cast<std::size_t>(posterior.inputs()))));
  return fourier_block(std::move(frequencies), std::move(one), std::move(weights), first);
}

/// Adds `share` of a mean function [1 x]·mean to the intercepts and slopes of the outputs from `first` on.
void add_mean(const Matrix<double>& mean, double share, Index first, Matrix<double>& intercept, Matrix<double>& slopes) {
  for (Index k = 0; k < mean.rows(); ++k) {
    for (Index a = 0; a < mean.cols(); ++a)
      (k == 0 ? intercept(0, first + a) : slopes(k - 1, first + a)) += share * mean(k, a);
  }
}

nb::object coding_of(const TargetCoding& coding) {
  if (!coding.classifies()) return nb::none();
  nb::dict parts;
  Matrix<double> codes = coding.codes;
  parts["codes"] = to_numpy(std::move(codes));
  switch (coding.scores) {
    case TargetCoding::Scores::products:
      parts["scores"] = "products";
      break;
    case TargetCoding::Scores::margins:
      parts["scores"] = "margins";
      break;
    case TargetCoding::Scores::logistic:
      parts["scores"] = "logistic";
      break;
    case TargetCoding::Scores::softmax:
      parts["scores"] = "softmax";
      break;
  }
  return parts;
}

nb::object calibration_of(const Model::State& state) {
  if (!state.calibration) return nb::none();
  nb::dict parts;
  parts["level"] = state.calibration->level;
  parts["relative"] = state.calibration->relative;
  parts["offsets"] = state.calibration->offsets;
  return parts;
}

/// The rows of a map's coefficients (columns × r) in terms of its blocks' features.
Matrix<double> in_blocks(const FeatureMap& map, Matrix<double> coefficients) {
  const auto* sketch = dynamic_cast<const AnchorMap*>(&map);
  return sketch != nullptr ? at_anchors(sketch->parts(), coefficients) : std::move(coefficients);
}

/// Var f_a/σ²_a = intercept_variance + Σ_k shares(k, a) (F(x)·root - centre)_k², F the features of all blocks side by side.
/// Deviations come from the noise σ² and these. For models with a feature map.
nb::object spread_of(const Model& model) {
  const Model::State& state = model.state();
  if (!state.map) return nb::none();
  const Index columns = state.map->columns();
  Matrix<double> features(columns, columns);
  for (Index c = 0; c < columns; ++c) features(c, c) = 1;
  Posterior::Spread spread = state.posterior.spread(state.map->coupling(), features);
  Matrix<double> centre(1, spread.rows.cols());
  const std::vector<double>& middle = state.posterior.mean_feature;
  if (!middle.empty()) gemm<double>(false, false, 1.0, ConstMatrix(middle.data(), 1, columns), spread.rows, 0.0, centre);
  nb::dict parts;
  parts["root"] = to_numpy(in_blocks(*state.map, std::move(spread.rows)));
  parts["centre"] = to_numpy(std::move(centre));
  parts["shares"] = to_numpy(std::move(spread.shares));
  parts["intercept_variance"] = state.posterior.intercept_variance;
  parts["noise"] = state.noise;
  return parts;
}

nb::dict parts_of(const Model& model) {
  const Model::State& state = model.state();
  const Index p = state.recipe.outputs();
  Matrix<double> intercept(1, p);
  Matrix<double> slopes(state.recipe.inputs(), p);
  nb::list blocks;
  if (!state.spectral.empty()) {
    Index first = 0;
    for (const SpectralPart& part : state.spectral) {
      blocks.append(spectral_block(part.posterior, first));
      const auto draws = static_cast<double>(part.posterior.draws().size());
      for (const SpectralDraw& draw : part.posterior.draws())
        add_mean(draw.process.mean, 1 / draws, first, intercept, slopes);
      first += part.posterior.outputs();
    }
  } else if (!state.kernel_processes.empty()) {
    Index first = 0;
    for (const KernelPosterior& process : state.kernel_processes) {
      const KernelPosteriorParts& parts = process.parts();
      blocks.append(anchor_block(parts.kernel, parts.anchors, parts.coefficients, first));
      add_mean(parts.mean, 1, first, intercept, slopes);
      first += process.outputs();
    }
  } else if (state.problem) {
    std::ranges::copy(state.exact.intercept, intercept.row(0).begin());
    add_exact(*state.problem, state.exact.coefficients, blocks);
  } else {
    std::ranges::copy(state.intercept, intercept.row(0).begin());
    if (const auto* fourier = dynamic_cast<const FourierMap*>(state.map.get()))
      add_fourier(*fourier, state.weights, blocks);
    else if (const auto* sketch = dynamic_cast<const AnchorMap*>(state.map.get()))
      add_sketch(*sketch, state.recipe.kernel, state.weights, blocks);
    else
      fail_internal("a feature map of an unknown kind");
  }
  nb::dict parts;
  parts["intercept"] = to_numpy(std::move(intercept));
  parts["slopes"] = to_numpy(std::move(slopes));
  parts["blocks"] = std::move(blocks);
  parts["coding"] = coding_of(state.coding);
  parts["calibration"] = calibration_of(state);
  return parts;
}

}  // namespace

void bind_parts(nb::module_& module) {
  module.def("model_parts", &parts_of, nb::arg("model"),
             "The numbers of a fitted function: intercept, slopes, blocks, coding of classes, calibration of intervals.");
  module.def("model_spread", &spread_of, nb::arg("model"),
             "The numbers that standard deviations come from, for models with a feature map; None for others.");
}

}  // namespace mercer::python
