#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backend/backend.hpp"
#include "solve/sampled_errors.hpp"

namespace mercer {

/// How far an application of A to d is off, by roundings of unit u in features and sums that are as good as independent:
///     u·(norm·‖d‖ + energy·√(dᵀAd)).
struct RoundingModel {
  double unit = 0;  ///< 0: not known
  double norm = 0;
  double energy = 0;
};

/// The largest of one(k) over the first columns; not a number when any of them is not.
template <class One>
double largest_of(Index columns, const One& one) {
  double largest = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(columns) && !std::isnan(largest); ++k) {
    const double next = one(k);
    if (!(next <= largest)) largest = next;
  }
  return largest;
}

/// How far the residual of the recurrence may be from the true one, of every column: e, in norm, in energy √(eᵀM⁻¹e), and
/// how far the solution is off by it, ‖M⁻¹e‖.
class Drift {
 public:
  Drift(const RoundingModel& model, double least_eigenvalue, Index columns)
      : model_(model),
        most_(least_eigenvalue > 0 ? 1 / std::sqrt(least_eigenvalue) : 0.0),
        bound_(static_cast<std::size_t>(columns), 0.0),
        rough_(static_cast<std::size_t>(columns), 0.0),
        rough_energy_(static_cast<std::size_t>(columns), 0.0),
        rough_solution_(static_cast<std::size_t>(columns), 0.0) {}

  /// After precise applications to d, taken by these steps.
  void add(ConstMatrix d, const std::vector<double>& curvature, const std::vector<double>& step) {
    const std::vector<double> dd = column_dots(d, d);
    for (std::size_t k = 0; k < bound_.size(); ++k) bound_[k] += std::abs(step[k]) * error(dd[k], curvature[k]);
  }
  /// After others, off by these errors, whose norms are known already.
  void add(SampledErrors&& errors, const std::vector<double>& norms, const std::vector<double>& step) {
    for (std::size_t k = 0; k < bound_.size(); ++k) {
      bound_[k] += std::abs(step[k]) * norms[k];
      rough_[k] += std::abs(step[k]) * norms[k];
      rough_energy_[k] = rough_[k] * most_;
      rough_solution_[k] = rough_energy_[k] * most_;
    }
    if (most_ > 0) errors_.add(std::move(errors), step);
  }
  /// After b - Ax was computed from `image` = Ax.
  void restart(ConstMatrix x, ConstMatrix image) {
    const std::vector<double> xx = column_dots(x, x);
    const std::vector<double> energy = column_dots(x, image);
    for (std::size_t k = 0; k < bound_.size(); ++k) bound_[k] = error(xx[k], energy[k]);
    std::ranges::fill(rough_, 0.0);
    std::ranges::fill(rough_energy_, 0.0);
    std::ranges::fill(rough_solution_, 0.0);
    errors_ = {};
  }

  /// √(eᵀM⁻¹e); 0 where nothing is known.
  double energy(std::size_t k) const { return (bound_[k] - rough_[k]) * most_ + rough_energy_[k]; }
  /// ‖M⁻¹e‖ of rough applications.
  double solution(std::size_t k) const { return rough_solution_[k]; }
  bool can_be_weighed() const { return !errors_.groups.empty(); }
  /// From now on energy and solution of rough applications are those of their errors, which roundings spread over all
  /// eigenvectors. As if they were all along the one of the least eigenvalue, the energy is up to a hundred times as much.
  /// A⁻¹ is at most `most_ratio` times M⁻¹.
  void weigh(const BlockOperator& precondition, double most_ratio) {
    const SampledErrors::Weighed weighed = errors_.weigh(precondition);
    for (std::size_t k = 0; k < rough_.size(); ++k) {
      rough_energy_[k] = std::min(rough_energy_[k], std::sqrt(most_ratio) * weighed.energy[k]);
      rough_solution_[k] = std::min(rough_solution_[k], most_ratio * weighed.norm[k]);
    }
  }
  /// Of the judged columns, relative; infinite without a model.
  double relative(const std::vector<double>& bb, Index judged) const {
    if (model_.unit == 0) return std::numeric_limits<double>::infinity();
    return largest_of(judged, [&](std::size_t k) { return bb[k] > 0 ? bound_[k] / std::sqrt(bb[k]) : 0.0; });
  }

 private:
  double error(double square, double energy) const {
    return model_.unit * (model_.norm * std::sqrt(square) + model_.energy * std::sqrt(std::max(energy, 0.0)));
  }
  const RoundingModel& model_;
  double most_;  ///< the energy of a vector of length 1, at most
  std::vector<double> bound_;
  std::vector<double> rough_;  ///< of it, by rough applications
  std::vector<double> rough_energy_;
  std::vector<double> rough_solution_;
  SampledErrors errors_;  ///< of them
};

}  // namespace mercer
