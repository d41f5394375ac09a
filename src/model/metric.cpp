#include "model/metric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer {
namespace {

constexpr std::array<std::pair<Metric, const char*>, 6> names = {{{Metric::rmse, "rmse"},
                                                                  {Metric::mae, "mae"},
                                                                  {Metric::loss, "loss"},
                                                                  {Metric::pinball, "pinball"},
                                                                  {Metric::accuracy, "accuracy"},
                                                                  {Metric::arrmse, "arrmse"}}};

Metric automatic(const Recipe& recipe) {
  if (!recipe.classes.empty()) return Metric::accuracy;
  if (recipe.loss.starts_with("pinball") && !recipe.levels.empty()) return Metric::pinball;
  if (recipe.loss.starts_with("huber") || recipe.loss.starts_with("epsilon")) return Metric::mae;
  if (recipe.loss != "square") return Metric::loss;
  return recipe.outputs() > 1 ? Metric::arrmse : Metric::rmse;
}

}  // namespace

Metric parse_metric(const std::string& text, const Recipe& recipe) {
  if (text == "auto") return automatic(recipe);
  const auto* found = std::ranges::find_if(names, [&](const auto& entry) { return text == entry.second; });
  if (found == names.end()) {
    std::vector<std::string> known = {"auto"};
    for (const auto& entry : names) known.emplace_back(entry.second);
    fail_argument("unknown metric " + mercer::quoted(text) + did_you_mean(text, known) + "; it is one of " +
                  join(known, ", "));
  }
  const Metric metric = found->first;
  const bool classes = !recipe.classes.empty();
  if (classes && metric != Metric::accuracy && metric != Metric::loss)
    fail_argument("classes are compared by accuracy or loss, not " + text);
  if (!classes && metric == Metric::accuracy) fail_argument("accuracy is for classes, and the target here is a number");
  if (metric == Metric::pinball && (recipe.levels.empty() || !recipe.loss.starts_with("pinball")))
    fail_argument("the metric pinball goes with quantiles, e.g. --quantiles 0.1,0.5,0.9");
  return metric;
}

std::string metric_name(Metric metric) {
  return std::ranges::find(names, metric, &std::pair<Metric, const char*>::first)->second;
}

bool better(Metric metric, double a, double b) {
  return metric == Metric::accuracy ? a > b : a < b;
}

MetricSum::MetricSum(Metric metric, const Recipe& recipe, const TargetCoding& coding, const Loss& loss)
    : metric_(metric), recipe_(recipe), coding_(coding), loss_(loss) {
  if (metric != Metric::arrmse) return;
  error_.assign(static_cast<std::size_t>(recipe.outputs()), 0.0);
  baseline_ = error_;
}

Index MetricSum::class_of(Point f) const {
  std::vector<double> scores(recipe_.classes.size());
  coding_.class_scores(f, scores);
  return std::ranges::max_element(scores) - scores.begin();
}

void MetricSum::add(double w, Point f, Point y) {
  if (!(w > 0)) return;
  weight_ += w;
  if (metric_ == Metric::loss) sum_ += w * loss_.value(f, y);
  // A code is nearest to itself.
  if (metric_ == Metric::accuracy) sum_ += class_of(f) == class_of(y) ? w : 0.0;
  if (metric_ == Metric::loss || metric_ == Metric::accuracy) return;
  const auto p = static_cast<double>(f.size());
  for (std::size_t a = 0; a < f.size(); ++a) {
    const std::size_t t = recipe_.target_of(static_cast<Index>(a));
    const double scale = recipe_.scaling.target_scale[t];
    const double u = (y[a] - f[a]) * scale;
    if (metric_ == Metric::rmse) sum_ += w * u * u / p;
    if (metric_ == Metric::mae) sum_ += w * std::abs(u) / p;
    if (metric_ == Metric::pinball) sum_ += w * std::max(recipe_.levels[a] * u, (recipe_.levels[a] - 1) * u) / p;
    if (metric_ != Metric::arrmse) continue;
    const double from_mean = y[a] * scale + recipe_.scaling.target_shift[t] - recipe_.target_mean[t];
    error_[a] += w * u * u;
    baseline_[a] += w * from_mean * from_mean;
  }
}

double MetricSum::value() const {
  if (!(weight_ > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (metric_ == Metric::rmse) return std::sqrt(sum_ / weight_);
  if (metric_ != Metric::arrmse) return sum_ / weight_;
  double total = 0;
  for (std::size_t a = 0; a < error_.size(); ++a) total += baseline_[a] > 0 ? std::sqrt(error_[a] / baseline_[a]) : 0.0;
  return total / static_cast<double>(error_.size());
}

}  // namespace mercer
