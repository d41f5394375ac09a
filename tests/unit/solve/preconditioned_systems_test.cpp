// Preconditioners of several gains, by factors or by an eigenbasis, against dense inverses.
#include "solve/preconditioned_systems.hpp"

#include <gtest/gtest.h>

#include "solve/shifted_factor.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

constexpr Index size = 30;
constexpr double ridge = 0.3;

struct Problem {
  Matrix<double> gram{size, size};
  PreconditionedSystems systems;

  Problem() {
    const Matrix<double> f = normals(50, size, "features");
    accumulate_gram<double>(f, gram);
    mirror_lower(gram);
    systems.rhs = normals(size, 3, "right-hand sides");
    systems.gain = {2, 0.5, 2};
  }
  template <class Real>
  FactoredGain factored(std::vector<Index> columns, double gain) const {
    FactoredGain f{std::move(columns)};
    Matrix<Real> l = factor_shifted<Real>(gram, gain, ridge, Shift::never).factor;
    if constexpr (std::is_same_v<Real, float>) {
      f.single_factor = std::move(l);
    } else {
      f.factor = std::move(l);
    }
    return f;
  }
};

/// The three systems and the probe, which has the largest gain; then the same once more, as samples of errors come.
void expect_solved(const PreconditionedSystems& systems, const Matrix<double>& gram, double tolerance) {
  ASSERT_EQ(systems.rhs.cols(), 4);
  for (const Index sets : {1, 2, 3}) {
    const Matrix<double> r = normals(size, 4 * sets, "residuals");
    Matrix<double> z(size, 4 * sets);
    systems.precondition(r, z, ridge);
    for (Index c = 0; c < r.cols(); ++c) {
      const double gain = c % 4 == 1 ? 0.5 : 2;
      const Dense m = gain * dense(gram) + ridge * Dense::Identity(size, size);
      const Vector expected = m.llt().solve(dense(r).col(c));
      EXPECT_LT((dense(z).col(c) - expected).norm() / expected.norm(), tolerance) << "column " << c;
    }
  }
}

TEST(PreconditionedSystems, AFactorForEveryGain) {
  Problem in_double;
  in_double.systems.factors.push_back(in_double.factored<double>({1}, 0.5));
  in_double.systems.factors.push_back(in_double.factored<double>({0, 2}, 2));
  in_double.systems.add_probe();
  expect_solved(in_double.systems, in_double.gram, 1e-10);
  Problem in_float;
  in_float.systems.factors.push_back(in_float.factored<float>({1}, 0.5));
  in_float.systems.factors.push_back(in_float.factored<float>({0, 2}, 2));
  in_float.systems.add_probe();
  expect_solved(in_float.systems, in_float.gram, 1e-3);
}

TEST(PreconditionedSystems, AnEigenbasisForAll) {
  Problem p;
  p.systems.eigen = gram_eigen(p.gram);
  p.systems.add_probe();
  expect_solved(p.systems, p.gram, 1e-10);
}

}  // namespace
}  // namespace mercer
