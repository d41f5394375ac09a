#include "gp/line_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/progress.hpp"

namespace mercer {
namespace {

constexpr double decrease = 1e-4;
constexpr double curvature = 0.9;
constexpr int most_evaluations = 40;

/// The minimiser of the cubic through two values and slopes, kept away from the ends; the middle when there is none.
double interpolate(const LinePoint& a, const LinePoint& b) {
  const double middle = (a.step + b.step) / 2;
  if (!std::isfinite(b.value) || !std::isfinite(b.slope)) return middle;
  const double width = b.step - a.step;
  const double d = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step);
  const double square = d * d - a.slope * b.slope;
  if (!(square >= 0)) return middle;
  const double root = std::copysign(std::sqrt(square), width);
  const double step = b.step - width * (b.slope + root - d) / (b.slope - a.slope + 2 * root);
  if (!std::isfinite(step)) return middle;
  const double low = std::min(a.step, b.step) + 0.1 * std::abs(width);
  const double high = std::max(a.step, b.step) - 0.1 * std::abs(width);
  return std::clamp(step, low, high);
}

class Line {
 public:
  Line(Objective& objective, std::span<const double> at, std::span<const double> direction, double value, double slope)
      : objective_(objective), at_(at), direction_(direction), start_{0, value, slope, {}, {}}, best_(start_) {}

  LinePoint evaluate(double step) {
    check_stop();
    ++evaluations_;
    LinePoint point{step, 0, 0, std::vector<double>(at_.begin(), at_.end()), std::vector<double>(at_.size())};
    for (std::size_t i = 0; i < at_.size(); ++i) point.at[i] += step * direction_[i];
    point.value = objective_.evaluate(point.at, point.gradient);
    point.slope = std::inner_product(direction_.begin(), direction_.end(), point.gradient.begin(), 0.0);
    if (!std::isfinite(point.value) || !std::isfinite(point.slope)) {
      point.value = std::numeric_limits<double>::infinity();
    }
    if (point.value < best_.value) best_ = point;
    return point;
  }

  bool sufficient(const LinePoint& p) const { return p.value <= start_.value + decrease * p.step * start_.slope; }
  bool flat(const LinePoint& p) const { return std::abs(p.slope) <= -curvature * start_.slope; }
  bool spent() const { return evaluations_ >= most_evaluations; }
  int evaluations() const { return evaluations_; }
  const LinePoint& start() const { return start_; }
  const LinePoint& best() const { return best_; }

 private:
  Objective& objective_;
  std::span<const double> at_;
  std::span<const double> direction_;
  LinePoint start_;
  LinePoint best_;
  int evaluations_ = 0;
};

/// Narrows [low, high] (in either order): low is the lowest sufficient point so far, and its slope points towards high.
LinePoint zoom(Line& line, LinePoint low, LinePoint high) {
  while (!line.spent()) {
    if (std::abs(high.step - low.step) <= 1e-14 * std::max(low.step, high.step)) break;
    LinePoint point = line.evaluate(interpolate(low, high));
    if (!line.sufficient(point) || point.value >= low.value) {
      high = std::move(point);
      continue;
    }
    if (line.flat(point)) return point;
    if (point.slope * (high.step - low.step) >= 0) high = std::move(low);
    low = std::move(point);
  }
  return line.best();
}

LinePoint search(Line& line, double first_step) {
  LinePoint last = line.start();
  double step = first_step;
  while (!line.spent()) {
    LinePoint point = line.evaluate(step);
    if (!line.sufficient(point) || point.value >= last.value) return zoom(line, std::move(last), std::move(point));
    if (line.flat(point)) return point;
    if (point.slope >= 0) return zoom(line, std::move(point), std::move(last));
    last = std::move(point);
    step *= 3;
  }
  return line.best();
}

}  // namespace

LinePoint strong_wolfe(Objective& objective, std::span<const double> at, std::span<const double> direction, double value,
                       double slope, double first_step, int& evaluations) {
  Line line(objective, at, direction, value, slope);
  LinePoint result = search(line, first_step);
  evaluations += line.evaluations();
  return result;
}

}  // namespace mercer
