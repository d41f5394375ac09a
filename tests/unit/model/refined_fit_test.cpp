// Fits by low-precision Gram matrices: the answers of float64, or a better Gram matrix and the reason why.
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/packed_rows.hpp"
#include "model/fit.hpp"
#include "unit/model/raw_data.hpp"

namespace mercer {
namespace {

using namespace samples;

FitOptions with(const char* kernel, const char* map, double penalty) {
  FitOptions options;
  options.kernel = kernel;
  options.map = map;
  options.penalty = penalty;
  return options;
}

TEST(RefinedFit, GivesTheDirectAnswer) {
  const Data s = raw_data(1500, 3, 2);
  FitOptions options = with("gaussian(1)", "fourier:500", 1e-5);
  options.uncertainty = "none";
  options.solver = "cholesky";
  ArrayRows rows = s.rows();
  const Matrix<double> direct = mean_of(fit(rows, options), s.x);
  options.solver = "refined";
  const Model refined = fit(rows, options);
  EXPECT_EQ(refined.summary().solver, "refined");
  EXPECT_EQ(refined.summary().status, "ok");
  EXPECT_FALSE(refined.has_uncertainty());
  EXPECT_FALSE(refined.summary().penalty_chosen);
  EXPECT_LT(relative(dense(mean_of(refined, s.x)), dense(direct)), 1e-7);
}

TEST(RefinedFit, BytesServeWhereFeaturesHaveBoundsAndRowsNoWeights) {
  Data s = raw_data(20000, 3, 1);
  FitOptions options = with("gaussian(2)", "fourier:500", 1e-4);
  options.uncertainty = "none";
  ArrayRows rows = s.rows();
  const Model plain = fit(rows, options);
  // Where the CPU multiplies bytes no faster than floats something else serves; the answer is the same.
  EXPECT_EQ(plain.summary().gram.starts_with("int8"), is_fast(LowNumber::int8)) << plain.summary().gram;
  options.precision = "float64";
  EXPECT_LT(relative(dense(mean_of(plain, s.x)), dense(mean_of(fit(rows, options), s.x))), 1e-7);
  options.precision = "auto";
  s.weights.assign(20000, 1.0);
  s.weights.front() = 2.0;
  ArrayRows weighted = s.rows();
  EXPECT_FALSE(fit(weighted, options).summary().gram.starts_with("int8"));
}

TEST(RefinedFit, RefusesWhatItCannotDo) {
  Data s = raw_data(700, 3, 1);
  FitOptions options = with("gaussian(2)", "fourier:100", 1e-4);
  options.solver = "refined";
  options.precision = "float64";
  ArrayRows rows = s.rows();
  EXPECT_THROW(fit(rows, options), Error) << "nothing but float64, and a Gram matrix in less";
  options.precision = "auto";
  EXPECT_EQ(fit(rows, options).summary().solver, "refined");
  s.y(17, 0) = 1e200;  // whose square is no number
  ArrayRows huge = s.rows();
  EXPECT_THROW(fit(huge, options), Error);
}

TEST(RefinedFit, Float32SaysWhenAPenaltyIsBelowItsRounding) {
  const Data s = raw_data(700, 3, 1);
  FitOptions options;
  options.kernel = "gaussian(2)";
  options.map = "fourier:100";
  options.precision = "float32";
  options.uncertainty = "none";
  ArrayRows rows = s.rows();
  const auto notes = [&](double penalty) {
    options.penalty = penalty;
    return fit(rows, options).summary().notes.size();
  };
  EXPECT_EQ(notes(1e-3), 0);
  EXPECT_GT(notes(1e-8), 0);
}

TEST(RefinedFit, ChoosesThePenaltyOfFloat64) {
  const Data s = data(1500, 3, 2, 1);
  FitOptions options;
  options.kernel = "gaussian(1)";
  options.map = "fourier:200";
  options.uncertainty = "none";
  options.solver = "eigen";
  ArrayRows rows = s.rows();
  const Model direct = fit(rows, options);
  options.solver = "refined";
  const Model refined = fit(rows, options);
  EXPECT_EQ(refined.summary().solver, "refined");
  EXPECT_TRUE(refined.summary().penalty_chosen);
  EXPECT_EQ(refined.summary().penalty, direct.summary().penalty);
  EXPECT_LT(relative(dense(mean_of(refined, s.x)), dense(mean_of(direct, s.x))), 1e-7);
}

TEST(RefinedFit, FallsBackWhereItsGramIsTooCoarse) {
  const Data s = raw_data(1000, 2, 1);
  FitOptions options = with("gaussian(0.7)", "fourier:120", 1e-13);
  options.uncertainty = "none";
  options.solver = "refined";
  ArrayRows rows = s.rows();
  const Model model = fit(rows, options);
  EXPECT_NE(model.summary().solver, "refined");
  ASSERT_FALSE(model.summary().notes.empty());
  EXPECT_NE(model.summary().notes.front().find("too coarse"), std::string::npos) << model.summary().notes.front();
  options.solver = "cholesky";
  const Matrix<double> direct = mean_of(fit(rows, options), s.x);
  EXPECT_EQ(relative(dense(mean_of(model, s.x)), dense(direct)), 0);
}

// Targets without noise ask for a penalty that bf16 cannot see: it would choose one far too large.
TEST(RefinedFit, LeavesPenaltiesItCannotChooseToFloat64) {
  const Data s = data(800, 2, 1, 0);
  FitOptions options;
  options.kernel = "gaussian(1)";
  options.map = "fourier:60";
  options.uncertainty = "none";
  ArrayRows rows = s.rows();
  options.solver = "eigen";
  const Model direct = fit(rows, options);
  options.solver = "refined";
  const Model refined = fit(rows, options);
  EXPECT_EQ(refined.summary().penalty, direct.summary().penalty);
  EXPECT_EQ(refined.summary().penalty_path, direct.summary().penalty_path);
  ASSERT_FALSE(refined.summary().notes.empty());
  EXPECT_NE(refined.summary().notes.front().find("too coarse to choose the penalty"), std::string::npos);
  EXPECT_EQ(relative(dense(mean_of(refined, s.x)), dense(mean_of(direct, s.x))), 0);
}

// Between the two: reached, but in so many passes that the trace of the hat matrix is not to be trusted.
TEST(RefinedFit, SaysWhenItsDegreesOfFreedomAreCoarse) {
  const Data s = raw_data(1000, 2, 1);
  FitOptions options;
  options.kernel = "gaussian(0.7)";
  options.map = "fourier:120";
  options.uncertainty = "none";
  options.solver = "refined";
  for (const auto& [penalty, coarse] : {std::pair(1e-2, false), std::pair(1e-7, true)}) {
    options.penalty = penalty;
    ArrayRows rows = s.rows();
    const FitSummary summary = fit(rows, options).summary();
    ASSERT_EQ(summary.solver, "refined");
    EXPECT_EQ(std::ranges::any_of(summary.notes, [](const auto& n) { return n.starts_with("degrees of freedom"); }), coarse);
  }
}

TEST(RefinedFit, StandardDeviationsAreAsNearAsItSays) {
  const Data s = raw_data(3000, 3, 2);
  const Matrix<double> fresh = raw_data(50, 3, 2).x;
  for (const std::string kernel : {"gaussian(1)", "decomposable(gaussian(1), [[2,0.5],[0.5,1]])"}) {
    FitOptions options;
    options.kernel = kernel;
    options.map = "fourier:150";
    options.penalty = 1e-4;
    options.solver = "eigen";
    ArrayRows rows = s.rows();
    const Predicted exact = predict(fit(rows, options), fresh, true);
    options.solver = "refined";
    const Model model = fit(rows, options);
    ASSERT_EQ(model.summary().solver, "refined") << kernel;
    ASSERT_TRUE(model.has_uncertainty());
    EXPECT_GT(model.summary().spread_error, 0);
    EXPECT_LE(model.summary().spread_error, 0.02);
    // Noise is Σr²/(n - df): as far off as df.
    const double off = 2 * model.summary().spread_error;
    const Predicted refined = predict(model, fresh, true);
    for (Index i = 0; i < exact.deviation.size(); ++i)
      EXPECT_NEAR(refined.deviation.data()[i] / exact.deviation.data()[i], 1, off);
  }
}

TEST(RefinedFit, BetterGramMatricesAreTriedInTurnAndTheReasonIsSaid) {
  const Data s = raw_data(1000, 2, 1);
  FitOptions options = with("gaussian(0.7)", "fourier:120", 5e-8);
  options.uncertainty = "none";
  options.solver = "refined";
  ArrayRows rows = s.rows();
  const Model model = fit(rows, options);
  // int8 or bf16 is not enough for this penalty, float32 is; the answer is that of float64 all the same.
  ASSERT_EQ(model.summary().solver, "refined");
  EXPECT_EQ(model.summary().gram.find("bf16 ("), std::string::npos) << model.summary().gram;
  ASSERT_FALSE(model.summary().notes.empty());
  EXPECT_NE(model.summary().notes.front().find("was too coarse for this penalty ("), std::string::npos);
  const std::string next = "computed again in " + model.summary().gram;
  EXPECT_TRUE(std::ranges::any_of(model.summary().notes, [&](const auto& note) { return note.ends_with(next); }));
  options.solver = "cholesky";
  EXPECT_LT(relative(dense(mean_of(model, s.x)), dense(mean_of(fit(rows, options), s.x))), 1e-7);
}

TEST(RefinedFit, SaysWhatItIsGoingToDo) {
  struct Listener : Progress {
    void update(std::string_view, double) override {}
    void tell(std::string_view sentence) override { said.emplace_back(sentence); }
    std::vector<std::string> said;
  } listener;
  const Data s = raw_data(1000, 2, 1);
  FitOptions options;
  options.map = "fourier:100";
  options.penalty = 1e-4;
  options.solver = "refined";
  options.progress = &listener;
  ArrayRows rows = s.rows();
  const FitSummary summary = fit(rows, options).summary();
  ASSERT_EQ(listener.said.size(), 1U);
  EXPECT_EQ(listener.said.front(), summary.plan);
  EXPECT_NE(summary.plan.find("passes with features"), std::string::npos) << summary.plan;
  EXPECT_NE(summary.plan.find("in one pass would take"), std::string::npos) << summary.plan;
}

}  // namespace
}  // namespace mercer
