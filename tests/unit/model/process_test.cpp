// Gaussian processes as models: what was learned, files, several outputs, refusals.
#include <gtest/gtest.h>
#include <mercer/model.hpp>

#include <cmath>
#include <functional>
#include <numbers>

#include <Eigen/Dense>

#include "kernel/evaluate.hpp"
#include "map/anchor_map.hpp"
#include "model/fit_process.hpp"
#include "model/state.hpp"
#include "unit/model/model_kinds.hpp"

namespace mercer {
namespace {

using namespace samples;

struct Series {
  Matrix<double> t{90, 1};
  Matrix<double> y;

  explicit Series(Index outputs = 1) : y(90, outputs) {
    const Stream stream(2, "series");
    for (Index i = 0; i < 90; ++i) {
      t(i, 0) = 2000 + static_cast<double>(i) / 12;
      const double season = std::sin(2 * std::numbers::pi * t(i, 0));
      for (Index a = 0; a < outputs; ++a)
        y(i, a) = 50 + 3 * (1 + a) * season + 0.5 * static_cast<double>(i) / 12 + 0.3 * stream.normal(i, a);
    }
  }
  Model fit(FitOptions options) const {
    ArrayRows rows(t, y);
    return mercer::fit(rows, options);
  }
};

FitOptions quick(const std::string& kind) {
  FitOptions options;
  options.gp.kind = kind;
  options.gp.points = 40;
  options.gp.steps = 60;
  options.gp.posterior_draws = 2;
  return options;
}

TEST(Process, LearnsThePeriodInTheUsersUnits) {
  const Model model = Series().fit(quick("spectral_mixture:4"));
  bool yearly = false;
  for (const SpectralComponent& c : model.spectrum()) {
    yearly = yearly || (std::abs(c.frequency[0] - 1) < 0.02 && c.weight > 1 && c.weight < 100 && c.weight_error > 0);
  }
  EXPECT_TRUE(yearly);
  EXPECT_EQ(model.summary().process, "spectral_mixture");
  EXPECT_TRUE(model.summary().nlml.has_value());
  EXPECT_EQ(model.training().size(), 60U);
  EXPECT_TRUE(model.has_uncertainty());
  Matrix<double> ahead(6, 1);
  for (Index i = 0; i < 6; ++i) ahead(i, 0) = 2007.5 + static_cast<double>(i) / 12;
  const Answer a = answer(model, ahead);
  for (Index i = 0; i < 6; ++i) {
    const double truth = 50 + 3 * std::sin(2 * std::numbers::pi * ahead(i, 0)) + 0.5 * (ahead(i, 0) - 2000);
    EXPECT_NEAR(a.mean(i, 0), truth, 1.5);
    EXPECT_GT(a.deviation(i, 0), 0.1);
    EXPECT_LT(a.deviation(i, 0), 3);
  }
}

TEST(Process, RoundTripsBitForBit) {
  const Scratch file("process.mercer");
  struct Kind {
    std::string gp;
    std::string kernel;
    std::string mean;
    std::string outputs;
    Index targets;
  };
  const std::vector<Kind> kinds = {{"spectral_mixture:3", "gaussian(median)", "linear", "independent", 1},
                                   {"spectral_mixture:3,student", "gaussian(median)", "constant", "independent", 2},
                                   {"spectral_mixture:3,laplace", "gaussian(median)", "none", "shared", 2},
                                   {"exact", "gaussian(median) + 0.5*linear()", "linear", "independent", 2},
                                   {"exact", "spectral_mixture:2", "constant", "independent", 1},
                                   {"exact", "gaussian(1)", "none", "shared", 2},
                                   {"vfe:10", "spectral_mixture:2,laplace", "constant", "independent", 2},
                                   {"vfe:20", "matern(1, nu=1.5)*gaussian(2)", "linear", "independent", 1}};
  for (const Kind& kind : kinds) {
    const Series series(kind.targets);
    FitOptions options = quick(kind.gp);
    options.kernel = kind.kernel;
    options.gp.mean = kind.mean;
    options.gp.outputs = kind.outputs;
    options.gp.steps = 15;
    const Model model = series.fit(options);
    model.save(file.path());
    const Model loaded = Model::load(file.path());
    Matrix<double> ahead(9, 1);
    for (Index i = 0; i < 9; ++i) ahead(i, 0) = 2001 + static_cast<double>(i);
    const Answer a = answer(model, ahead);
    const Answer b = answer(loaded, ahead);
    EXPECT_TRUE(std::ranges::equal(a.mean.values(), b.mean.values())) << kind.gp;
    EXPECT_TRUE(std::ranges::equal(a.deviation.values(), b.deviation.values())) << kind.gp;
    for (const double d : a.deviation.values()) EXPECT_TRUE(std::isfinite(d) && d > 0) << kind.gp;
    EXPECT_EQ(model.summary().nlml, loaded.summary().nlml);
    EXPECT_EQ(model.training().size(), loaded.training().size());
    EXPECT_EQ(model.training(kind.targets - 1).size(), loaded.training(kind.targets - 1).size());
    EXPECT_EQ(model.spectrum().size(), loaded.spectrum().size());
    Matrix<double> drawn(9, 2 * kind.targets);
    Matrix<double> again(9, 2 * kind.targets);
    model.sample(ahead, 2, 5, drawn);
    loaded.sample(ahead, 2, 5, again);
    EXPECT_TRUE(std::ranges::equal(drawn.values(), again.values())) << kind.gp;
    const std::vector<char> first = bytes_of(file.path());
    loaded.save(file.path());
    EXPECT_EQ(first, bytes_of(file.path())) << kind.gp;
  }
}

/// An exact process predicts what the textbook formula gives for the kernel and noise it learned, with a constant mean
/// under a flat prior.
TEST(Process, ExactIsTheTextbookPosterior) {
  const Series series;
  FitOptions options = quick("exact");
  options.kernel = "gaussian(0.3) + gaussian(2)";
  const Model model = series.fit(options);
  const Model::State& s = model.state();
  const Scaling& scaling = s.recipe.scaling;
  const Kernel kernel = one_scalar_kernel(s.recipe.kernel);
  const Index n = series.t.rows();
  ::Eigen::MatrixXd k(n, n);
  ::Eigen::VectorXd y(n);
  const auto scaled = [&](double t) { return std::vector<double>{(t - scaling.input_shift[0]) / scaling.input_scale[0]}; };
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) k(i, j) = value(kernel, scaled(series.t(i, 0)), scaled(series.t(j, 0)));
    k(i, i) += s.noise[0];
    y(i) = (series.y(i, 0) - scaling.target_shift[0]) / scaling.target_scale[0];
  }
  const ::Eigen::LLT<::Eigen::MatrixXd> llt(k);
  const ::Eigen::VectorXd ones = ::Eigen::VectorXd::Ones(n);
  const ::Eigen::VectorXd ki = llt.solve(ones);
  const double constant = ki.dot(y) / ki.dot(ones);
  Matrix<double> ahead(3, 1, {2003.21, 2007.6, 2009.0});
  const Answer a = answer(model, ahead);
  for (Index i = 0; i < 3; ++i) {
    ::Eigen::VectorXd c(n);
    for (Index j = 0; j < n; ++j) c(j) = value(kernel, scaled(ahead(i, 0)), scaled(series.t(j, 0)));
    const double mean = constant + c.dot(llt.solve(y - constant * ones));
    const double slack = 1 - ki.dot(c);  // the uncertain constant
    const double variance = value(kernel, scaled(ahead(i, 0)), scaled(ahead(i, 0))) - c.dot(llt.solve(c)) +
                            slack * slack / ki.dot(ones) + s.noise[0];
    EXPECT_NEAR(a.mean(i, 0), mean * scaling.target_scale[0] + scaling.target_shift[0], 1e-6);
    EXPECT_NEAR(a.deviation(i, 0), std::sqrt(variance) * scaling.target_scale[0], 1e-5);
  }
}

/// With every row an inducing input the variational posterior is the exact one of the same hyperparameters; away from the
/// data its variance is the whole prior again, which inducing features alone would lack.
TEST(Process, VariationalKnowsWhatItDoesNotKnow) {
  const Series series;
  FitOptions options = quick("vfe:30");
  options.kernel = "gaussian(0.5)";
  options.gp.steps = 30;
  const Model model = series.fit(options);
  Matrix<double> far(1, 1, {2300.0});
  Matrix<double> mean(1, 1);
  Matrix<double> deviation(1, 1);
  model.predict(far, mean, deviation, true);
  const Model::State& s = model.state();
  const std::vector<double> origin = {0.0};
  const double prior =
      std::sqrt(value(one_scalar_kernel(s.recipe.kernel), origin, origin)) * s.recipe.scaling.target_scale[0];
  EXPECT_GT(deviation(0, 0), 0.99 * prior);
}

/// Outputs that differ in scale, smoothness and noise: each is what it is when fitted alone.
TEST(Process, EachOutputLearnsItsOwnKernelAndNoise) {
  Series both(2);
  const Stream stream(4, "rough");
  for (Index i = 0; i < 90; ++i) both.y(i, 1) = 7 + 2 * stream.normal(i, 0);
  for (const char* kind : {"exact", "vfe:40"}) {
    FitOptions options = quick(kind);
    const Model model = both.fit(options);
    ASSERT_EQ(model.state().kernel_processes.size(), 2U);
    EXPECT_GT(model.state().noise[1], 5 * model.state().noise[0]) << "one is a season, the other nothing but noise";
    Matrix<double> ahead(3, 1, {2001.3, 2007.7, 2008.3});
    const Answer together = answer(model, ahead);
    double nlml = 0;
    for (Index a = 0; a < 2; ++a) {
      Series alone;
      for (Index i = 0; i < 90; ++i) alone.y(i, 0) = both.y(i, a);
      const Model one = alone.fit(options);
      nlml += *one.summary().nlml;
      const Answer apart = answer(one, ahead);
      EXPECT_EQ(model.training(a).size(), one.training().size());
      for (Index i = 0; i < 3; ++i) {
        EXPECT_NEAR(together.mean(i, a), apart.mean(i, 0), 1e-9) << kind;
        EXPECT_NEAR(together.deviation(i, a), apart.deviation(i, 0), 1e-9) << kind;
      }
    }
    EXPECT_NEAR(*model.summary().nlml, nlml, 1e-9);
    options.gp.outputs = "shared";
    const Model shared = both.fit(options);
    ASSERT_EQ(shared.state().kernel_processes.size(), 1U);
    EXPECT_EQ(shared.state().noise[0], shared.state().noise[1]);
    EXPECT_GT(*shared.summary().nlml, nlml) << "one kernel for both fits them worse";
    EXPECT_EQ(shared.training(0).size(), shared.training(1).size());
    EXPECT_THROW(shared.training(2), Error);
  }
}

TEST(Process, TrainingOfEverySpectrumIsKept) {
  FitOptions options = quick("spectral_mixture:3");
  options.gp.steps = 7;
  options.gp.mean = "constant";
  const Model model = Series(2).fit(options);
  EXPECT_EQ(model.training(0).size(), 7U);
  EXPECT_EQ(model.training(1).size(), 7U);
  EXPECT_NE(model.training(0).back().nlml, model.training(1).back().nlml);
  options.gp.outputs = "shared";
  const Model shared = Series(2).fit(options);
  EXPECT_EQ(&shared.training(0), &shared.training(1));
}

/// The spectrum of an exact or variational process with a mixture as kernel, in the units of the series; its errors are
/// those of tr K_qS⁻¹ directions.
TEST(Process, ExactAndVariationalMixturesHaveASpectrum) {
  for (const char* kernel : {"spectral_mixture:3", "spectral_mixture:3,student", "spectral_mixture:3,laplace"}) {
    for (const char* kind : {"exact", "vfe:40"}) {
      FitOptions options = quick(kind);
      options.kernel = kernel;
      const Model model = Series().fit(options);
      const std::vector<SpectralComponent> spectrum = model.spectrum();
      ASSERT_EQ(spectrum.size(), 3U) << kernel;
      double sum = 0;
      for (const SpectralComponent& c : spectrum) sum += c.weight;
      const double unit = model.state().recipe.scaling.target_scale[0];
      const std::vector<double> origin = {0.0};
      EXPECT_NEAR(sum, value(one_scalar_kernel(model.state().recipe.kernel), origin, origin) * unit * unit, 1e-9 * sum);
      const bool yearly = std::ranges::any_of(spectrum, [](const SpectralComponent& c) {
        return std::abs(c.frequency[0] - 1) < 0.02 && c.weight_error > 0 && c.weight_error < 3 * c.weight;
      });
      EXPECT_TRUE(yearly) << kernel << " " << kind;
    }
  }
  FitOptions options = quick("exact");
  options.kernel = "gaussian(1)";
  EXPECT_TRUE(Series().fit(options).spectrum().empty());
}

TEST(Process, SharedSpectraCoupleTheirOutputs) {
  const Series series(2);
  FitOptions options = quick("spectral_mixture:3");
  options.gp.outputs = "shared";
  options.gp.optimizer = "lbfgs";
  const Model model = series.fit(options);
  ASSERT_EQ(model.state().spectral.size(), 1U);
  const Matrix<double>& l = model.state().spectral.front().parameters.factor;
  const double covariance = l(1, 0) * l(0, 0);
  EXPECT_GT(covariance, 0);  // both follow the same season
  EXPECT_EQ(model.spectrum(0).size(), model.spectrum(1).size());
}

TEST(Process, OppositeOutputsShareASpectrumToo) {
  Series series(2);
  for (Index i = 0; i < series.y.rows(); ++i) series.y(i, 1) = 100 - 2 * series.y(i, 0);
  FitOptions options = quick("spectral_mixture:3");
  options.gp.outputs = "shared";
  const Model model = series.fit(options);
  const Answer a = answer(model, series.t);
  double square = 0;
  for (Index i = 0; i < series.y.rows(); ++i) square += std::pow(a.mean(i, 1) - series.y(i, 1), 2) / 90;
  EXPECT_LT(std::sqrt(square), 1.5);  // the season alone has a deviation of 4
}

TEST(Process, ExactFindsACycleMuchShorterThanItsFirstLength) {
  Series series;
  for (Index i = 0; i < 90; ++i) series.y(i, 0) = std::sin(2 * std::numbers::pi * static_cast<double>(i) / 12);
  const Model model = series.fit(quick("exact"));
  const Answer a = answer(model, series.t);
  for (Index i = 0; i < 90; ++i) EXPECT_NEAR(a.mean(i, 0), series.y(i, 0), 0.05);
}

TEST(Process, SamplesAgreeWithThePosteriorAndTheirSeed) {
  for (const char* kind : {"spectral_mixture:3", "exact", "vfe:20"}) {
    const Model model = Series().fit(quick(kind));
    Matrix<double> ahead(4, 1, {2001.0, 2003.5, 2007.7, 2008.3});
    Matrix<double> a(4, 300);
    Matrix<double> b(4, 300);
    model.sample(ahead, 300, 1, a);
    model.sample(ahead, 300, 1, b);
    EXPECT_TRUE(std::ranges::equal(a.values(), b.values()));
    Matrix<double> mean(4, 1);
    Matrix<double> deviation(4, 1);
    model.predict(ahead, mean, deviation, true);
    for (Index i = 0; i < 4; ++i) {
      double sum = 0;
      for (const double f : a.row(i)) sum += f / 300;
      EXPECT_NEAR(sum, mean(i, 0), 6 * deviation(i, 0) / std::sqrt(300.0)) << kind;  // failure probability 2e-9 each
    }
  }
}

TEST(Process, ConditionsOnOtherRowsWithoutTraining) {
  const Series series;
  for (const char* kind : {"spectral_mixture:3", "exact", "vfe:15"}) {
    const Model model = series.fit(quick(kind));
    ArrayRows same(series.t, series.y);
    const Model again = conditioned_on(model, same, Index{1} << 30);
    Matrix<double> ahead(3, 1, {2001.3, 2007.7, 2008.3});
    const Answer a = answer(model, ahead);
    const Answer b = answer(again, ahead);
    for (Index i = 0; i < 3; ++i) {
      EXPECT_NEAR(a.mean(i, 0), b.mean(i, 0), 1e-7) << kind;
      EXPECT_NEAR(a.deviation(i, 0), b.deviation(i, 0), 1e-6) << kind;
    }
  }
}

TEST(Process, OddRowsGiveSensibleModels) {
  struct Odd {
    std::string name;
    Matrix<double> t;
    Matrix<double> y;
  };
  std::vector<Odd> odd;
  odd.push_back({"two rows", Matrix<double>(2, 1, {1, 2}), Matrix<double>(2, 1, {3, 4})});
  odd.push_back({"a line", Matrix<double>(5, 1, {1, 2, 3, 4, 5}), Matrix<double>(5, 1, {2, 4, 6, 8, 10})});
  odd.push_back({"constant input", Matrix<double>(4, 1, {1, 1, 1, 1}), Matrix<double>(4, 1, {1, 2, 3, 4})});
  odd.push_back(
      {"repeated and decreasing", Matrix<double>(6, 1, {5, 4, 4, 3, 2, 1}), Matrix<double>(6, 1, {1, 2, 3, 4, 5, 6})});
  odd.push_back({"huge offsets", Matrix<double>(5, 1, {1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4}),
                 Matrix<double>(5, 1, {1e8, 1e8 + 1, 1e8, 1e8 - 1, 1e8})});
  for (const Odd& o : odd) {
    for (const char* kind : {"spectral_mixture:10", "exact", "vfe:3"}) {
      ArrayRows rows(o.t, o.y);
      FitOptions options = quick(kind);
      options.gp.steps = 10;
      const Model model = fit(rows, options);
      const Answer a = answer(model, o.t);
      for (const double v : a.mean.values()) EXPECT_TRUE(std::isfinite(v)) << o.name << " " << kind;
      for (const double v : a.deviation.values()) EXPECT_TRUE(std::isfinite(v)) << o.name << " " << kind;
    }
  }
}

TEST(Process, RefusesWhatItCannotDo) {
  const Series series;
  const auto refuses = [&](const std::function<void(FitOptions&)>& change, const std::string& words) {
    FitOptions options = quick("spectral_mixture:3");
    change(options);
    try {
      series.fit(options);
      ADD_FAILURE() << "accepted: " << words;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  };
  refuses([](FitOptions& o) { o.gp.kind = "spectral_mixtur:3"; }, "did you mean");
  refuses([](FitOptions& o) { o.gp.kind = "spectral_mixture:0"; }, "whole number");
  refuses([](FitOptions& o) { o.gp.kind = "spectral_mixture:3,gauss"; }, "law");
  refuses([](FitOptions& o) { o.gp.kind = "exact:3"; }, "--kernel");
  refuses([](FitOptions& o) { o.gp.kind = "vfe:x"; }, "whole number");
  refuses([](FitOptions& o) { o.loss = "huber:1"; }, "Gaussian likelihood");
  refuses([](FitOptions& o) { o.penalty = 1; }, "--penalty");
  refuses([](FitOptions& o) { o.gp.mean = "quadratic"; }, "mean");
  refuses([](FitOptions& o) { o.gp.optimizer = "sgd"; }, "adam, lbfgs");
  refuses([](FitOptions& o) { o.gp.allocation = "best"; }, "softmax");
  refuses([](FitOptions& o) { o.gp.outputs = "both"; }, "shared");
  refuses([](FitOptions& o) { o.gp.validation = 0.9; }, "--validation");
  refuses([](FitOptions& o) { o.gp.points = 2; }, "3 random parts");
  const Matrix<double> flat(5, 1, {7, 7, 7, 7, 7});
  const Matrix<double> times(5, 1, {1, 2, 3, 4, 5});
  for (const char* kind : {"spectral_mixture:2", "exact", "vfe:2"}) {
    ArrayRows constant(times, flat);
    EXPECT_THROW(fit(constant, quick(kind)), Error) << kind;
  }
  const std::vector<double> weights(90, 2.0);
  ArrayRows weighted(series.t, series.y, weights);
  EXPECT_THROW(fit(weighted, quick("exact")), Error);
}

}  // namespace
}  // namespace mercer
