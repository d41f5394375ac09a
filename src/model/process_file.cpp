#include "model/process_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/fail.hpp"
#include "map/anchor_map.hpp"
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

std::string prefix_of(std::size_t part) {
  return "spectrum." + std::to_string(part) + ".";
}

}  // namespace

void write_process(const Model::State& state, json& j, TensorFile& file) {
  if (state.summary.process.empty()) return;
  json parts = json::array();
  for (std::size_t i = 0; i < state.spectral.size(); ++i) write_part(state.spectral[i], prefix_of(i), parts, file);
  j["spectra"] = parts;
  j["completes_prior"] = state.completes_prior;
  if (!state.trend.empty()) file.add("trend", state.trend.view());
  Matrix<double> steps(static_cast<Index>(state.training.size()), step_numbers);
  for (Index i = 0; i < steps.rows(); ++i) {
    const TrainingStep& step = state.training[static_cast<std::size_t>(i)];
    const bool validated = !std::isnan(step.rmse);  // files of ours hold no NaN: an error of -1 says that there was none
    const std::array<double, step_numbers> row = {static_cast<double>(step.iteration),
                                                  step.seconds,
                                                  step.nlml,
                                                  step.objective,
                                                  validated ? step.rmse : -1,
                                                  validated ? step.mnll : 0};
    std::ranges::copy(row, steps.row(i).begin());
  }
  file.add("training", steps.view());
}

void read_process(const json& j, const TensorFile& file, const std::string& path, Model::State& state) {
  if (!j.contains("spectra")) return;
  const json& parts = j.at("spectra");
  if (!parts.is_array() || static_cast<Index>(parts.size()) > most_parts) fail_file(path + ": its spectra are malformed");
  Index outputs = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    state.spectral.push_back(read_part(parts[i], file, prefix_of(i), path, state.recipe.inputs()));
    outputs += state.spectral.back().posterior.outputs();
  }
  if (!parts.empty() && outputs != state.recipe.outputs()) fail_file(path + ": its spectra do not fit its outputs");
  state.completes_prior = j.at("completes_prior").get<bool>();
  if (file.has("trend")) state.trend = file.matrix("trend", state.recipe.inputs(), state.recipe.outputs());
  const Matrix<double> steps = file.matrix("training", -1, step_numbers);
  for (Index i = 0; i < steps.rows(); ++i) {
    const double missing = std::numeric_limits<double>::quiet_NaN();
    const bool validated = steps(i, 4) >= 0;
    state.training.push_back({static_cast<int>(std::clamp(steps(i, 0), 0.0, 1e9)), steps(i, 1), steps(i, 2), steps(i, 3),
                              validated ? steps(i, 4) : missing, validated ? steps(i, 5) : missing});
  }
}

}  // namespace mercer
