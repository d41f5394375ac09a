// How the experiments choose length scales and penalties: the same search for every method that is compared.
#include "base/text.hpp"
#include "model/fit.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {

FitOptions plain_options(const std::string& kernel, const std::string& map, std::optional<double> penalty, std::uint64_t seed) {
  FitOptions options;
  options.kernel = kernel;
  options.map = map;
  options.penalty = penalty;
  options.seed = seed;
  options.standardize = false;
  options.uncertainty = "none";
  options.memory_bytes = Index{8} << 30;
  return options;
}

Matrix<double> predict(const Model& model, const Matrix<double>& x) {
  Matrix<double> mean(x.rows(), model.outputs());
  model.predict(x, mean);
  return mean;
}

Tuned tune(const Rows& train, const Rows& validation, const std::vector<std::string>& kernels, const std::vector<double>& penalties,
           const std::string& map, std::uint64_t seed) {
  std::optional<Tuned> best;
  double least = 0;
  for (const std::string& kernel : kernels) {
    ArrayRows source(train.x, train.y);
    FitOptions options = plain_options(kernel, map, {}, seed);
    const Recipe recipe = prepare(source, options);
    std::optional<RidgeStatistics> statistics;
    if (!recipe.exact) statistics = accumulate_recipe(source, recipe, nullptr);
    for (const double penalty : penalties) {
      options.penalty = penalty;
      Model model = statistics ? solve_statistics(recipe, *statistics, options) : fit_recipe(source, recipe, options);
      const double error = Scored(predict(model, validation.x), validation.y).mean_square();
      if (best && error >= least) continue;
      least = error;
      best = Tuned{std::move(model), kernel, penalty};
    }
  }
  return *best;
}

Tuned tune_exact(const Rows& train, const std::vector<std::string>& kernels, std::uint64_t seed) {
  std::optional<Tuned> best;
  double least = 0;
  for (const std::string& kernel : kernels) {
    ArrayRows source(train.x, train.y);
    Model model = fit(source, plain_options(kernel, "exact", {}, seed));
    const double error = *model.summary().leave_one_out_rmse;
    if (best && error >= least) continue;
    least = error;
    const double penalty = model.summary().penalty;
    best = Tuned{std::move(model), kernel, penalty};
  }
  return *best;
}

std::string independent(double length_scale) { return "decomposable(gaussian(" + shortest(length_scale) + "), identity)"; }

std::string curl_free(double length_scale) {
  return shortest(length_scale * length_scale) + "*curl_free(gaussian(" + shortest(length_scale) + "))";
}

std::string divergence_free(double length_scale, Index d) {
  return shortest(length_scale * length_scale / static_cast<double>(d - 1)) + "*divergence_free(gaussian(" + shortest(length_scale) + "))";
}

std::string helmholtz(double length_scale, double share, Index d) {
  const double diagonal = share + (1 - share) * static_cast<double>(d - 1);
  return shortest(length_scale * length_scale / diagonal) + "*helmholtz(gaussian(" + shortest(length_scale) + "), " + shortest(share) + ")";
}

}  // namespace mercer::cli::reproduce
