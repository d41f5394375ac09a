#pragma once
#include <mercer/kernel.hpp>

#include <functional>
#include <string>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// What a kernel text may refer to that only the data can say.
struct DataFacts {
  Index inputs = 0;                       ///< d
  Index outputs = 0;                      ///< p
  double median_distance = 1;             ///< median ‖x - z‖ over pairs of training rows, as scaled for fitting
  Matrix<double> output_covariance;       ///< p × p, as scaled for fitting; may be empty when no kernel asks for it
  std::vector<std::string> output_names;  ///< to read graph edge lists
};

/// Replaces `median`, `covariance`, `graph(...)` and `quantile(...)` by numbers, and checks everything that depends on d and
/// p: numbers of length scales, sizes and definiteness of matrices, p = d for vector fields, moments (curl_free of a kernel
/// without a second derivative at 0 is refused, saying which to take instead). The result refers to nothing outside itself.
OperatorKernel resolve(const OperatorKernel& kernel, const DataFacts& facts);

/// True when the text needs the median distance, or the covariance of the outputs.
bool needs_median(const OperatorKernel& kernel);
bool needs_covariance(const OperatorKernel& kernel);

/// The output matrix of a resolved decomposable term as p × p numbers.
Matrix<double> output_matrix(const OutputMatrix& outputs, Index p);

}  // namespace mercer
