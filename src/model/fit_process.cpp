#include "model/fit_process.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "model/fit_kernel_process.hpp"
#include "model/fit_spectral.hpp"
#include "model/process_text.hpp"

namespace mercer {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

Gathered gather(RowSource& rows, Index most_bytes) {
  const Index n = rows.row_count();
  const double bytes = 8.0 * static_cast<double>(n) * static_cast<double>(rows.input_count() + 2 * rows.target_count());
  if (bytes > static_cast<double>(most_bytes)) {
    fail_argument("the rows of a Gaussian process stay in memory: they need " + human_bytes(bytes) +
                  ", more than the budget; raise --memory");
  }
  Gathered all{Matrix<double>(n, rows.input_count()), Matrix<double>(n, rows.target_count())};
  RowBlock block;
  rows.rewind();
  while (rows.next(4096, block)) {
    if (!block.weights.empty() && std::ranges::any_of(block.weights, [](double w) { return w != 1; }))
      fail_argument("row weights do not go with --gp; repeat rows instead");
    for (Index i = 0; i < block.rows(); ++i) {
      std::ranges::copy(block.inputs.row(i), all.x.row(block.first_row + i).begin());
      std::ranges::copy(block.targets.row(i), all.y.row(block.first_row + i).begin());
    }
  }
  return all;
}

void refuse_constant_targets(const Matrix<double>& y, const FitOptions& options) {
  for (Index a = 0; a < y.cols() && y.rows() > 1; ++a) {
    bool varies = false;
    for (Index i = 1; i < y.rows(); ++i) varies = varies || y(i, a) != y(0, a);
    if (varies) continue;
    const std::string name = at(a) < options.target_names.size() ? " " + mercer::quoted(options.target_names[at(a)]) : "";
    fail_argument("the target" + name + " has the same value in every row: a Gaussian process has nothing to learn from it");
  }
}

}  // namespace

void fit_process(RowSource& rows, const FitOptions& options, Model::State& state) {
  const ProcessPlan plan = process_plan(options);
  const Stopwatch watch;
  const Gathered all = gather(rows, options.memory_bytes / 2);
  refuse_constant_targets(all.y, options);
  if (all.x.rows() < 2) fail_argument("a Gaussian process needs at least 2 rows, got " + std::to_string(all.x.rows()));
  switch (plan.kind) {
    case ProcessKind::spectral_mixture:
      fit_spectral(all, plan, options, state);
      break;
    case ProcessKind::exact:
    case ProcessKind::variational:
      fit_kernel_process(all, plan, options, state);
      break;
  }
  FitSummary& summary = state.summary;
  summary.rows = all.x.rows();
  summary.weight = static_cast<double>(all.x.rows());
  summary.kernel = to_string(state.recipe.kernel);
  summary.seconds["train"] = watch.seconds();
}

Model conditioned_on(const Model& model, RowSource& raw_rows, Index memory_bytes) {
  auto state = std::make_shared<Model::State>(model.state());
  ScaledRows rows(raw_rows, state->recipe.scaling, state->coding);
  const Gathered all = gather(rows, memory_bytes / 2);
  state->summary.rows = all.x.rows();
  Index first = 0;
  const auto targets = [&](Index outputs) {
    const Matrix<double> own(all.y.view().col_range(first, outputs));
    first += outputs;
    return own;
  };
  for (SpectralPart& part : state->spectral)
    part.posterior = part.posterior.conditioned_on(all.x, targets(part.posterior.outputs()), memory_bytes / 4);
  for (KernelPosterior& part : state->kernel_processes) part = part.conditioned_on(all.x, targets(part.outputs()));
  return Model(std::move(state));
}

}  // namespace mercer
