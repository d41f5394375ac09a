#pragma once
#include <mercer/kernel.hpp>

namespace mercer {

/// False for kernels made of linear(), polynomial() and spectral_mixture() alone.
bool has_length_scales(const OperatorKernel& kernel);

/// Every length scale times `factor`, `median` standing for `median_distance`; to four digits, so that the text stays one
/// that people can copy.
OperatorKernel with_length_scales(OperatorKernel kernel, double median_distance, double factor);

}  // namespace mercer
