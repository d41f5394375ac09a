#include "model/target_coding.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/fail.hpp"
#include "model/simplex.hpp"

namespace mercer {
namespace {

double logistic(double f) {
  return f >= 0 ? 1 / (1 + std::exp(-f)) : std::exp(f) / (1 + std::exp(f));
}

/// +1 for the class of a column, -1 for the others; two classes need one column.
Matrix<double> sign_codes(Index classes) {
  if (classes == 2) return Matrix<double>(2, 1, {-1.0, 1.0});
  Matrix<double> codes(classes, classes);
  std::ranges::fill(codes.values(), -1.0);
  for (Index k = 0; k < classes; ++k) codes(k, k) = 1;
  return codes;
}

void normalize(std::span<double> v) {
  const double sum = std::accumulate(v.begin(), v.end(), 0.0);
  for (double& x : v) x = sum > 0 ? x / sum : 1 / static_cast<double>(v.size());
}

}  // namespace

void TargetCoding::class_scores(std::span<const double> f, std::span<double> out) const {
  const bool binary = codes.cols() == 1;
  switch (scores) {
    case Scores::products:
      simplex_scores(codes, f, out);
      return;
    case Scores::margins:
      if (binary) {
        out[0] = -f[0];
        out[1] = f[0];
      } else {
        std::ranges::copy(f, out.begin());
      }
      return;
    case Scores::logistic:
      if (binary) {
        out[0] = logistic(-f[0]);
        out[1] = logistic(f[0]);
      } else {
        std::ranges::transform(f, out.begin(), logistic);
        normalize(out);
      }
      return;
    case Scores::softmax: {
      const double top = *std::ranges::max_element(f);
      std::ranges::transform(f, out.begin(), [&](double v) { return std::exp(v - top); });
      normalize(out);
      return;
    }
  }
}

TargetCoding target_coding(const std::string& loss, Index classes, Index levels) {
  TargetCoding coding;
  const std::string name = loss.substr(0, loss.find(':'));
  const bool margins = name == "hinge" || name == "squared_hinge" || name == "logistic";
  if (classes == 0) {
    if (margins || name == "multinomial") {
      fail_argument("the loss " + name +
                    " tells classes apart, but the target is a number; use --classify, or a loss of "
                    "numbers such as square or huber");
    }
    coding.copies = std::max<Index>(1, levels);
    return coding;
  }
  if (classes == 1) fail_argument("telling classes apart needs at least two classes, and there is one");
  if (levels > 0) fail_argument("quantiles are of numbers, but the target is a class label");
  if (margins) {
    coding.codes = sign_codes(classes);
    coding.scores = name == "logistic" ? TargetCoding::Scores::logistic : TargetCoding::Scores::margins;
  } else if (name == "multinomial") {
    coding.codes = Matrix<double>(classes, classes);
    for (Index k = 0; k < classes; ++k) coding.codes(k, k) = 1;
    coding.scores = TargetCoding::Scores::softmax;
  } else {
    coding.codes = simplex_codes(classes);
  }
  return coding;
}

}  // namespace mercer
