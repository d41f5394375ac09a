// The joint covariance of predictions: its diagonal is what predict says, it is symmetric and positive semi-definite. Its
// entries are compared with dense oracles where they are computed (solve/, gp/).
#include <gtest/gtest.h>
#include <mercer/error.hpp>
#include <mercer/model.hpp>

#include <cmath>
#include <limits>

#include "unit/model/model_kinds.hpp"

namespace mercer {
namespace {

using namespace samples;

Matrix<double> covariance_of(const Model& model, ConstMatrix x, Index output, bool latent) {
  Matrix<double> c(x.rows, x.rows);
  model.covariance(x, output, c, latent);
  return c;
}

/// Diagonal, symmetry, definiteness, for every output.
void expect_covariance(const Model& model, ConstMatrix x, const std::string& where) {
  Matrix<double> mean(x.rows, model.outputs());
  Matrix<double> deviation(x.rows, model.outputs());
  for (const bool latent : {false, true}) {
    model.predict(x, mean, deviation, latent);
    for (Index a = 0; a < model.outputs(); ++a) {
      const Dense c = dense(covariance_of(model, x, a, latent));
      const double size = c.norm();
      for (Index i = 0; i < x.rows; ++i)
        EXPECT_NEAR(c(i, i), deviation(i, a) * deviation(i, a), 1e-8 * size) << where << " latent " << latent;
      EXPECT_LE((c - c.transpose()).norm(), 1e-10 * size) << where;
      EXPECT_GE(::Eigen::SelfAdjointEigenSolver<Dense>(c).eigenvalues().minCoeff(), -1e-8 * size) << where;
    }
  }
}

TEST(Covariance, HasTheVariancesOfEveryKind) {
  for (const Kind& k : model_kinds()) {
    const Model model = fit_kind(k);
    const Matrix<double> fresh = normals(9, k.inputs, "fresh");
    if (model.has_uncertainty()) {
      expect_covariance(model, fresh, k.name);
    } else {
      EXPECT_THROW(covariance_of(model, fresh, 0, false), Error) << k.name;
    }
  }
}

TEST(Covariance, HasTheVariancesOfProcesses) {
  for (const char* kind : {"exact", "vfe:10", "spectral_mixture:2"}) {
    for (const char* outputs : {"independent", "shared"}) {
      const Data s = data(30, 2, 2);
      ArrayRows rows = s.rows();
      FitOptions options;
      options.kernel = "gaussian(1)";
      options.gp.kind = kind;
      options.gp.points = 20;
      options.gp.steps = 5;
      options.gp.outputs = outputs;
      expect_covariance(fit(rows, options), normals(9, 2, "fresh"), std::string(kind) + " " + outputs);
    }
  }
}

TEST(Covariance, IsInTheUnitsOfTheTarget) {
  Data s = data(40, 2, 1);
  FitOptions options;
  options.kernel = "gaussian(1)";
  options.map = "fourier:20";
  options.penalty = 1e-2;
  ArrayRows rows = s.rows();
  const Matrix<double> fresh = normals(4, 2, "fresh");
  const Matrix<double> plain = covariance_of(fit(rows, options), fresh, 0, false);
  for (double& y : s.y.values()) y = 3 * y + 7;
  ArrayRows other = s.rows();
  const Matrix<double> tripled = covariance_of(fit(other, options), fresh, 0, false);
  EXPECT_LT((dense(tripled) - 9 * dense(plain)).norm(), 1e-9 * dense(tripled).norm());
}

TEST(Covariance, NoNumberForWhatIsNone) {
  const Model model = fit_kind({"plain", 2, 1, {}});
  Matrix<double> fresh = normals(3, 2, "fresh");
  fresh(1, 0) = std::numeric_limits<double>::quiet_NaN();
  const Matrix<double> c = covariance_of(model, fresh, 0, false);
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) EXPECT_EQ(std::isnan(c(i, j)), i == 1 || j == 1);
  }
  EXPECT_THROW(covariance_of(model, fresh, 1, false), Error);
  EXPECT_THROW(covariance_of(model, normals(3, 5, "wide"), 0, false), Error);
}

}  // namespace
}  // namespace mercer
