// The pieces of the certified solver, one by one: scratch files, the store, ridge steps, dual points.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <numeric>

#include "loss/make_loss.hpp"
#include "solve/dual_balance.hpp"
#include "solve/dual_bundle.hpp"
#include "solve/feature_store.hpp"
#include "solve/ridge_step.hpp"
#include "solve/scratch_file.hpp"
#include "unit/solve/data.hpp"
#include "unit/solve/dense_ridge.hpp"

namespace mercer {
namespace {

using namespace samples;

TEST(ScratchFile, GivesBackWhatWasWritten) {
  ScratchFile file;
  std::vector<double> a(1000);
  std::iota(a.begin(), a.end(), 0.0);
  file.append(a.data(), 8000);
  file.append(a.data(), 800);
  EXPECT_EQ(file.size(), 8800);
  std::vector<double> b(100);
  file.read(8 * 500, b.data(), 800);
  EXPECT_EQ(b.front(), 500);
  EXPECT_EQ(b.back(), 599);
  EXPECT_THROW(file.read(8800, b.data(), 8), Error);
}

TEST(ScratchFile, SaysWhereThereIsNoRoom) {
  try {
    const ScratchFile file("/nowhere/at/all");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::file);
    EXPECT_NE(std::string(e.what()).find("/nowhere/at/all"), std::string::npos);
  }
  // A limit on the size of files fails a write as a full disk does.
  ScratchFile file;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::vector<char> bytes(10000);
  try {
    file.append(bytes.data(), 10000);
    ADD_FAILURE() << "it was written";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::file);
    EXPECT_NE(std::string(e.what()).find("TMPDIR"), std::string::npos) << e.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

TEST(FeatureStore, SweepsAreDenseProducts) {
  const FourierMap map = map_of("gaussian(0.8)", 2, 2, 15);
  Data d = data(700, 2, 2);
  d.weights = counts(700);
  const Matrix<double> extra = normals(30, 2, "extra");
  const Matrix<double> w = normals(map.columns(), 3, "weights");
  Matrix<double> x(730, 2);
  for (Index i = 0; i < 730; ++i) std::ranges::copy(i < 700 ? d.x.row(i) : extra.row(i - 700), x.row(i).begin());
  const Dense phi = dense(features(map, x));
  for (const Index memory : {Index{1} << 30, Index{100}}) {
    ArrayRows rows = d.rows();
    FeatureStore::Options options;
    options.precision = Precision::double_;
    options.memory_bytes = memory;
    options.extra_inputs = extra;
    const auto store = FeatureStore::make(map, rows, options, nullptr);
    EXPECT_EQ(store->rows(), 730);
    EXPECT_EQ(store->source_rows(), 700);
    EXPECT_EQ(store->spilled(), memory == 100);
    EXPECT_EQ(store->target(7)[1], d.y(7, 1));
    EXPECT_EQ(store->weight(7), d.weights[7]);
    Dense f(730, 3);
    Matrix<double> sum(map.columns(), 2);
    store->sweep(
        w,
        [&](Index, Index first, ConstMatrix part, MutMatrix t) {
          for (Index i = 0; i < part.rows; ++i) {
            for (Index k = 0; k < 3; ++k) f(first + i, k) = part(i, k);
            t(i, 0) = std::sin(static_cast<double>(first + i));
            t(i, 1) = 1;
          }
        },
        sum);
    Dense t(730, 2);
    for (Index i = 0; i < 730; ++i) t.row(i) << std::sin(static_cast<double>(i)), 1;
    EXPECT_LT((f - phi * dense(w)).norm(), 1e-11);
    EXPECT_LT((dense(sum) - phi.transpose() * t).norm(), 1e-11);
    std::vector<double> v(730);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 0.5 + static_cast<double>(i % 5);
    Dense augmented(730, phi.cols() + 1);
    augmented << phi, Dense::Ones(730, 1);
    const Dense g = augmented.transpose() * ::Eigen::Map<Vector>(v.data(), 730).asDiagonal() * augmented;
    const Matrix<double> moments = store->moments(v, nullptr);
    for (Index i = 0; i < g.rows(); ++i) {
      for (Index j = 0; j <= i; ++j) EXPECT_NEAR(moments(i, j), g(i, j), 1e-10);
    }
  }
}

class RidgeStepMap : public testing::TestWithParam<Sample> {};
INSTANTIATE_TEST_SUITE_P(, RidgeStepMap, testing::ValuesIn(kernel_samples()),
                         [](const auto& sample) { return sample.param.name; });

TEST_P(RidgeStepMap, IsDenseRidge) {
  const Sample& s = GetParam();
  const FourierMap map = map_of(s.kernel, s.inputs, s.outputs, 8);
  Data d = data(50, s.inputs, s.outputs);
  d.weights = counts(50);
  const Dense phi = dense(features(map, d.x));
  const Dense y = dense(d.y);
  const auto w = ::Eigen::Map<Vector>(d.weights.data(), 50).asDiagonal();
  Dense augmented(50, phi.cols() + 1);
  augmented << phi, Dense::Ones(50, 1);
  const Matrix<double> moments = matrix(augmented.transpose() * w * augmented);
  const Matrix<double> cross = matrix(phi.transpose() * w * y);
  const Vector sums = y.transpose() * Dense(w) * Vector::Ones(50);
  for (const bool intercept : {true, false}) {
    const RidgeStep step(map.coupling(), moments, intercept);
    for (const double ridge : {0.1, 10.0}) {
      std::vector<double> theta(static_cast<std::size_t>(map.coupling().parameters()));
      Matrix<double> weights(map.columns(), s.outputs);
      std::vector<double> c(static_cast<std::size_t>(s.outputs));
      step.solve(cross, Point(sums.data(), c.size()), ridge, theta, weights, c);
      Dense f = phi * dense(weights);
      for (Index a = 0; a < f.cols(); ++a) f.col(a).array() += c[static_cast<std::size_t>(a)];
      const Dense rows = operator_rows(map, d.x);
      const Dense g = oracle::dense_ridge(rows, y, d.weights, ridge, intercept).predict(rows);
      EXPECT_LT((f - g).norm() / g.norm(), 1e-9) << "intercept " << intercept << ", ridge " << ridge;
    }
  }
}

TEST_P(RidgeStepMap, InertiaLeavesTheFixedPoint) {
  const Sample& s = GetParam();
  const FourierMap map = map_of(s.kernel, s.inputs, s.outputs, 4);
  const Data d = data(50, s.inputs, s.outputs);
  const Dense phi = dense(features(map, d.x));
  const Dense y = dense(d.y);
  Dense augmented(50, phi.cols() + 1);
  augmented << phi, Dense::Ones(50, 1);
  const Matrix<double> moments = matrix(augmented.transpose() * augmented);
  const Matrix<double> cross = matrix(phi.transpose() * y);
  const Vector sums = y.colwise().sum();
  std::vector<double> theta(static_cast<std::size_t>(map.coupling().parameters()));
  std::vector<double> moved(theta.size(), 0.0);
  Matrix<double> weights(map.columns(), s.outputs);
  std::vector<double> c(static_cast<std::size_t>(s.outputs));
  const Point sum(sums.data(), c.size());
  RidgeStep(map.coupling(), moments, true).solve(cross, sum, 1.0, theta, weights, c);
  const RidgeStep step(map.coupling(), moments, true, 0.01);
  for (int k = 0; k < 2000; ++k) step.solve(cross, sum, 1.0, moved, weights, c);
  for (std::size_t k = 0; k < theta.size(); ++k) EXPECT_NEAR(moved[k], theta[k], 1e-9);
}

TEST(DualBalance, SumsAreWhatWasAskedForAndEveryPointIsInItsDomain) {
  const FourierMap map = map_of("gaussian(0.8)", 2, 3, 2);
  for (const char* text : {"square", "pinball:0.1,0.5,0.9", "huber:0.3", "huber:0.3,coordinates", "epsilon:0.1",
                           "epsilon2:0.1", "hinge", "squared_hinge", "logistic", "multinomial"}) {
    const std::string name = text;
    Data d = data(500, 2, 3);
    d.weights = counts(500);
    for (Index i = 0; i < 500; ++i) {
      for (Index a = 0; a < 3; ++a) {
        if (name == "hinge" || name == "squared_hinge" || name == "logistic") d.y(i, a) = d.y(i, a) > 0.5 ? 1 : -1;
        if (name == "multinomial") d.y(i, a) = a == i % 3 ? 1 : 0;
      }
    }
    ArrayRows rows = d.rows();
    const auto store = FeatureStore::make(map, rows, {}, nullptr);
    const auto loss = make_loss(name, 3);
    Matrix<double> g = normals(500, 3, "duals");
    for (Index i = 0; i < 500; ++i) {
      for (double& v : g.row(i)) v = 0.3 * v + 0.05;
      loss->project_dual(d.y.row(i), g.row(i));
    }
    const std::vector<double> total = name == "multinomial" ? std::vector<double>{1, -2, 1} : std::vector<double>{1, -2, 3};
    const std::vector<double> shift = balancing_shift(*store, *loss, g, total);
    std::vector<double> sum(3, 0.0);
    for (Index i = 0; i < 500; ++i) {
      std::vector<double> a(3);
      for (std::size_t k = 0; k < 3; ++k) a[k] = g(i, static_cast<Index>(k)) + shift[k];
      loss->project_dual(d.y.row(i), a);
      EXPECT_TRUE(std::isfinite(loss->conjugate(a, d.y.row(i)))) << text;
      for (std::size_t k = 0; k < 3; ++k) sum[k] += d.weights[static_cast<std::size_t>(i)] * a[k];
    }
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(sum[k], total[k], 1e-9) << text << " " << k;
  }
}

TEST(DualBundle, MixesPointsAsWellAsAFineSearch) {
  DualBundle bundle;
  std::vector<DualPoint> points;
  double best = -1e300;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const Stream random(k, "bundle");
    DualPoint point;
    point.charge = -1 + 0.3 * random.normal(0, 0);
    for (std::uint64_t i = 0; i < 5; ++i) point.pull.push_back(1 + random.normal(i, 1));
    points.push_back(point);
    best = bundle.add(point);
    EXPECT_GE(best, point.bound());
  }
  double searched = -1e300;
  for (int i = 0; i <= 200; ++i) {
    for (int j = 0; i + j <= 200; ++j) {
      const std::vector<double> alpha = {i / 200.0, j / 200.0, (200 - i - j) / 200.0};
      DualPoint mix{0, std::vector<double>(5, 0.0)};
      for (std::size_t k = 0; k < 3; ++k) {
        mix.charge += alpha[k] * points[k].charge;
        for (std::size_t e = 0; e < 5; ++e) mix.pull[e] += alpha[k] * points[k].pull[e];
      }
      searched = std::max(searched, mix.bound());
    }
  }
  EXPECT_GE(best, searched - 1e-12);
  EXPECT_LE(best, searched + 1e-3);
}

}  // namespace
}  // namespace mercer
