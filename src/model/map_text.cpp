// --map as text: exact, Fourier maps and sketches.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "model/recipe.hpp"

namespace mercer {
namespace {

/// A map as it is written: name:count,option,…
struct MapWords {
  std::string text;  ///< all of it, for messages
  std::string name;
  std::string count;  ///< "" when there is no colon
  bool counted = false;
  std::vector<std::string> options;
};

constexpr const char* fourier_form = "fourier:D[,mc|orthogonal|qmc], e.g. fourier:1000";
constexpr double most_frequencies = 1 << 22;
constexpr double most_sketch = 1 << 16;

[[noreturn]] void refuse(const MapWords& words, const std::string& what, const std::string& form) {
  fail_argument("map " + mercer::quoted(words.text) + ": " + what + "; write " + form);
}

Index whole_number(const MapWords& words, const std::string& text, const std::string& what, double most,
                   const std::string& form) {
  double value = 0;
  if (!parse_number(text, value) || !(value >= 1 && value <= most) || value != std::floor(value))
    refuse(words, "the " + what + " must be a whole number from 1 to " + shortest(most), form);
  return static_cast<Index>(value);
}

void parse_fourier(const MapWords& words, FourierRecipe& fourier) {
  if (words.counted)
    fourier.frequencies = whole_number(words, words.count, "number of frequencies", most_frequencies, fourier_form);
  if (words.options.size() > 1) refuse(words, "it has too many parts", fourier_form);
  if (words.options.empty()) return;
  const std::string& sampling = words.options.front();
  if (sampling == "mc") {
    fourier.sampling = Sampling::monte_carlo;
  } else if (sampling == "orthogonal") {
    fourier.sampling = Sampling::orthogonal;
  } else if (sampling == "qmc") {
    fourier.sampling = Sampling::quasi;
  } else {
    refuse(words, "unknown sampling " + mercer::quoted(sampling) + did_you_mean(sampling, {"mc", "orthogonal", "qmc"}),
           fourier_form);
  }
}

struct SketchName {
  const char* name;
  SketchLaw law;
  const char* form;  ///< how it is written
};
constexpr SketchName sketch_names[] = {
    {"p-sr", SketchLaw::p_sr, "p-sr:SIZE[,p=P] with P a number or 20/n, e.g. p-sr:200 or p-sr:200,p=0.01"},
    {"p-sg", SketchLaw::p_sg, "p-sg:SIZE[,p=P] with P a number or 20/n, e.g. p-sg:200 or p-sg:200,p=0.01"},
    {"nystrom", SketchLaw::nystrom, "nystrom:SIZE[,leverage|,rpcholesky], e.g. nystrom:200"},
    {"accumulation", SketchLaw::accumulation, "accumulation:SIZE[,m=M], e.g. accumulation:200,m=20"},
    {"gaussian-sketch", SketchLaw::gaussian, "gaussian-sketch:SIZE, e.g. gaussian-sketch:100"},
    {"countsketch", SketchLaw::count, "countsketch:SIZE, e.g. countsketch:200"},
    {"srht", SketchLaw::hadamard, "srht:SIZE, e.g. srht:200"},
};

/// "key=value" with this key: the value.
std::optional<std::string> value_of(const std::string& option, const std::string& key) {
  if (!option.starts_with(key + "=")) return {};
  return option.substr(key.size() + 1);
}

/// "0.01" or "20/n".
void parse_density(const MapWords& words, const std::string& text, const std::string& form, SketchRecipe& sketch) {
  sketch.density_over_rows = text.ends_with("/n");
  const std::string number = sketch.density_over_rows ? text.substr(0, text.size() - 2) : text;
  if (!parse_number(number, sketch.density) || !(sketch.density > 0) || !std::isfinite(sketch.density))
    refuse(words, "p is " + mercer::quoted(text) + ", not a positive number or a number over n", form);
  if (!sketch.density_over_rows && sketch.density > 1) refuse(words, "p is a probability, so at most 1, got " + text, form);
}

void parse_sketch(const MapWords& words, const SketchName& known, SketchRecipe& sketch) {
  const std::string form = known.form;
  sketch.law = known.law;
  if (words.counted) sketch.size = whole_number(words, words.count, "size of the sketch", most_sketch, form);
  if (words.options.size() > 1) refuse(words, "it has too many parts", form);
  if (words.options.empty()) return;
  const std::string& option = words.options.front();
  const bool sparsified = known.law == SketchLaw::p_sr || known.law == SketchLaw::p_sg;
  if (const auto density = value_of(option, "p"); density && sparsified) {
    parse_density(words, *density, form, sketch);
  } else if (const auto terms = value_of(option, "m"); terms && known.law == SketchLaw::accumulation) {
    sketch.terms = whole_number(words, *terms, "number m of rows in a sum", most_sketch, form);
  } else if (known.law == SketchLaw::nystrom && option == "leverage") {
    sketch.law = SketchLaw::leverage;
  } else if (known.law == SketchLaw::nystrom && option == "rpcholesky") {
    sketch.law = SketchLaw::rp_cholesky;
  } else if (known.law != SketchLaw::nystrom || option != "uniform") {
    const std::vector<std::string> options =
        known.law == SketchLaw::nystrom ? std::vector<std::string>{"leverage", "rpcholesky"} : std::vector<std::string>{};
    refuse(words, "unknown part " + mercer::quoted(option) + did_you_mean(option, options), form);
  }
}

std::string sketch_text(const SketchRecipe& sketch) {
  const std::string size = std::to_string(sketch.size);
  switch (sketch.law) {
    case SketchLaw::p_sr:
    case SketchLaw::p_sg:
      return std::string(to_string(sketch.law)) + ":" + size + ",p=" + shortest(sketch.density) +
             (sketch.density_over_rows ? "/n" : "");
    case SketchLaw::accumulation:
      return "accumulation:" + size + ",m=" + std::to_string(sketch.terms);
    case SketchLaw::nystrom:
      return "nystrom:" + size;
    case SketchLaw::leverage:
    case SketchLaw::rp_cholesky:
      return "nystrom:" + size + "," + to_string(sketch.law);
    case SketchLaw::count:
    case SketchLaw::gaussian:
    case SketchLaw::hadamard:
      break;
  }
  return std::string(to_string(sketch.law)) + ":" + size;
}

std::string fourier_text(const FourierRecipe& fourier) {
  std::string text = "fourier:" + std::to_string(fourier.frequencies);
  switch (fourier.sampling) {
    case Sampling::monte_carlo:
      return text + ",mc";
    case Sampling::orthogonal:
      return text + ",orthogonal";
    case Sampling::quasi:
      return text + ",qmc";
    case Sampling::automatic:
      break;
  }
  return text;
}

}  // namespace

std::string Recipe::map_text() const {
  switch (map) {
    case MapKind::exact:
      return "exact";
    case MapKind::fourier:
      return fourier_text(fourier);
    case MapKind::sketch:
      break;
  }
  return sketch_text(sketch);
}

void parse_map(const std::string& text, Recipe& recipe) {
  MapWords words;
  words.text = text;
  const std::size_t end = text.find_first_of(":,");
  words.name = text.substr(0, end);
  words.counted = end != std::string::npos && text[end] == ':';
  if (end != std::string::npos) words.options = split(text.substr(end + 1), ',');
  if (words.counted) {
    words.count = words.options.front();
    words.options.erase(words.options.begin());
  }
  if (text == "exact") {
    recipe.map = MapKind::exact;
    return;
  }
  if (words.name == "fourier") {
    recipe.map = MapKind::fourier;
    parse_fourier(words, recipe.fourier);
    return;
  }
  std::vector<std::string> names = {"fourier", "exact"};
  std::string sketches;
  for (const SketchName& known : sketch_names) {
    if (words.name == known.name) {
      recipe.map = MapKind::sketch;
      parse_sketch(words, known, recipe.sketch);
      return;
    }
    names.emplace_back(known.name);
    sketches += std::string(sketches.empty() ? "" : ", ") + known.name + ":SIZE";
  }
  fail_argument("unknown map " + mercer::quoted(text) + did_you_mean(words.name, names) +
                "; a map is exact, fourier:D[,mc|orthogonal|qmc], or a sketch: " + sketches +
                "; e.g. fourier:1000 or p-sr:200");
}

}  // namespace mercer
