#include "gp/kernel_coordinates.hpp"

#include <cmath>

#include "base/fail.hpp"
#include "kernel/evaluate.hpp"

namespace mercer {

KernelCoordinates::KernelCoordinates(const Kernel& kernel) : kernel_(kernel) {
  const std::vector<double> values = parameters(kernel);
  const std::vector<std::string> names = parameter_names(kernel);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool mean = names[i].find("spectral_mixture.means[") != std::string::npos;
    if (!mean && values[i] == 0) continue;
    places_.push_back({i, !mean});
    names_.push_back(mean ? names[i] : "log " + names[i]);
  }
}

std::vector<double> KernelCoordinates::coordinates(const Kernel& kernel) const {
  const std::vector<double> values = parameters(kernel);
  if (values.size() != parameters(kernel_).size()) fail_internal("coordinates of a kernel of another form");
  std::vector<double> at;
  for (const Place& place : places_) {
    const double value = values[place.parameter];
    at.push_back(place.logarithm ? std::log(value) : value);
  }
  return at;
}

bool KernelCoordinates::is_defined(std::span<const double> at) const {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const double value = places_[i].logarithm ? std::exp(at[i]) : at[i];
    if (!std::isfinite(value) || (places_[i].logarithm && !(value > 0))) return false;
  }
  return true;
}

Kernel KernelCoordinates::kernel(std::span<const double> at) const {
  std::vector<double> values = parameters(kernel_);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    values[places_[i].parameter] = places_[i].logarithm ? std::exp(at[i]) : at[i];
  }
  return with_parameters(kernel_, values);
}

void KernelCoordinates::chain(const Kernel& kernel, std::span<const double> parameter_gradient,
                              std::span<double> gradient) const {
  const std::vector<double> values = parameters(kernel);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::size_t p = places_[i].parameter;
    gradient[i] = places_[i].logarithm ? parameter_gradient[p] * values[p] : parameter_gradient[p];
  }
}

}  // namespace mercer
