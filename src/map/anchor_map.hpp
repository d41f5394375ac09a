#pragma once
#include <mercer/kernel.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "map/feature_map.hpp"
#include "map/sketch.hpp"

namespace mercer {

/// What a sketched kernel keeps: φ(x) = (S_SG k(anchors, x))ᵀ V, or k(x, anchors) V when there is no S_SG.
struct AnchorParts {
  Matrix<double> anchors;     ///< s' × d, in scaled units
  SparseSketch mixing;        ///< S_SG (s × s'); no columns: left out, its work is done by the projection
  Matrix<double> projection;  ///< V: U_r D_r^{-1/2} (s × r), or Sᵀ U_r D_r^{-1/2} (s' × r) without mixing
  SketchLaw law = SketchLaw::p_sr;

  bool mixed() const { return mixing.columns() > 0; }
};

/// Features of a sketched Gram matrix (paper 2). With S K Sᵀ = U D Uᵀ and its eigenvalues above s·eps·max,
///     φ(x) = D_r^{-1/2} U_rᵀ S k_X(x),  so that  φ(x)ᵀφ(z) = k_xᵀ Sᵀ (S K Sᵀ)⁺ S k_z,
/// times one constant output matrix. Knows the rows that S touches and no others.
class AnchorMap final : public FeatureMap {
 public:
  /// `kernel` must be a scalar kernel times one output matrix; others are refused (see one_scalar_kernel).
  AnchorMap(const OperatorKernel& resolved, Index inputs, Index outputs, AnchorParts parts);

  const AnchorParts& parts() const { return parts_; }
  std::string sampling_name() const override { return to_string(parts_.law); }

  /// rows·s' kernel values in double, 2·rows·(non-zeros of S + s·r) flops, or 2·rows·s'·r without mixing. In float only the
  /// answer is rounded.
  void features(MatrixView<const float> x, MatrixView<float> phi) const override;
  void features(MatrixView<const double> x, MatrixView<double> phi) const override;

  /// XXH3-64 of the anchors, the mixing and the projection.
  std::uint64_t fingerprint() const override;

 private:
  template <class Real>
  void write_features(ConstMatrix x, MatrixView<Real> phi) const;

  Kernel kernel_;
  AnchorParts parts_;
};

/// k of a kernel k(x, z)·A, where A may be written in several terms of a sum; throws Error that points to --map fourier for
/// every other operator-valued kernel.
Kernel one_scalar_kernel(const OperatorKernel& kernel);

/// Whether one_scalar_kernel would give one.
bool has_one_scalar_kernel(const OperatorKernel& kernel);

/// S K Sᵀ over the anchors (s' × d): s'²/2 kernel values, no s' × s' matrix, at most 16 MB of kernel values a thread.
Matrix<double> sketched_gram(const Kernel& kernel, ConstMatrix anchors, const Sketch& sketch);

/// The parts for a drawn sketch. O(s³) beyond sketched_gram.
AnchorParts make_parts(const Kernel& kernel, Matrix<double> anchors, const Sketch& sketch, SketchLaw law);

}  // namespace mercer
