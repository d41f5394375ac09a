#pragma once
#include <mercer/kernel.hpp>

#include <cstdint>
#include <vector>

#include "base/matrix.hpp"
#include "kernel/spectral.hpp"
#include "map/feature_map.hpp"

namespace mercer {

/// The recipe of a Fourier map: with a resolved kernel it determines every feature.
struct FourierRecipe {
  Index frequencies = 1000;  ///< D, shared among the terms of the kernel by their weights
  Sampling sampling = Sampling::automatic;
  std::uint64_t seed = 0;
};

/// Operator-valued random Fourier features (paper 1): scalar columns φ(x), for each part of the kernel
///     √(weight/D_part) · e_r(x) · [cos⟨ω_1,x⟩ … cos⟨ω_D,x⟩, sin⟨ω_1,x⟩ … sin⟨ω_D,x⟩],
/// or √weight · e_r(x) for a part without frequencies (linear, polynomial), and a Coupling to the outputs.
/// K~(x, z) = Φ(x)ᵀΦ(z) has expectation K(x, z).
class FourierMap final : public FeatureMap {
 public:
  /// The columns of one part of the kernel.
  struct Group {
    Index first_column = 0;
    Index first_frequency = 0;
    Index frequencies = 0;  ///< 0: explicit features only
    double scale = 1;       ///< √(weight/D_part), √weight without frequencies
    std::vector<Monomial> monomials;
    bool plain = true;  ///< the one monomial is 1

    Index columns() const { return static_cast<Index>(monomials.size()) * (frequencies > 0 ? 2 * frequencies : 1); }
  };

  FourierMap(const OperatorKernel& resolved, Index inputs, Index outputs, const FourierRecipe& recipe);

  const Matrix<double>& frequencies() const { return frequencies_; }
  const std::vector<Group>& groups() const { return groups_; }
  /// The samplings in force, one word for people: "orthogonal", "monte_carlo", "quasi", or "mixed".
  std::string sampling_name() const override;

  /// 2·rows·D·d flops and rows·D cos/sin pairs.
  void features(MatrixView<const float> x, MatrixView<float> phi) const override;
  void features(MatrixView<const double> x, MatrixView<double> phi) const override;

  /// The scale of each group; none when one is multiplied by polynomials.
  std::vector<double> bounds() const override;

  /// XXH3-64 of the frequencies.
  std::uint64_t fingerprint() const override;

 private:
  template <class Real>
  void features_in(MatrixView<const Real> x, MatrixView<Real> phi) const;
  template <class Real>
  void chunk(MatrixView<const Real> x, MatrixView<Real> phi) const;
  /// ω_j in column j.
  template <class Real>
  const Matrix<Real>& omega() const;

  std::vector<Group> groups_;
  std::vector<Sampling> samplings_;
  Matrix<double> frequencies_;
  Matrix<double> columns_;  ///< the frequencies, one in each column
  Matrix<float> columns_single_;
};

/// What each part of a sum gets of `total`: proportional to the weights by largest remainders, at least one each.
std::vector<Index> apportion(Index total, const std::vector<double>& weights);

const char* to_string(Sampling sampling);

}  // namespace mercer
