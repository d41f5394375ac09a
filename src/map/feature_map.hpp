#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/matrix.hpp"
#include "map/coupling.hpp"

namespace mercer {

/// A feature map Φ(x) = Σ_c φ_c(x) B_cᵀ: scalar columns φ computed block by block, and a Coupling that says how they act on
/// the outputs. Solvers see this and nothing of kernels.
class FeatureMap {
 public:
  virtual ~FeatureMap() = default;

  Index inputs() const { return inputs_; }
  Index outputs() const { return coupling_.outputs(); }
  /// Number of scalar feature columns.
  Index columns() const { return coupling_.columns(); }
  const Coupling& coupling() const { return coupling_; }

  /// phi (rows × columns) = φ of each row of x. Rows are spread over the pool.
  virtual void features(MatrixView<const float> x, MatrixView<float> phi) const = 0;
  virtual void features(MatrixView<const double> x, MatrixView<double> phi) const = 0;

  /// The largest |φ_c(x)| for any x, one for each column; empty where there is no bound.
  virtual std::vector<double> bounds() const { return {}; }

  /// How its random parts were drawn, one word for people; "" when there is nothing to say.
  virtual std::string sampling_name() const = 0;

  /// A hash of everything random or learned in it: a model that makes it anew checks that it is the same.
  virtual std::uint64_t fingerprint() const = 0;

 protected:
  FeatureMap(Index inputs, Index outputs) : inputs_(inputs), coupling_(outputs) {}
  FeatureMap(const FeatureMap&) = default;
  FeatureMap(FeatureMap&&) = default;
  FeatureMap& operator=(const FeatureMap&) = default;
  FeatureMap& operator=(FeatureMap&&) = default;

  Index inputs_;
  Coupling coupling_;
};

}  // namespace mercer
