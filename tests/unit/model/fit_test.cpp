// fit → predict against a pipeline written out by hand: scaling, dense ridge, unscaling.
#include "model/fit_ridge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/packed_rows.hpp"
#include "base/parallel.hpp"
#include "model/state.hpp"
#include "unit/model/raw_data.hpp"
#include "unit/solve/dense_ridge.hpp"

namespace mercer {
namespace {

using namespace samples;

FitOptions options_for(const Sample& c, const std::string& solver) {
  FitOptions options;
  options.kernel = c.kernel;
  options.map = "fourier:12";
  options.penalty = 1e-3;
  options.solver = solver;
  options.seed = 5;
  return options;
}

struct Naive {
  Dense mean;
  Dense deviation;
};

Naive naive_pipeline(const Sample& c, const Data& s, ConstMatrix fresh, bool standardize, bool shared) {
  const Index n = s.x.rows();
  const auto weights = s.all_weights();
  const Vector w = ::Eigen::Map<const Vector>(weights.data(), n) / s.total();
  const auto standard = [&](const Dense& v) {
    const Vector mean = v.transpose() * w;
    const Dense centred = v.rowwise() - mean.transpose();
    Vector scale = (centred.cwiseAbs2().transpose() * w).cwiseSqrt();
    if (shared) scale.setConstant(std::sqrt(scale.squaredNorm() / static_cast<double>(scale.size())));
    return standardize ? std::pair<Vector, Vector>{mean, scale}
                       : std::pair<Vector, Vector>{Vector::Zero(v.cols()), Vector::Ones(v.cols())};
  };
  const auto [x_mean, x_scale] = standard(dense(s.x));
  const auto [y_mean, y_scale] = standard(dense(s.y));
  const auto scaled = [](const Dense& v, const Vector& mean, const Vector& scale) -> Dense {
    return (v.rowwise() - mean.transpose()) * scale.cwiseInverse().asDiagonal();
  };
  const FourierMap map = map_of(c.kernel, c.inputs, c.outputs, 12, Sampling::automatic, 5);
  const Dense rows = operator_rows(map, matrix(scaled(dense(s.x), x_mean, x_scale)));
  const Dense targets = scaled(dense(s.y), y_mean, y_scale);
  const auto fit = oracle::dense_ridge(rows, targets, weights, 1e-3 * s.total(), true);
  const Dense query = operator_rows(map, matrix(scaled(dense(fresh), x_mean, x_scale)));
  Naive result{fit.predict(query), fit.variance(query)};
  const double left = std::max(s.total() - fit.degrees_of_freedom, 0.01 * s.total());
  for (Index a = 0; a < c.outputs; ++a) {
    const double noise = fit.rss[static_cast<std::size_t>(a)] / left;
    result.deviation.col(a) = ((result.deviation.col(a).array() + 1) * noise).sqrt() * y_scale(a);
    result.mean.col(a) = result.mean.col(a).array() * y_scale(a) + y_mean(a);
  }
  return result;
}

TEST(Fit, EqualsThePipelineByHand) {
  for (const Sample& c : kernel_samples()) {
    for (const bool standardize : {true, false}) {
      Data s = standardize ? raw_data(90, c.inputs, c.outputs) : data(90, c.inputs, c.outputs);
      s.weights = counts(90);
      const Matrix<double> fresh = standardize ? raw_data(20, c.inputs, c.outputs).x : normals(20, c.inputs, "fresh");
      const bool shared = is_vector_field(parse_kernel(c.kernel));
      const Naive expected = naive_pipeline(c, s, fresh, standardize, shared);
      for (const char* solver : {"eigen", "cholesky", "cg"}) {
        FitOptions options = options_for(c, solver);
        options.standardize = standardize;
        options.tolerance = 1e-12;
        ArrayRows rows = s.rows();
        const Model model = fit(rows, options);
        EXPECT_LT(relative(dense(mean_of(model, fresh)), expected.mean), 1e-8) << c.name << ' ' << solver;
        EXPECT_EQ(model.summary().solver, solver);
        EXPECT_EQ(model.summary().rows, 90);
        EXPECT_DOUBLE_EQ(model.summary().weight, s.total());
        if (std::string(solver) == "eigen") {
          EXPECT_LT(relative(dense(predict(model, fresh).deviation), expected.deviation), 1e-8) << c.name;
        }
      }
    }
  }
}

TEST(Fit, LatentDeviationIsWithoutTheNoise) {
  const Data s = raw_data(100, 2, 2);
  ArrayRows rows = s.rows();
  FitOptions options;
  options.map = "fourier:20";
  const Model model = fit(rows, options);
  const Predicted all = predict(model, s.x);
  const Predicted latent = predict(model, s.x, true);
  for (Index a = 0; a < 2; ++a) {
    const double noise = model.state().noise[static_cast<std::size_t>(a)] *
                         std::pow(model.state().recipe.scaling.target_scale[static_cast<std::size_t>(a)], 2);
    for (Index i = 0; i < 100; ++i) {
      const double difference = std::pow(all.deviation(i, a), 2) - std::pow(latent.deviation(i, a), 2);
      EXPECT_NEAR(difference, noise, 1e-9 * noise);
    }
  }
}

TEST(Fit, ThreadsDoNotChangeABit) {
  const int before = threads();
  const Data s = raw_data(700, 2, 2);
  for (const char* kernel : {"gaussian(median)", "helmholtz(gaussian(median), 0.4)"}) {
    for (const char* solver : {"eigen", "cholesky", "exact"}) {
      FitOptions options;
      options.kernel = kernel;
      options.map = std::string(solver) == "exact" ? "exact" : "fourier:100";
      if (std::string(solver) != "exact") options.solver = solver;
      options.penalty = 1e-4;
      const Index n = std::string(solver) == "exact" ? 150 : 700;
      const auto run = [&](int count) {
        set_threads(count);
        ArrayRows rows(s.x.view().row_range(0, n), s.y.view().row_range(0, n));
        return predict(fit(rows, options), s.x);
      };
      const Predicted one = run(1);
      for (const int count : {2, 3}) {
        const Predicted many = run(count);
        EXPECT_TRUE(std::ranges::equal(one.mean.values(), many.mean.values())) << kernel << ' ' << solver;
        EXPECT_TRUE(std::ranges::equal(one.deviation.values(), many.deviation.values())) << kernel << ' ' << solver;
      }
    }
  }
  set_threads(before);
}

TEST(Fit, LearnsClasses) {
  Matrix<double> x = normals(300, 2, "points");
  Matrix<double> label(300, 1);
  for (Index i = 0; i < 300; ++i) {
    label(i, 0) = static_cast<double>(i % 3);
    x(i, 0) = 0.3 * x(i, 0) + 4 * std::cos(2.0 * static_cast<double>(i % 3));
    x(i, 1) = 0.3 * x(i, 1) + 4 * std::sin(2.0 * static_cast<double>(i % 3));
  }
  for (const char* map : {"fourier:60", "exact"}) {
    FitOptions options;
    options.map = map;
    options.classes = {"red", "green", "blue"};
    ArrayRows rows(x, label);
    const Model model = fit(rows, options);
    EXPECT_EQ(model.outputs(), 3);
    EXPECT_EQ(model.classes(), options.classes);
    EXPECT_FALSE(model.has_uncertainty());
    const std::vector<Index> classes = model.classify(x);
    const Matrix<double> scores = mean_of(model, x);
    for (Index i = 0; i < 300; ++i) {
      EXPECT_EQ(classes[static_cast<std::size_t>(i)], i % 3);
      EXPECT_NEAR(scores(i, 0) + scores(i, 1) + scores(i, 2), 0, 1e-12);
    }
    Matrix<double> deviation(300, 3);
    Matrix<double> mean(300, 3);
    EXPECT_THROW(model.predict(x, mean, deviation), Error);
  }
  FitOptions options;
  options.classes = {"red", "green"};
  ArrayRows rows(x, label);
  EXPECT_THROW(fit(rows, options), Error) << "class 2 of 2";
  Matrix<double> two(300, 2);
  ArrayRows pairs(x, two);
  EXPECT_THROW(fit(pairs, options), Error) << "two class columns";
}

TEST(Fit, MissingInputsGiveMissingAnswers) {
  const Data s = raw_data(60, 2, 2);
  for (const char* map : {"fourier:20", "exact"}) {
    FitOptions options;
    options.map = map;
    ArrayRows rows = s.rows();
    const Model model = fit(rows, options);
    Matrix<double> x = s.x;
    const Matrix<double> whole = mean_of(model, x);
    x(7, 1) = std::numeric_limits<double>::quiet_NaN();
    x(9, 0) = -std::numeric_limits<double>::infinity();
    const Predicted p = predict(model, x);
    for (Index i = 0; i < 60; ++i) {
      for (Index a = 0; a < 2; ++a) {
        EXPECT_EQ(std::isnan(p.mean(i, a)), i == 7 || i == 9);
        EXPECT_EQ(std::isnan(p.deviation(i, a)), i == 7 || i == 9);
        if (i != 7 && i != 9) {
          EXPECT_EQ(p.mean(i, a), whole(i, a)) << "other rows must not change";
        }
      }
    }
  }
}

TEST(Fit, RefusesWrongShapesAndOptions) {
  const Data s = data(50, 2, 2);
  ArrayRows rows = s.rows();
  FitOptions options;
  options.map = "fourier:10";
  const Model model = fit(rows, options);
  Matrix<double> narrow(5, 1);
  Matrix<double> wide(5, 3);
  Matrix<double> right(5, 2);
  EXPECT_THROW(model.predict(narrow, right), Error);
  EXPECT_THROW(model.predict(right, wide), Error);
  EXPECT_THROW(model.predict(right, right, wide), Error);
  EXPECT_THROW(model.classify(right), Error);
  Matrix<double> nothing(0, 2);
  EXPECT_NO_THROW(model.predict(nothing, nothing));
  const auto refused = [&](auto&& change) {
    FitOptions wrong = options;
    change(wrong);
    ArrayRows again = s.rows();
    EXPECT_THROW(fit(again, wrong), Error);
  };
  refused([](FitOptions& o) { o.solver = "magic"; });
  refused([](FitOptions& o) { o.penalty = -1; });
  refused([](FitOptions& o) { o.penalty = std::numeric_limits<double>::quiet_NaN(); });
  refused([](FitOptions& o) { o.tolerance = 0; });
  refused([](FitOptions& o) { o.passes = 0; });
  refused([](FitOptions& o) { o.kernel = "gausian(1)"; });
  refused([](FitOptions& o) { o.precision = "half"; });
  refused([](FitOptions& o) { o.uncertainty = "some"; });
  refused([](FitOptions& o) {
    o.map = "exact";
    o.solver = "cg";
  });
  refused([](FitOptions& o) {
    o.map = "exact";
    o.memory_bytes = 1000;
  });
  refused([](FitOptions& o) {
    o.solver = "cg";
    o.penalty = 0;
  });
  ArrayRows untargeted(s.x);
  EXPECT_THROW(fit(untargeted, options), Error);
  ArrayRows none(s.x.view().row_range(0, 0), s.y.view().row_range(0, 0));
  EXPECT_THROW(fit(none, options), Error);
}

TEST(Fit, SmallestProblems) {
  for (const Index n : {Index{1}, Index{2}}) {
    for (const char* map : {"fourier:5", "exact"}) {
      for (const bool chosen : {true, false}) {
        const Data s = data(n, 2, 2);
        FitOptions options;
        options.map = map;
        if (!chosen) options.penalty = 1e-3;
        ArrayRows rows = s.rows();
        const Model model = fit(rows, options);
        const Predicted p = predict(model, s.x);
        for (const double v : p.mean.values()) EXPECT_TRUE(std::isfinite(v)) << map << n;
        for (const double v : p.deviation.values()) EXPECT_TRUE(std::isfinite(v)) << map << n;
      }
    }
  }
}

TEST(Fit, IterativeSolversSayThatTheyKeepDraws) {
  const Data s = data(40, 2, 1);
  for (const char* solver : {"cg", "sgd", "cholesky"}) {
    for (const char* uncertainty : {"auto", "full"}) {
      ArrayRows rows = s.rows();
      FitOptions options;
      options.map = "fourier:20";
      options.penalty = 1e-3;
      options.solver = solver;
      options.uncertainty = uncertainty;
      const std::vector<std::string> notes = fit(rows, options).summary().notes;
      const bool said =
          std::ranges::any_of(notes, [](const std::string& note) { return note.find("64 draws") != note.npos; });
      EXPECT_EQ(said, std::string(solver) != "cholesky" && std::string(uncertainty) == "full") << solver << uncertainty;
    }
  }
}

TEST(Fit, ConstantTargetsAreLearned) {
  Data s = data(40, 2, 2);
  std::ranges::fill(s.y.values(), 7.0);
  for (const char* kernel : {"gaussian(median)", "decomposable(gaussian(1), covariance)", "curl_free(gaussian(median))"}) {
    for (const char* map : {"fourier:10", "exact"}) {
      FitOptions options;
      options.kernel = kernel;
      options.map = map;
      ArrayRows rows = s.rows();
      const Matrix<double> mean = mean_of(fit(rows, options), s.x);
      for (const double v : mean.values()) EXPECT_NEAR(v, 7, 1e-9) << kernel << ' ' << map;
    }
  }
}

// λ by leave-one-out on the same grid must be the same choice whichever solver scores it, and near the oracle's best.
TEST(Fit, PenaltyByLeaveOneOut) {
  const Data s = raw_data(200, 2, 2);
  for (const char* map : {"fourier:30", "exact"}) {
    FitOptions options;
    options.map = map;
    ArrayRows rows = s.rows();
    const Model model = fit(rows, options);
    const FitSummary& summary = model.summary();
    EXPECT_TRUE(summary.penalty_chosen);
    ASSERT_TRUE(summary.leave_one_out_rmse.has_value());
    EXPECT_EQ(summary.leave_one_out_rows, 200);
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [penalty, score] : summary.penalty_path) best = std::min(best, score);
    EXPECT_NEAR(std::pow(*summary.leave_one_out_rmse, 2) * 2, best, 1e-12);
    EXPECT_EQ(summary.status, "ok");
  }
}

TEST(ChooseSolver, FollowsSizesAndWishes) {
  FitOptions options;
  const auto choice = [&](const std::string& kernel, Index p, Index frequencies) {
    return choose_solver(map_of(kernel, 2, p, frequencies), 1000, options).solver;
  };
  EXPECT_EQ(choice("gaussian(1)", 1, 2500), "eigen");
  EXPECT_EQ(choice("gaussian(1)", 3, 2500), "eigen") << "decoupled outputs do not count";
  EXPECT_EQ(choice("gaussian(1)", 1, 2501), "cholesky");
  EXPECT_EQ(choice("helmholtz(gaussian(1), 0.5)", 2, 1250), "eigen");
  EXPECT_EQ(choice("helmholtz(gaussian(1), 0.5)", 2, 1251), "cholesky");
  EXPECT_EQ(choice("gaussian(1)", 1, 6001), "cg");
  EXPECT_EQ(choice("helmholtz(gaussian(1), 0.5)", 2, 3001), "cg");
  options.penalty = 1e-3;
  EXPECT_EQ(choice("gaussian(1)", 1, 800), "cholesky");
  options.memory_bytes = Index{100} << 20;
  EXPECT_EQ(choice("gaussian(1)", 1, 1500), "cg");
  options.memory_bytes = Index{20} << 20;  // less than blocks of rows take, with any solver
  EXPECT_EQ(choice("gaussian(1)", 1, 1200), "cholesky") << "matrices of 86 MB";
  EXPECT_EQ(choice("gaussian(1)", 1, 1300), "cg") << "of 101 MB";
  EXPECT_LT(leave_one_out_limits(options, true).values, (Index{20} << 20) / 100) << "24 bytes each";
  options.solver = "sgd";
  EXPECT_EQ(choice("gaussian(1)", 1, 10), "sgd");
}

TEST(ChooseSolver, RefinesWhereManyRowsMeetManyFeatures) {
  const FourierMap map = map_of("gaussian(1)", 2, 1, 500);
  FitOptions options;
  const auto choice = [&](Index rows) { return choose_solver(map, rows, options).solver; };
  EXPECT_EQ(choice(199'999), "eigen") << "a wrong guess would cost more than a right one saves";
  EXPECT_EQ(choice(200'000), is_fast(LowNumber::bf16) ? "refined" : "eigen");
  options.penalty = 1e-4;
  EXPECT_EQ(choice(19'999), "cholesky");
  EXPECT_EQ(choice(20'000), "refined");
  const FourierMap wide = map_of("gaussian(1)", 2, 1, 2000);
  EXPECT_EQ(choose_solver(wide, 3'999, options).solver, "cholesky");
  EXPECT_EQ(choose_solver(wide, 4'000, options).solver, "refined");
  EXPECT_EQ(choose_solver(map_of("gaussian(1)", 2, 71, 500), 20'000, options).solver, "refined");
  EXPECT_EQ(choose_solver(map_of("gaussian(1)", 2, 72, 500), 20'000, options).solver, "cholesky") << "many targets";
  options.uncertainty = "full";
  EXPECT_EQ(choice(40'000), "cholesky") << "exact standard deviations";
  options.uncertainty = "auto";
  options.precision = "float64";
  EXPECT_EQ(choice(40'000), "cholesky");
  options.precision = "auto";
  options.penalty = 0.0;
  EXPECT_EQ(choice(40'000), "cholesky");
}

}  // namespace
}  // namespace mercer
