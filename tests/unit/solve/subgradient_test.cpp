// Stochastic subgradients against the certified optimum.
#include "solve/subgradient.hpp"

#include <gtest/gtest.h>
#include <mercer/threads.hpp>

#include <cmath>

#include "loss/make_loss.hpp"
#include "unit/solve/data.hpp"

namespace mercer {
namespace {

using namespace samples;

struct Case {
  std::string loss;
  std::string kernel;
  Index outputs;
};

TEST(Subgradient, ComesNearTheCertifiedOptimum) {
  const std::vector<Case> cases = {{"pinball:0.2,0.5,0.8", "gaussian(1)", 3},
                                   {"epsilon:0.2", "curl_free(gaussian(1))", 2},
                                   {"huber:0.4", "decomposable(gaussian(1), [[1,0.3],[0.3,0.5]])", 2}};
  for (const Case& c : cases) {
    const FourierMap map = map_of(c.kernel, 2, c.outputs, 10);
    Data d = data(1500, 2, c.outputs, 0.5);
    d.weights = counts(1500);
    ArrayRows rows = d.rows();
    const auto loss = make_loss(c.loss, c.outputs);
    ConvexOptions exact;
    exact.penalty = 1e-3;
    const ConvexSolution optimum = ConvexSolver(map, rows, {}).solve(*loss, exact);
    for (const DescentMethod method : {DescentMethod::adam, DescentMethod::sgd}) {
      SubgradientOptions options;
      options.method = method;
      options.penalty = 1e-3;
      const SubgradientSolution s = solve_subgradient(map, rows, *loss, Precision::double_, options);
      EXPECT_GE(s.objective, optimum.dual - 1e-9) << c.loss;
      EXPECT_LE(s.objective, 1.03 * optimum.primal) << c.loss << (method == DescentMethod::adam ? " adam" : " sgd");
      EXPECT_EQ(s.trace.size(), 21u);
      for (const TracePoint& t : s.trace) EXPECT_GE(t.primal, s.objective);
    }
  }
}

TEST(Subgradient, TheSameBitsForAnyNumberOfThreads) {
  const FourierMap map = map_of("gaussian(1)", 2, 1, 10);
  const Data d = data(600, 2, 1, 0.5);
  ArrayRows rows = d.rows();
  const auto loss = make_loss("huber:0.4", 1);
  SubgradientOptions options;
  options.passes = 2;
  set_threads(1);
  const SubgradientSolution one = solve_subgradient(map, rows, *loss, Precision::single_, options);
  set_threads(3);
  const SubgradientSolution three = solve_subgradient(map, rows, *loss, Precision::single_, options);
  set_threads(0);
  EXPECT_TRUE(std::ranges::equal(one.weights.values(), three.weights.values()));
  EXPECT_EQ(one.objective, three.objective);
}

TEST(Subgradient, WithoutAnInterceptThereIsNone) {
  const FourierMap map = map_of("gaussian(1)", 2, 2, 10);
  const Data d = data(300, 2, 2, 0.5);
  ArrayRows rows = d.rows();
  SubgradientOptions options;
  options.passes = 2;
  options.intercept = false;
  const SubgradientSolution s = solve_subgradient(map, rows, *make_loss("square", 2), Precision::double_, options);
  EXPECT_EQ(s.intercept, (std::vector<double>{0, 0}));
}

TEST(Subgradient, TellsWhatItCannotDo) {
  const FourierMap map = map_of("gaussian(1)", 2, 2, 10);
  const Data d = data(300, 2, 2, 0.5);
  ArrayRows rows = d.rows();
  SubgradientOptions options;
  options.passes = 0;
  EXPECT_THROW(static_cast<void>(solve_subgradient(map, rows, *make_loss("square", 2), Precision::double_, options)), Error);
  options.passes = 1;
  options.penalty = -1;
  EXPECT_THROW(static_cast<void>(solve_subgradient(map, rows, *make_loss("square", 2), Precision::double_, options)), Error);
  options.penalty = 1e-3;
  EXPECT_THROW(static_cast<void>(solve_subgradient(map, rows, *make_loss("hinge", 2), Precision::double_, options)), Error);
}

}  // namespace
}  // namespace mercer
