#include "model/process_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fail.hpp"
#include "map/anchor_map.hpp"
#include "model/kernel_process_file.hpp"
#include "model/packed.hpp"

namespace mercer {
namespace {

using nlohmann::json;

constexpr Index step_numbers = 6;
constexpr Index most_parts = 10000;

void write_draw(const SpectralDraw& draw, const std::string& prefix, TensorFile& file) {
  file.add(prefix + "frequencies", draw.process.frequencies.view());
  file.add(prefix + "amplitudes", draw.process.amplitudes);
  file.add(prefix + "weights", draw.weights.view());
  for (std::size_t a = 0; a < draw.factors.size(); ++a)
    file.add(prefix + "factor." + std::to_string(a), packed(draw.factors[a]));
}

SpectralDraw read_draw(const TensorFile& file, const std::string& prefix, const std::string& path,
                       const SpectralParameters& parameters) {
  SpectralDraw draw;
  SpectralPoints none;
  none.epsilon = Matrix<double>(0, parameters.mixture.inputs());
  draw.process = process_of(parameters, none);  // noise, mean and coupling; the points come from the file
  draw.process.frequencies = file.matrix(prefix + "frequencies", -1, parameters.mixture.inputs());
  const Index m = draw.process.frequencies.rows();
  if (m < 1) fail_file(path + ": a spectrum in it has no points");
  draw.process.amplitudes = file.vector(prefix + "amplitudes", m);
  const Index p = parameters.factor.rows();
  draw.weights = file.matrix(prefix + "weights", 2 * m, p);
  for (Index a = 0; a < p; ++a) {
    draw.factors.push_back(unpacked(file.vector(prefix + "factor." + std::to_string(a)), path));
    if (draw.factors.back().rows() != 2 * m) fail_file(path + ": a factor in it has the wrong size");
    check_diagonal(draw.factors.back(), path);
  }
  return draw;
}

void write_part(const SpectralPart& part, const std::string& prefix, json& j, TensorFile& file) {
  const SpectralParameters& s = part.parameters;
  j.push_back({{"noise", s.noise}, {"envelope", to_string(s.mixture.envelope)}, {"draws", part.posterior.draws().size()}});
  file.add(prefix + "weights", s.mixture.weights);
  file.add(prefix + "means", s.mixture.means.view());
  file.add(prefix + "scales", s.mixture.scales.view());
  file.add(prefix + "mean", s.mean.view());
  file.add(prefix + "coupling", s.factor.view());
  file.add(prefix + "shares", std::vector<double>(part.shares.begin(), part.shares.end()));
  for (std::size_t k = 0; k < part.posterior.draws().size(); ++k)
    write_draw(part.posterior.draws()[k], prefix + std::to_string(k) + ".", file);
}

void check_positive(std::span<const double> values, const std::string& path) {
  if (std::ranges::any_of(values, [](double v) { return !(v > 0); }))
    fail_file(path + ": a number of its spectrum is not positive");
}

SpectralPart read_part(const json& j, const TensorFile& file, const std::string& prefix, const std::string& path,
                       Index inputs) {
  SpectralPart part;
  SpectralParameters& s = part.parameters;
  s.noise = j.at("noise").get<double>();
  if (!(s.noise > 0)) fail_file(path + ": a noise in it is not positive");
  s.mixture.envelope = one_scalar_kernel(parse_kernel(j.at("envelope").get<std::string>()));
  s.mixture.weights = file.vector(prefix + "weights");
  const Index q = s.mixture.components();
  if (q < 1) fail_file(path + ": a spectrum in it has no components");
  s.mixture.means = file.matrix(prefix + "means", q, inputs);
  s.mixture.scales = file.matrix(prefix + "scales", q, inputs);
  check_positive(s.mixture.weights, path);
  check_positive(s.mixture.scales.values(), path);
  s.factor = file.matrix(prefix + "coupling", -1, -1);
  if (s.factor.rows() < 1 || s.factor.rows() != s.factor.cols()) fail_file(path + ": its coupling is not square");
  s.mean = file.matrix(prefix + "mean", -1, s.factor.rows());
  if (s.mean.rows() > 1 && s.mean.rows() != 1 + inputs) fail_file(path + ": its mean does not fit its inputs");
  double points = 0;
  for (const double share : file.vector(prefix + "shares", q)) {
    if (!(share >= 1 && share <= 1e7)) fail_file(path + ": its points are not shared out properly");
    part.shares.push_back(static_cast<Index>(share));
    points += share;
  }
  const auto draws = j.at("draws").get<Index>();
  if (draws < 1 || draws > most_parts) fail_file(path + ": it has no draws of its points");
  std::vector<SpectralDraw> read;
  for (Index k = 0; k < draws; ++k) {
    read.push_back(read_draw(file, prefix + std::to_string(k) + ".", path, s));
    if (static_cast<double>(read.back().process.frequencies.rows()) != points)
      fail_file(path + ": its points are not shared out properly");
  }
  part.posterior = SpectralPosterior(std::move(read));
  return part;
}

std::string prefix_of(const std::string& what, std::size_t part) {
  return what + "." + std::to_string(part) + ".";
}

/// The steps of all trainings one under the other, and how many each has.
void write_training(const std::vector<std::vector<TrainingStep>>& training, json& j, TensorFile& file) {
  json counts = json::array();
  Index all = 0;
  for (const auto& steps : training) {
    counts.push_back(steps.size());
    all += std::ssize(steps);
  }
  Matrix<double> table(all, step_numbers);
  Index i = 0;
  for (const auto& steps : training) {
    for (const TrainingStep& step : steps) {
      const bool validated = !std::isnan(step.rmse);  // files of ours hold no NaN: an error of -1 says that there was none
      const std::array<double, step_numbers> row = {static_cast<double>(step.iteration),
                                                    step.seconds,
                                                    step.nlml,
                                                    step.objective,
                                                    validated ? step.rmse : -1,
                                                    validated ? step.mnll : 0};
      std::ranges::copy(row, table.row(i++).begin());
    }
  }
  j["training_steps"] = counts;
  file.add("training", table.view());
}

TrainingStep step_of(std::span<const double> row) {
  const double missing = std::numeric_limits<double>::quiet_NaN();
  const bool validated = row[4] >= 0;
  return {static_cast<int>(std::clamp(row[0], 0.0, 1e9)),
          row[1],
          row[2],
          row[3],
          validated ? row[4] : missing,
          validated ? row[5] : missing};
}

/// `parts`: how many trainings there can be. Files from before trainings of several outputs were kept do not say how many
/// steps each has: they hold one.
std::vector<std::vector<TrainingStep>> read_training(const json& j, const TensorFile& file, const std::string& path,
                                                     std::size_t parts) {
  const Matrix<double> table = file.matrix("training", -1, step_numbers);
  const json counts = j.value("training_steps", json::array({table.rows()}));
  if (!counts.is_array() || (counts.size() != 1 && counts.size() != parts)) fail_file(path + ": its training is malformed");
  std::vector<std::vector<TrainingStep>> training;
  Index i = 0;
  for (const json& entry : counts) {
    const auto count = entry.get<Index>();
    if (count < 0 || count > table.rows() - i) fail_file(path + ": its training is malformed");
    training.emplace_back();
    for (const Index end = i + count; i < end; ++i) training.back().push_back(step_of(table.row(i)));
  }
  if (i != table.rows()) fail_file(path + ": its training is malformed");
  return training;
}

const json& parts_of(const json& j, const std::string& path) {
  if (!j.is_array() || static_cast<Index>(j.size()) > most_parts) fail_file(path + ": its spectra are malformed");
  return j;
}

}  // namespace

void write_process(const Model::State& state, json& j, TensorFile& file) {
  if (state.summary.process.empty()) return;
  j["spectra"] = json::array();
  for (std::size_t i = 0; i < state.spectral.size(); ++i)
    write_part(state.spectral[i], prefix_of("spectrum", i), j["spectra"], file);
  j["processes"] = json::array();
  for (std::size_t i = 0; i < state.kernel_processes.size(); ++i)
    j["processes"].push_back(write_kernel_process(state.kernel_processes[i], prefix_of("process", i), file));
  write_training(state.training, j, file);
}

void read_process(const json& j, const TensorFile& file, const std::string& path, Model::State& state) {
  if (!j.contains("spectra")) return;
  const json& spectra = parts_of(j.at("spectra"), path);
  const json none = json::array();
  const json& processes = j.contains("processes") ? parts_of(j.at("processes"), path) : none;
  Index outputs = 0;
  for (std::size_t i = 0; i < spectra.size(); ++i) {
    state.spectral.push_back(read_part(spectra[i], file, prefix_of("spectrum", i), path, state.recipe.inputs()));
    outputs += state.spectral.back().posterior.outputs();
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    state.kernel_processes.push_back(
        read_kernel_process(processes[i], file, prefix_of("process", i), path, state.recipe.inputs()));
    outputs += state.kernel_processes.back().outputs();
  }
  if (!state.is_process())
    fail_file(path + ": its process was written by an older Mercer, which kept it in another form; fit it again");
  if (outputs != state.recipe.outputs()) fail_file(path + ": its spectra do not fit its outputs");
  state.training = read_training(j, file, path, spectra.size() + processes.size());
}

}  // namespace mercer
