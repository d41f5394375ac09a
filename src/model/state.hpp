#pragma once
#include <mercer/model.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "base/matrix.hpp"
#include "map/feature_map.hpp"
#include "model/conformal.hpp"
#include "model/recipe.hpp"
#include "solve/exact.hpp"
#include "solve/posterior.hpp"

namespace mercer {

/// What a model is made of. Either a feature map with weights, or the training rows of an exact model.
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

  std::vector<double> noise;  ///< p: σ² in scaled units

  std::optional<Calibration> calibration;
};

}  // namespace mercer
