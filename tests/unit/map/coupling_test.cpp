#include "map/coupling.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/map/map_samples.hpp"

namespace mercer {
namespace {

using namespace samples;

/// A coupling with every kind of segment; p = 3.
Coupling mixed() {
  Coupling c(3);
  c.append_constant(4, normals(3, 2, "first"));
  const Matrix<double> many = normals(5 * 3, 2, "many");
  c.append_per_frequency(2, 5, 2, {many.values().begin(), many.values().end()});
  c.append_constant(2, normals(3, 3, "second"));
  const Matrix<double> one = normals(3 * 3, 1, "one");
  c.append_per_frequency(2, 3, 1, {one.values().begin(), one.values().end()});
  return c;
}

TEST(Coupling, CountsColumnsAndParameters) {
  const Coupling c = mixed();
  EXPECT_EQ(c.columns(), 4 + 10 + 2 + 6);
  EXPECT_EQ(c.parameters(), 8 + 20 + 6 + 6);
  EXPECT_FALSE(c.is_constant());
}

TEST(Coupling, NeighboursWithTheSameFactorStayOneSegment) {
  const Matrix<double> b = normals(2, 2, "b");
  Coupling c(2);
  c.append_constant(3, b);
  c.append_constant(5, b);
  EXPECT_TRUE(c.is_constant());
  EXPECT_EQ(c.columns(), 8);
  EXPECT_EQ(c.parameters(), 16);
  Matrix<double> other = b;
  other(0, 0) += 1;
  c.append_constant(1, other);
  EXPECT_FALSE(c.is_constant());
}

TEST(Coupling, RefusesFactorsOfTheWrongSize) {
  Coupling c(2);
  EXPECT_THROW(c.append_per_frequency(2, 3, 1, std::vector<double>(5)), Error);
}

// ⟨expand θ, V⟩ = ⟨θ, contract V⟩.
TEST(Coupling, ContractIsTheAdjointOfExpand) {
  const Coupling c = mixed();
  const Matrix<double> theta = normals(1, c.parameters(), "theta");
  const Matrix<double> v = normals(c.columns(), 3, "v");
  Matrix<double> w(c.columns(), 3);
  std::vector<double> back(static_cast<std::size_t>(c.parameters()));
  c.expand(theta.values(), w);
  c.contract(v, back);
  double left = 0;
  for (Index i = 0; i < w.size(); ++i) left += w.data()[i] * v.data()[i];
  double right = 0;
  for (Index k = 0; k < c.parameters(); ++k) right += theta(0, k) * back[static_cast<std::size_t>(k)];
  EXPECT_NEAR(left, right, 1e-12 * (1 + std::abs(left)));
}

// Φ(x)ᵀθ = φᵀ expand(θ), row by row.
TEST(Coupling, DenseRowsApplyWhatExpandSays) {
  const Coupling c = mixed();
  const Matrix<double> phi = normals(6, c.columns(), "phi");
  const Matrix<double> theta = normals(c.parameters(), 1, "theta");
  Matrix<double> rows(18, c.parameters());
  c.dense_rows(phi, rows);
  Matrix<double> w(c.columns(), 3);
  c.expand(theta.values(), w);
  const Dense direct = dense(rows) * dense(theta);
  const Dense folded = dense(phi) * dense(w);
  for (Index i = 0; i < 6; ++i) {
    for (Index a = 0; a < 3; ++a) EXPECT_NEAR(direct(i * 3 + a, 0), folded(i, a), 1e-12);
  }
}

// M = Σ_i Φ_i Φ_iᵀ from the scalar Gram alone (THEORY 3), with weighted rows too.
TEST(Coupling, NormalMatrixIsThatOfTheUnfoldedRows) {
  const Coupling c = mixed();
  const Matrix<double> phi = normals(9, c.columns(), "phi");
  Matrix<double> gram = matrix(dense(phi).transpose() * dense(phi));
  for (Index i = 0; i < gram.rows(); ++i) {  // only the lower triangle may be read
    for (Index j = i + 1; j < gram.cols(); ++j) gram(i, j) = 1e9;
  }
  Matrix<double> rows(27, c.parameters());
  c.dense_rows(phi, rows);
  const Dense expected = dense(rows).transpose() * dense(rows);
  const Matrix<double> m = c.normal_matrix(gram);
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j <= i; ++j)
      EXPECT_NEAR(m(i, j), expected(i, j), 1e-11 * (1 + std::abs(expected(i, j)))) << i << ' ' << j;
  }
}

TEST(SymmetricFactor, GivesBackTheMatrixAndItsRank) {
  const struct {
    Matrix<double> a;
    Index rank;
  } cases[] = {{Matrix<double>(3, 3, {2, 0.5, 0, 0.5, 1, 0.3, 0, 0.3, 0.7}), 3},
               {Matrix<double>(2, 2, {1, 2, 2, 4}), 1},
               {Matrix<double>(3, 3, {1, 0, 0, 0, 1, 0, 0, 0, 1}), 3},
               {Matrix<double>(2, 2, {1e-20, 0, 0, 4e-20}), 2},
               {Matrix<double>(2, 2), 0}};
  for (const auto& c : cases) {
    const Matrix<double> b = symmetric_factor(c.a);
    ASSERT_EQ(b.rows(), c.a.rows());
    EXPECT_EQ(b.cols(), c.rank);
    const Dense back = dense(b) * dense(b).transpose();
    EXPECT_LE((back - dense(c.a)).norm(), 1e-14 * dense(c.a).norm());
    const Dense inner = dense(b).transpose() * dense(b);
    const Dense diagonal = inner.diagonal().asDiagonal();
    EXPECT_LE((inner - diagonal).norm(), 1e-14 * inner.norm()) << "columns must be orthogonal";
  }
}

// BBᵀ = ρωωᵀ + (1-ρ)(‖ω‖²I - ωωᵀ), whatever the direction of ω.
TEST(FieldFactor, SquaresToTheSpectralOperator) {
  for (const Index d : {1, 2, 3, 5}) {
    std::vector<std::vector<double>> omegas;
    for (int sign : {-1, 1}) {
      for (Index axis = 0; axis < d; ++axis) {
        std::vector<double> e(static_cast<std::size_t>(d), 0.0);
        e[static_cast<std::size_t>(axis)] = sign;
        omegas.push_back(e);
      }
    }
    omegas.emplace_back(static_cast<std::size_t>(d), 0.0);
    for (std::uint64_t k = 0; k < 20; ++k) {
      const Matrix<double> w = normals(1, d, "omega", k);
      omegas.emplace_back(w.values().begin(), w.values().end());
    }
    std::vector<double> near(static_cast<std::size_t>(d), 1e-9);  // next to -e0, where a careless reflection cancels
    near[0] = -1;
    omegas.push_back(near);
    for (const double share : {0.0, 0.3, 1.0}) {
      for (const auto& omega : omegas) {
        std::vector<double> factor = {7.0};  // appended after what is there
        append_field_factor(omega, share, factor);
        const Index width = field_factor_width(d, share);
        EXPECT_EQ(width, (share > 0 ? 1 : 0) + (share < 1 ? d - 1 : 0));
        ASSERT_EQ(static_cast<Index>(factor.size()), 1 + d * width);
        const Dense b = dense(ConstMatrix(factor.data() + 1, d, width));
        const Vector w = ::Eigen::Map<const Vector>(omega.data(), d);
        const Dense outer = w * w.transpose();
        const Dense expected = share * outer + (1 - share) * (w.squaredNorm() * Dense::Identity(d, d) - outer);
        EXPECT_LE((b * b.transpose() - expected).norm(), 4e-15 * (w.squaredNorm() * static_cast<double>(d)))
            << d << ' ' << share;
      }
    }
  }
}

}  // namespace
}  // namespace mercer
