#pragma once
#include <mercer/view.hpp>

#include <string>
#include <vector>

#include "loss/loss.hpp"
#include "model/recipe.hpp"

namespace mercer {

/// What models are compared by. In the units of the targets, but for `loss` (scaled units) and the shares.
enum class Metric { rmse, mae, loss, pinball, accuracy, arrmse };

/// "auto" or a name: auto is accuracy for classes, pinball for quantiles, mae for huber and epsilon, rmse or (several
/// outputs) arrmse for square, else loss. Throws Error where a metric means nothing for such a model.
Metric parse_metric(const std::string& text, const Recipe& recipe);
std::string metric_name(Metric metric);
/// Accuracy grows, errors fall.
bool better(Metric metric, double a, double b);

/// The metric of one function on one set of rows, from f and y as scaled and coded for the fit.
class MetricSum {
 public:
  MetricSum(Metric metric, const Recipe& recipe, const TargetCoding& coding, const Loss& loss);
  void add(double weight, Point f, Point y);
  /// NaN without rows.
  double value() const;

 private:
  Index class_of(Point f) const;

  Metric metric_;
  const Recipe& recipe_;
  const TargetCoding& coding_;
  const Loss& loss_;
  double weight_ = 0;
  double sum_ = 0;
  std::vector<double> error_, baseline_;  ///< arrmse: squared errors per output, of f and of the training mean
};

}  // namespace mercer
