#pragma once
#include <mercer/kernel.hpp>

#include <span>
#include <string>
#include <vector>

namespace mercer {

/// A kernel's parameters as unconstrained numbers: the logarithm of each positive one (length scales, weights, scales,
/// factors, alpha, offset), and the means of spectral mixtures as they are. A parameter that is 0 where it could be positive
/// (the scale of a spectral line, an offset) has no logarithm: it is held at 0 and is no coordinate.
class KernelCoordinates {
 public:
  /// For kernels of this (resolved) kernel's form, holding the parameters that are 0 in it.
  explicit KernelCoordinates(const Kernel& kernel);

  Index size() const { return static_cast<Index>(places_.size()); }
  /// The name of each coordinate, as "log gaussian.length_scale" or "spectral_mixture.means[0][0]".
  const std::vector<std::string>& names() const { return names_; }
  /// Coordinates of the kernel given to the constructor, or of another of its form.
  std::vector<double> coordinates() const { return coordinates(kernel_); }
  std::vector<double> coordinates(const Kernel& kernel) const;
  /// Whether the kernel there has finite parameters, and positive ones where they must be: no overflow, no underflow.
  bool is_defined(std::span<const double> at) const;
  /// The kernel at these coordinates.
  Kernel kernel(std::span<const double> at) const;
  /// ∂/∂coordinates from ∂/∂parameters at `kernel`.
  void chain(const Kernel& kernel, std::span<const double> parameter_gradient, std::span<double> gradient) const;

 private:
  struct Place {
    std::size_t parameter;  ///< position in parameters()
    bool logarithm;
  };
  Kernel kernel_;
  std::vector<Place> places_;
  std::vector<std::string> names_;
};

}  // namespace mercer
