// Model and statistics files: safetensors with the recipe as JSON in the metadata. Frequencies are not stored: they are
// drawn again from the recipe and compared with their fingerprint. Sketches are stored (sketch_file.cpp): they came from
// rows that are gone.
#include <mercer/model.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "kernel/spectral.hpp"
#include "model/model_file.hpp"
#include "model/packed.hpp"
#include "model/process_file.hpp"
#include "model/recipe_json.hpp"
#include "model/sketch_file.hpp"
#include "model/state.hpp"
#include "model/statistics_file.hpp"

namespace mercer {
namespace {

using nlohmann::json;

std::string text_of(const json& j) {
  try {
    return j.dump();
  } catch (const json::exception&) {
    fail_argument("a class or column name is not valid UTF-8, so it cannot be saved; convert the names");
  }
}

void write_posterior(const Posterior& posterior, json& j, TensorFile& file) {
  j["posterior"] = static_cast<int>(posterior.kind);
  j["ridge"] = posterior.ridge;
  j["intercept_variance"] = posterior.intercept_variance;
  if (posterior.kind == Posterior::Kind::none) return;
  file.add("posterior.mean_feature", posterior.mean_feature);
  if (posterior.kind == Posterior::Kind::cholesky) {
    file.add("posterior.factor", packed(posterior.factor));
  } else {
    file.add("posterior.factor", posterior.factor.view());
  }
  if (posterior.kind == Posterior::Kind::eigen) file.add("posterior.spectrum", posterior.spectrum);
}

Posterior read_posterior(const json& j, const TensorFile& file, const Coupling& coupling, const std::string& path) {
  Posterior posterior;
  const int kind = j.at("posterior").get<int>();
  if (kind < 0 || kind > static_cast<int>(Posterior::Kind::samples)) fail_file(path + ": unknown kind of posterior");
  posterior.kind = static_cast<Posterior::Kind>(kind);
  posterior.ridge = j.at("ridge").get<double>();
  posterior.intercept_variance = j.at("intercept_variance").get<double>();
  const Index columns = coupling.columns();
  if (posterior.kind == Posterior::Kind::none) return posterior;
  posterior.mean_feature = file.vector("posterior.mean_feature", columns);
  switch (posterior.kind) {
    case Posterior::Kind::cholesky: {
      posterior.factor = unpacked(file.vector("posterior.factor"), path);
      const Index size = coupling.is_constant() ? columns : coupling.parameters();
      if (posterior.factor.rows() != size) fail_file(path + ": the posterior has the wrong size");
      check_diagonal(posterior.factor, path);
      break;
    }
    case Posterior::Kind::eigen:
      if (!coupling.is_constant()) fail_file(path + ": this kind of posterior does not fit the kernel");
      posterior.factor = file.matrix("posterior.factor", columns, columns);
      posterior.spectrum = file.vector("posterior.spectrum", columns);
      break;
    case Posterior::Kind::samples:
      posterior.factor = file.matrix("posterior.factor", -1, columns);
      if (posterior.factor.rows() == 0 || posterior.factor.rows() % coupling.outputs() != 0) {
        fail_file(path + ": the posterior has the wrong size");
      }
      break;
    case Posterior::Kind::none:
      break;
  }
  return posterior;
}

std::string hexadecimal(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15U];
  return text;
}

/// A tiny file must not make the loader rebuild a huge table: at most 2²⁷ numbers (1 GB), and as many columns as it has
/// weights.
void check_map_size(const Recipe& recipe, const std::string& path) {
  constexpr Index most = Index{1} << 27;
  const Index numbers = is_vector_field(recipe.kernel) ? checked_product(recipe.inputs(), recipe.inputs()) : recipe.inputs();
  if (checked_product(recipe.fourier.frequencies, numbers) > most)
    fail_file(path + ": its frequency table would be larger than 1 GB");
}

/// False for linear() and polynomial(), whose features are all explicit: then the map draws nothing, whatever D it names.
bool draws_frequencies(const Recipe& recipe) {
  return std::ranges::any_of(recipe.kernel.terms, [&](const OperatorTerm& term) {
    const Kernel& kernel = std::visit([](const auto& form) -> const Kernel& { return form.kernel; }, term.form);
    return std::ranges::any_of(spectral_terms(kernel, recipe.inputs()), &SpectralTerm::has_frequencies);
  });
}

void check_fingerprint(const FeatureMap& map, const json& j, const std::string& path) {
  if (hexadecimal(map.fingerprint()) != j.at("fingerprint").get<std::string>()) {
    fail_file(path + ": the frequencies drawn here differ from those it was fitted with; fit it again with this version");
  }
}

/// The Fourier map of a recipe, once it is sure that it is no larger than the weights that go with it.
std::shared_ptr<const FeatureMap> drawn_again(const Recipe& recipe, Index weights, const std::string& path) {
  check_map_size(recipe, path);
  if (draws_frequencies(recipe) && recipe.fourier.frequencies > weights)
    fail_file(path + ": it has fewer weights than features");
  return std::make_shared<FourierMap>(recipe.kernel, recipe.inputs(), recipe.outputs(), recipe.fourier);
}

void write_exact(const Model::State& s, json& j, TensorFile& file) {
  file.add("anchors", s.problem->inputs.view());
  file.add("anchor_weights", s.problem->weights);
  file.add("coefficients", s.exact.coefficients.view());
  file.add("intercept", s.exact.intercept);
  j["ridge"] = s.exact.ridge;
  j["factors"] = s.exact.factors.size();
  for (std::size_t k = 0; k < s.exact.factors.size(); ++k)
    file.add("factor." + std::to_string(k), packed(s.exact.factors[k]));
}

void read_exact(const json& j, const TensorFile& file, const std::string& path, Model::State& s) {
  const Index p = s.recipe.outputs();
  ExactProblem problem;
  problem.kernel = s.recipe.kernel;
  problem.intercept = s.recipe.intercept;
  problem.inputs = file.matrix("anchors", -1, s.recipe.inputs());
  const Index n = problem.inputs.rows();
  if (n < 1) fail_file(path + ": it has no training rows");
  problem.weights = file.vector("anchor_weights", n);
  for (const double w : problem.weights) {
    if (!(w > 0)) fail_file(path + ": a weight in it is not positive");
  }
  problem.targets = Matrix<double>(0, p);
  s.exact.coefficients = file.matrix("coefficients", n, p);
  s.exact.intercept = file.vector("intercept", p);
  s.exact.ridge = j.at("ridge").get<double>();
  const auto count = j.at("factors").get<Index>();
  if (count != 0 && count != factor_count(s.recipe.kernel, p)) fail_file(path + ": it has the wrong number of factors");
  for (Index k = 0; k < count; ++k) {
    s.exact.factors.push_back(unpacked(file.vector("factor." + std::to_string(k)), path));
    const Index size = is_decomposable(s.recipe.kernel) ? n : checked_product(n, p);
    if (s.exact.factors.back().rows() != size) fail_file(path + ": a factor in it has the wrong size");
    check_diagonal(s.exact.factors.back(), path);
  }
  s.problem = std::move(problem);
}

void write_calibration(const Calibration& calibration, json& j, TensorFile& file) {
  j["calibration"] = {{"level", calibration.level}, {"rows", calibration.rows}, {"relative", calibration.relative}};
  file.add("calibration.offsets", calibration.offsets);
}

/// Files of models without intervals, old ones among them, have no such entry.
void read_calibration(const json& j, const TensorFile& file, const std::string& path, Model::State& s) {
  if (!j.contains("calibration")) return;
  const json& entry = j.at("calibration");
  Calibration calibration;
  calibration.level = entry.at("level").get<double>();
  calibration.rows = entry.at("rows").get<Index>();
  calibration.relative = entry.at("relative").get<bool>();
  calibration.offsets = file.vector("calibration.offsets", static_cast<Index>(s.recipe.scaling.target_shift.size()));
  if (!(calibration.level > 0 && calibration.level < 1) || calibration.rows < 1)
    fail_file(path + ": the level of its intervals is malformed");
  if (!s.recipe.classes.empty()) fail_file(path + ": it has intervals, and yet tells classes apart");
  const bool spread = s.is_process() || (s.problem ? s.exact.has_spread() : s.posterior.kind != Posterior::Kind::none);
  if (calibration.relative && (!spread || !s.recipe.levels.empty()))
    fail_file(path + ": its intervals need standard deviations that it does not keep");
  s.calibration = std::move(calibration);
}

TensorFile tensors_of(const Model::State& s) {
  TensorFile file;
  json j;
  write_recipe(s.recipe, j, file);
  file.add("noise", s.noise);
  write_process(s, j, file);
  if (s.problem) {
    write_exact(s, j, file);
  } else if (s.map) {
    j["fingerprint"] = hexadecimal(s.map->fingerprint());
    if (const auto* sketched = dynamic_cast<const AnchorMap*>(s.map.get())) write_sketch(*sketched, file);
    file.add("weights", s.weights.view());
    file.add("intercept", s.intercept);
    write_posterior(s.posterior, j, file);
  }
  if (s.calibration) write_calibration(*s.calibration, j, file);
  file.metadata["mercer.kind"] = "model";
  file.metadata["mercer.format"] = std::to_string(format_version);
  file.metadata["mercer.model"] = text_of(j);
  file.metadata["mercer.summary"] = text_of(to_json(s.summary));
  return file;
}

}  // namespace

void Model::save(const std::string& path) const {
  tensors_of(*state_).save(path);
}

std::vector<std::byte> Model::to_bytes() const {
  return tensors_of(*state_).to_bytes();
}

Model Model::from_bytes(std::span<const std::byte> bytes) {
  return read_model(TensorFile::parse(bytes, "these bytes"), "these bytes");
}

Model Model::load(const std::string& path) {
  return read_model(TensorFile::load(path), path);
}

Model read_model(const TensorFile& file, const std::string& path) {
  check_kind(file, "model", path);
  const json j = metadata_json(file, "mercer.model", path);
  auto state = std::make_shared<Model::State>();
  state->recipe = read_recipe(j, file, path);
  try {
    state->summary = summary_from_json(metadata_json(file, "mercer.summary", path));
    state->coding = state->recipe.coding();
    const Index p = state->recipe.outputs();
    state->noise = file.vector("noise", p);
    if (std::ranges::any_of(state->noise, [](double v) { return v < 0; }))
      fail_file(path + ": a variance in it is negative");
    read_process(j, file, path, *state);
    if (!state->is_process() && state->recipe.exact()) {
      read_exact(j, file, path, *state);
    } else if (!state->is_process()) {
      state->weights = file.matrix("weights", -1, p);
      state->map = state->recipe.map == MapKind::sketch ? read_sketch(state->recipe, file, path)
                                                        : drawn_again(state->recipe, state->weights.rows(), path);
      if (state->map->columns() != state->weights.rows()) fail_file(path + ": its weights do not fit its map");
      check_fingerprint(*state->map, j, path);
      state->intercept = file.vector("intercept", p);
      state->posterior = read_posterior(j, file, state->map->coupling(), path);
    }
    read_calibration(j, file, path, *state);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    fail_file(path + ": what is inside is malformed (" + mercer::quoted(e.what()) + ")");
  }
  return Model(std::move(state));
}

void save_statistics(const std::string& path, const Recipe& recipe, const RidgeStatistics& statistics) {
  TensorFile file;
  json j;
  write_recipe(recipe, j, file);
  j["rows"] = statistics.rows;
  j["columns"] = statistics.columns;
  file.add("moments", packed(statistics.moments));
  file.add_bytes("blocks", std::as_bytes(std::span(statistics.blocks)));
  file.metadata["mercer.kind"] = "statistics";
  file.metadata["mercer.format"] = std::to_string(format_version);
  file.metadata["mercer.model"] = text_of(j);
  file.save(path);
}

StatisticsFile load_statistics(const std::string& path) {
  const TensorFile file = TensorFile::load(path);
  check_kind(file, "statistics", path);
  const json j = metadata_json(file, "mercer.model", path);
  StatisticsFile result;
  result.recipe = read_recipe(j, file, path);
  try {
    if (result.recipe.map != MapKind::fourier) fail_file(path + ": statistics belong to a Fourier map, and it has another");
    check_map_size(result.recipe, path);
    RidgeStatistics& s = result.statistics;
    s.rows = j.at("rows").get<Index>();
    s.columns = j.at("columns").get<Index>();
    s.outputs = result.recipe.outputs();
    s.moments = unpacked(file.vector("moments"), path);
    if (s.columns < 1 || s.moments.rows() != s.columns + 1 + s.outputs) fail_file(path + ": its sizes disagree");
    const auto bytes = file.bytes("blocks");
    s.blocks.resize(bytes.size() / sizeof(std::uint64_t));
    std::memcpy(s.blocks.data(), bytes.data(), s.blocks.size() * sizeof(std::uint64_t));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    fail_file(path + ": what is inside is malformed (" + mercer::quoted(e.what()) + ")");
  }
  return result;
}

bool same_recipe(const Recipe& a, const Recipe& b) {
  const auto text = [](const Recipe& r) {
    TensorFile ignored;
    json j;
    write_recipe(r, j, ignored);
    j["scaling"] = {r.scaling.input_shift, r.scaling.input_scale, r.scaling.target_shift, r.scaling.target_scale};
    return text_of(j);
  };
  return text(a) == text(b);
}

}  // namespace mercer
