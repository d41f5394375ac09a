// How the experiments choose length scales and penalties: the same search for every method that is compared.
#include <limits>

#include "base/text.hpp"
#include "model/fit.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {

FitOptions plain_options(const std::string& kernel, const std::string& map, std::optional<double> penalty,
                         std::uint64_t seed) {
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

Model fit_plain(const Rows& rows, const std::string& kernel, const std::string& map, std::optional<double> penalty,
                std::uint64_t seed) {
  ArrayRows source(rows.x, rows.y);
  return fit(source, plain_options(kernel, map, penalty, seed));
}

namespace {

/// Adds the squared error on the validation rows at each penalty to `errors`.
void add_errors(const Split& split, const std::string& kernel, const std::vector<double>& penalties, const std::string& map,
                std::uint64_t seed, std::vector<double>& errors) {
  ArrayRows source(split.train.x, split.train.y);
  FitOptions options = plain_options(kernel, map, {}, seed);
  const Recipe recipe = prepare(source, options);
  std::optional<RidgeStatistics> statistics;
  if (recipe.map == MapKind::fourier) statistics = accumulate_recipe(source, recipe, nullptr);
  for (std::size_t k = 0; k < penalties.size(); ++k) {
    options.penalty = penalties[k];
    const Model model = statistics ? solve_statistics(recipe, *statistics, options) : fit_recipe(source, recipe, options);
    const Scored scored(predict(model, split.validation.x), split.validation.y);
    errors[k] += static_cast<double>(split.validation.x.rows()) * scored.mean_square();
  }
}

}  // namespace

Choice choose(const std::vector<Split>& splits, const std::vector<std::string>& kernels,
              const std::vector<double>& penalties, const std::string& map, std::uint64_t seed) {
  Choice best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& kernel : kernels) {
    std::vector<double> errors(penalties.size(), 0.0);
    for (const Split& split : splits) add_errors(split, kernel, penalties, map, seed, errors);
    for (std::size_t k = 0; k < penalties.size(); ++k) {
      if (errors[k] >= least) continue;
      least = errors[k];
      best = {kernel, penalties[k]};
    }
  }
  return best;
}

std::string independent(double length_scale) {
  return "decomposable(gaussian(" + shortest(length_scale) + "), identity)";
}

std::string curl_free(double length_scale) {
  return shortest(length_scale * length_scale) + "*curl_free(gaussian(" + shortest(length_scale) + "))";
}

std::string divergence_free(double length_scale, Index d) {
  return shortest(length_scale * length_scale / static_cast<double>(d - 1)) + "*divergence_free(gaussian(" +
         shortest(length_scale) + "))";
}

std::string helmholtz(double length_scale, double share, Index d) {
  const double diagonal = share + (1 - share) * static_cast<double>(d - 1);
  return shortest(length_scale * length_scale / diagonal) + "*helmholtz(gaussian(" + shortest(length_scale) + "), " +
         shortest(share) + ")";
}

}  // namespace mercer::cli::reproduce
