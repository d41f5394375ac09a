#pragma once
#include <mercer/kernel.hpp>

#include <span>
#include <vector>

#include "base/matrix.hpp"
#include "base/random.hpp"
#include "map/fourier.hpp"

namespace mercer {

/// A function drawn from N(0, k) by random Fourier features, some of its own for each additive part of the kernel (a term of
/// a sum, a component of a spectral mixture), so that light parts are as Gaussian as heavy ones. Over draws of the stream
/// its covariance is k exactly; linear and polynomial parts are exact.
class PriorFunction {
 public:
  PriorFunction(const Kernel& kernel, Index inputs, const Stream& stream);

  /// f at rows x.
  void add_to(ConstMatrix x, std::span<double> values) const;

 private:
  struct Part {
    FourierMap map;
    Matrix<double> weights;  ///< columns × 1
  };
  std::vector<Part> parts_;
};

/// The kernel as a sum of kernels: the terms of sums and the components of spectral mixtures, with the factors before them.
std::vector<Kernel> additive_parts(const Kernel& kernel);

}  // namespace mercer
