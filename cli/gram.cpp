#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/matrix.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/resolve.hpp"
#include "map/feature_map.hpp"
#include "model/build_map.hpp"
#include "model/recipe.hpp"
#include "table_writer.hpp"

namespace mercer::cli {
namespace {

Matrix<double> read_inputs(const std::string& path, const Arguments& a) {
  DatasetOptions options = dataset_options(a);
  const auto data = open_dataset({path}, options);
  Matrix<double> x(data->row_count(), data->input_count());
  RowBlock block;
  data->rewind();
  while (data->next(4096, block)) {
    for (Index i = 0; i < block.rows(); ++i) std::ranges::copy(block.inputs.row(i), x.row(block.first_row + i).begin());
  }
  return x;
}

/// p of a kernel without targets: d for fields, the size of A for matrices, else 1.
Index outputs_of(const OperatorKernel& kernel, Index inputs) {
  if (is_vector_field(kernel)) return inputs;
  for (const OperatorTerm& term : kernel.terms) {
    const auto& outputs = std::get<Decomposable>(term.form).outputs;
    if (const auto* given = std::get_if<GivenOutputs>(&outputs)) return static_cast<Index>(given->matrix.size());
    if (const auto* quantile = std::get_if<QuantileOutputs>(&outputs)) return static_cast<Index>(quantile->levels.size());
    if (std::holds_alternative<CovarianceOutputs>(outputs) || std::holds_alternative<GraphOutputs>(outputs)) {
      fail_argument("mercer gram has no targets to take a covariance or a graph from; give the output matrix as numbers");
    }
  }
  return 1;
}

/// The columns are k0, k1, …. Devices and pipes get NPY.
TableWriter matrix_writer(const std::string& path, Index rows, Index cols) {
  std::vector<std::string> header;
  for (Index j = 0; j < cols; ++j) header.push_back("k" + std::to_string(j));
  return {path, path.ends_with(".csv") ? TableWriter::Form::csv : TableWriter::Form::npy, header, rows};
}

void check_matrix_name(const Arguments& a) {
  if (!a.has("output")) fail_argument("mercer gram needs -o FILE.npy or FILE.csv");
  const std::string path = a.text("output");
  std::error_code ignored;
  const bool special = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored) &&
                       !std::filesystem::is_directory(path, ignored);
  if (!special && !path.ends_with(".npy") && !path.ends_with(".csv"))
    fail_argument("mercer gram writes NPY or CSV by the name of the file: end -o " + mercer::quoted(path) +
                  " in .npy or .csv");
}

/// Φ(x)ᵀΦ(z) for a block of rows: φ scaled by each column's A = BBᵀ.
void approximate_block(const FeatureMap& map, const Matrix<double>& phi_x, const Matrix<double>& dense_z, MutMatrix out) {
  const Index p = map.outputs();
  Matrix<double> dense_x(phi_x.rows() * p, map.coupling().parameters());
  map.coupling().dense_rows(phi_x, dense_x);
  gemm<double>(false, true, 1.0, dense_x, dense_z, 0.0, out);
}

}  // namespace

int run_gram(const Arguments& a) {
  const Console console(a);
  TerminalProgress progress(a.flag("quiet"));
  check_matrix_name(a);
  const Matrix<double> x = read_inputs(a.files.front(), a);
  const Matrix<double> z = a.files.size() > 1 ? read_inputs(a.files[1], a) : x;
  if (x.cols() != z.cols())
    fail_argument(a.files.front() + " has " + std::to_string(x.cols()) + " inputs and " + a.files[1] + " has " +
                  std::to_string(z.cols()));
  Recipe recipe;
  recipe.map = MapKind::exact;
  if (a.has("map")) parse_map(a.text("map"), recipe);
  recipe.set_seed(static_cast<std::uint64_t>(a.integer("seed", 0)));

  const OperatorKernel kernel = parse_kernel(a.text("kernel"));
  DataFacts facts;
  facts.inputs = x.cols();
  facts.outputs = outputs_of(kernel, x.cols());
  if (needs_median(kernel)) {
    ArrayRows rows(x);
    facts.median_distance = median_distance(summarize(rows, nullptr), Scaling::identity(x.cols(), 0));
  }
  const OperatorKernel resolved = resolve(kernel, facts);
  const Index p = facts.outputs;
  const Index block = std::max<Index>(1, (Index{1} << 23) / checked_product(z.rows(), p, p));
  TableWriter out = matrix_writer(a.text("output"), checked_product(x.rows(), p), checked_product(z.rows(), p));
  std::shared_ptr<const FeatureMap> map;
  Matrix<double> dense_z;
  if (!recipe.exact()) {
    recipe.kernel = resolved;
    recipe.scaling = Scaling::identity(x.cols(), p);
    FitOptions options;
    options.memory_bytes = a.bytes("memory");
    options.progress = &progress;
    ArrayRows rows(x);  // a sketch draws its anchors from the first file
    std::vector<std::string> notes;
    map = build_map(recipe, rows, options, notes);
    for (const std::string& note : notes) console.say("note: " + note);
    Matrix<double> phi(z.rows(), map->columns());
    map->features(z, phi);
    dense_z = Matrix<double>(z.rows() * p, map->coupling().parameters());
    map->coupling().dense_rows(phi, dense_z);
  }
  for (Index first = 0; first < x.rows(); first += block) {
    report(&progress, "Gram matrix", static_cast<double>(first) / static_cast<double>(x.rows()));
    const Index count = std::min(block, x.rows() - first);
    const ConstMatrix rows = x.view().row_range(first, count);
    Matrix<double> part(count * p, z.rows() * p);
    if (map) {
      Matrix<double> phi(count, map->columns());
      map->features(rows, phi);
      approximate_block(*map, phi, dense_z, part);
    } else {
      gram(resolved, rows, z, p, part);
    }
    out.append(part);
  }
  out.commit();
  console.say("wrote " + a.text("output") + ": " + std::to_string(x.rows() * p) + " x " + std::to_string(z.rows() * p) +
              " values of " + to_string(resolved) + (recipe.exact() ? ", exact" : ", by " + recipe.map_text()));
  console.emit({{"rows", x.rows() * p},
                {"cols", z.rows() * p},
                {"kernel", to_string(resolved)},
                {"map", recipe.map_text()},
                {"gram", a.text("output")}});
  return 0;
}

}  // namespace mercer::cli
