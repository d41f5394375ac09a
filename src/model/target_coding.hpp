#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// How what a file calls a target becomes the p numbers that a function is fitted to, and how p predictions become answers.
/// Classes are coded: on a simplex for losses of distances, as ±1 (one column for two classes, one against the rest for
/// more) for losses of margins, one-hot for multinomial. Quantile levels share one target.
struct TargetCoding {
  Matrix<double> codes;  ///< classes × p; empty for regression
  Index copies = 1;      ///< levels that share a target
  enum class Scores { products, margins, logistic, softmax } scores = Scores::products;

  bool classifies() const { return !codes.empty(); }
  bool gives_probabilities() const { return scores == Scores::logistic || scores == Scores::softmax; }
  /// One number per class from f (p): probabilities for logistic and multinomial; else the larger, the likelier.
  void class_scores(std::span<const double> f, std::span<double> scores_out) const;
};

/// `loss` is a text that make_loss reads.
TargetCoding target_coding(const std::string& loss, Index classes, Index levels);

}  // namespace mercer
