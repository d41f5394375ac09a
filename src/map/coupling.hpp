#pragma once
#include <mercer/kernel.hpp>

#include <span>
#include <vector>

#include "base/matrix.hpp"

namespace mercer {

/// How scalar feature columns act on the p outputs. Column c carries a factor B_c (p × p'_c), so that
///     Φ(x)ᵀθ = Σ_c φ_c(x) B_c θ_c   and   K~(x, z) = Σ_c φ_c(x) φ_c(z) B_c B_cᵀ.
/// Everything about several outputs is here; solvers see scalar columns φ and this.
class Coupling {
 public:
  explicit Coupling(Index outputs) : outputs_(outputs) {}

  /// The next `columns` columns share the constant factor B (p × p').
  void append_constant(Index columns, Matrix<double> factor);
  /// The next `copies`·F columns; column c uses factor c mod F of `factors`, each p × width, stored one after another.
  void append_per_frequency(Index copies, Index frequencies, Index width, std::vector<double> factors);

  Index outputs() const { return outputs_; }
  Index columns() const { return columns_; }
  /// Length of θ: Σ_c p'_c.
  Index parameters() const { return parameters_; }
  /// True when every column has the same B: then Φ = φ ⊗ Bᵀ and the normal equations decouple.
  bool is_constant() const { return segments_.size() == 1 && segments_.front().constant; }
  /// The common B of is_constant().
  const Matrix<double>& constant_factor() const { return segments_.front().factor; }

  /// W (columns × p): row c is B_c θ_c.  O(parameters·p).
  void expand(std::span<const double> theta, MutMatrix w) const;
  /// θ_c = B_cᵀ v_c for v (columns × p): the adjoint of expand.
  void contract(ConstMatrix v, std::span<double> theta) const;
  /// The normal matrix of θ from the scalar Gram g = φᵀφ (lower triangle read, lower triangle returned):
  /// M[(c,a),(d,b)] = g_cd (B_cᵀB_d)_ab.  O(parameters²·p); never touches the rows.
  template <class Real = double>
  Matrix<Real> normal_matrix(ConstMatrix g) const;
  /// out(i·p + a, ·) = row a of Φ(x_i)ᵀ for rows φ (n × columns): (n·p) × parameters.
  void dense_rows(ConstMatrix phi, MutMatrix out) const;

 private:
  struct Segment {
    Index first_column = 0;
    Index columns = 0;
    Index first_parameter = 0;
    Index width = 0;  ///< p'
    bool constant = false;
    Index period = 1;          ///< number of distinct factors
    Matrix<double> factor;     ///< constant: B, p × p'
    std::vector<double> many;  ///< per frequency: period × p × p'

    const double* at(Index column) const {
      return constant ? factor.data() : many.data() + (column - first_column) % period * factor_size;
    }
    Index factor_size = 0;
  };
  struct Column {
    const double* factor;  ///< p × width
    Index width;
    Index parameter;  ///< of its first coefficient
  };
  Column column(Index c) const;

  Index outputs_;
  Index columns_ = 0;
  Index parameters_ = 0;
  std::vector<Segment> segments_;
};

/// B with BBᵀ = A from the eigenvectors of A, columns of eigenvalues below p·eps·max left out; BᵀB is diagonal.
Matrix<double> symmetric_factor(ConstMatrix a);

/// √ρ·ω and √(1-ρ)·‖ω‖·(orthonormal basis of ω⊥ from one Householder reflection), whichever have a positive factor:
/// BBᵀ = ρ ωωᵀ + (1-ρ)(‖ω‖²I - ωωᵀ). ρ = 1: curl-free, ρ = 0: divergence-free. Appends d × width numbers.
Index field_factor_width(Index d, double share);
void append_field_factor(Point omega, double share, std::vector<double>& factors);

}  // namespace mercer
