#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include "map/anchor_map.hpp"
#include "model/recipe.hpp"

namespace mercer {
namespace {

std::string chosen(const std::string& loss, Index rows, const std::string& kernel = "gaussian(median)") {
  FitOptions options;
  options.loss = loss;
  options.kernel = kernel;
  return chosen_map(options, rows, 2);
}

TEST(ChosenMap, DependsOnLossRowsAndKernel) {
  EXPECT_EQ(chosen("square", 1000), "exact");
  EXPECT_EQ(chosen("square", 1001), "fourier:1000");
  EXPECT_EQ(chosen("square", 750, "curl_free(gaussian(1))"), "exact");
  EXPECT_EQ(chosen("square", 751, "curl_free(gaussian(1))"), "fourier:1000");
  FitOptions solver;
  solver.solver = "cg";
  EXPECT_EQ(chosen_map(solver, 100, 1), "fourier:1000") << "a solver that was asked for needs features";
  EXPECT_EQ(chosen_features({}, 100), "fourier:1000");
  EXPECT_EQ(chosen("huber", 1), "nystrom:1");
  EXPECT_EQ(chosen("huber", 100), "nystrom:100");
  EXPECT_EQ(chosen("huber", 3000), "nystrom:300");
  EXPECT_EQ(chosen("huber", 3001), "fourier:1000");
  FitOptions quantiles;
  quantiles.quantiles = {0.1, 0.9};
  EXPECT_EQ(chosen_map(quantiles, 500, 1), "nystrom:300");
}

// A map is only chosen where it can be built: has_one_scalar_kernel says what one_scalar_kernel accepts.
TEST(ChosenMap, NeverASketchOfAKernelThatHasNone) {
  const std::string a = "[[1,0.5],[0.5,1]]";
  for (const auto& [kernel, sketched] :
       {std::pair<std::string, bool>("gaussian(1) + linear()", true),
        {"decomposable(gaussian(1), " + a + ") + 2*decomposable(linear(), " + a + ")", true},
        {"decomposable(gaussian(1), " + a + ") + linear()", false},
        {"curl_free(gaussian(1))", false},
        {"gaussian(1) + divergence_free(gaussian(1))", false},
        {"helmholtz(gaussian(1), 0.5) + gaussian(1)", false}}) {
    EXPECT_EQ(chosen("huber", 500, kernel), sketched ? "nystrom:300" : "fourier:1000") << kernel;
    bool accepted = true;
    try {
      one_scalar_kernel(parse_kernel(kernel));
    } catch (const Error&) {
      accepted = false;
    }
    EXPECT_EQ(accepted, sketched) << kernel;
  }
}

}  // namespace
}  // namespace mercer
