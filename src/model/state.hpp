#pragma once
#include <mercer/model.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "base/matrix.hpp"
#include "gp/kernel_posterior.hpp"
#include "gp/spectral_posterior.hpp"
#include "map/feature_map.hpp"
#include "model/conformal.hpp"
#include "model/recipe.hpp"
#include "solve/exact.hpp"
#include "solve/posterior.hpp"

namespace mercer {

/// A learned spectrum and the process conditioned on the rows, for one output or for several that share it.
struct SpectralPart {
  SpectralParameters parameters;
  std::vector<Index> shares;  ///< points of each component, in every draw
  SpectralPosterior posterior;
};

/// What a model is made of: a feature map with weights, the training rows of an exact model, learned spectra, or exact and
/// variational processes.
struct Model::State {
  Recipe recipe;
  FitSummary summary;
  TargetCoding coding;

  std::shared_ptr<const FeatureMap> map;
  Matrix<double> weights;         ///< columns × p
  std::vector<double> intercept;  ///< p
  Posterior posterior;

  std::optional<ExactProblem> problem;
  ExactSolution exact;

  std::vector<SpectralPart> spectral;  ///< outputs in order, p together

  std::vector<KernelPosterior> kernel_processes;    ///< exact or variational, outputs in order, p together
  std::vector<std::vector<TrainingStep>> training;  ///< of each part of a process

  std::vector<double> noise;  ///< p: σ² in scaled units

  std::optional<Calibration> calibration;

  bool is_process() const { return !spectral.empty() || !kernel_processes.empty(); }
};

}  // namespace mercer
