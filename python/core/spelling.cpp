#include "spelling.hpp"

#include <cctype>
#include <regex>
#include <utility>
#include <vector>

namespace mercer::python {
namespace {

/// Replaced wherever it matches; rules are applied in their order, so the longer saying comes first.
struct Rule {
  std::regex pattern;
  std::string words;
};

class Rules {
 public:
  void phrase(const std::string& pattern, std::string words) {
    const char* edge = std::isalpha(static_cast<unsigned char>(pattern.front())) != 0 ? "\\b" : "\\B";  // no part of a word
    rules_.push_back({std::regex(edge + pattern + "(?![\\w-])"), std::move(words)});
  }
  /// `--option value` as keyword="value", of values that match; other words after the option are the sentence's.
  void text(const std::string& option, const std::string& keyword, const std::string& values) {
    phrase("--" + option + " (" + values + ") or (" + values + ")", keyword + "=\"$1\" or \"$2\"");
    phrase("--" + option + " (" + values + ")", keyword + "=\"$1\"");
    phrase("--" + option + " ('[^']*')", keyword + "=$1");
    phrase("--" + option, keyword);
  }
  /// `--option value` as keyword=value.
  void number(const std::string& option, const std::string& keyword) {
    phrase("--" + option + " (" + numeral + ")", keyword + "=$1");
    phrase("--" + option, keyword);
  }
  std::string operator()(std::string sentence) const {
    for (const Rule& rule : rules_) sentence = std::regex_replace(sentence, rule.pattern, rule.words);
    return sentence;
  }

  const std::string numeral = R"([-+]?\d[\d.]*(?:e[-+]?\d+)?)";

 private:
  std::vector<Rule> rules_;
};

Rules make_rules() {
  Rules r;
  // What other estimators do.
  const std::string numerals = r.numeral + "(?:," + r.numeral + ")*";
  r.phrase("score --rolling", "forecasts of rows held out at the end");
  r.phrase("--conformal (" + r.numeral + ") --split time", "ConformalRegressor(level=$1, time_order=True)");
  r.phrase("--conformal (" + r.numeral + ")", "ConformalRegressor(level=$1)");
  r.phrase("--conformal", "level");
  r.phrase("--split time", "time_order=True");
  r.phrase("--split", "time_order");
  r.phrase("--quantiles (" + numerals + ")", "KernelQuantileRegressor([$1])");
  r.phrase("--quantiles", "KernelQuantileRegressor");
  r.phrase("--classify", "KernelClassifier");
  r.phrase("--gp spectral_mixture", "SpectralMixtureGP");
  r.phrase("--gp vfe:(\\d+)", "ExactGP(inducing=$1)");
  r.phrase("--gp vfe", "ExactGP(inducing=300)");
  r.phrase("--gp exact", "ExactGP");
  r.phrase("--gp", "a Gaussian process");
  // What methods and functions do.
  r.phrase("--memory", "mercer.set_memory(…)");
  r.phrase("--threads", "mercer.set_threads(…)");
  r.phrase("--std", "return_std=True");
  r.phrase("--latent", "latent=True");
  r.phrase("--horizon (\\d+)", "forecast($1)");
  r.phrase("--horizon", "forecast");
  r.phrase("--samples", "sample_y");
  r.phrase("--weights", "sample_weight");
  // Parameters.
  r.phrase("--non-crossing", "non_crossing=True");
  r.phrase("--no-standardize", "standardize=False");
  r.phrase("--no-intercept", "intercept=False");
  r.phrase("--grid", "grid");
  r.phrase("--length-factors", "length_factors");
  r.text("map", "map", R"(exact|auto|[a-z][a-z-]*:\w+(?:,[\w=./]+)*)");
  r.text("solver", "solver", "auto|eigen|cholesky|refined|cg|sgd|admm|adam");
  r.text("uncertainty", "uncertainty", "auto|full|samples|none");
  r.text("precision", "precision", "auto|float32|float64");
  r.text("optimizer", "optimizer", "auto|adam|lbfgs");
  r.text("mean", "mean", "auto|none|constant|linear");
  r.text("outputs", "outputs", "independent|shared");
  r.text("kernel", "kernel", R"([a-z_]+(?:\([^()]*\)|:\d+))");
  r.text("loss", "loss", R"(square|[a-z]+2?:[\d.,]+|huber|epsilon2?|hinge|squared_hinge|logistic|multinomial)");
  r.number("penalty", "penalty");
  r.number("tolerance", "tolerance");
  r.number("steps", "steps");
  r.number("restarts", "restarts");
  r.number("posterior-draws", "posterior_draws");
  r.number("seed", "random_state");
  // What only the command line has: reading tables, searches, pictures, and settings that estimators do not show.
  r.phrase(
      "(--(?:target|inputs|rate|draws|parametrization|allocation|validation|trace|passes|missing|one-hot|dates|format|header"
      "|holdout|tune|folds|metric|penalties|loss-parameters|sizes|trials|results|like|plot|what|rolling|error|confidence"
      "|system|rows|quick|data|output|json|quiet))",
      "the command line's $1");
  return r;
}

}  // namespace

std::string in_python(std::string_view sentence) {
  if (sentence.find("--") == std::string_view::npos) return std::string(sentence);
  static const Rules rules = make_rules();
  return rules(std::string(sentence));
}

}  // namespace mercer::python
