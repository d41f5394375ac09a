#include "theory/orlicz.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "theory/gaussian_mixture.hpp"
#include "theory/moments.hpp"

namespace mercer {

std::optional<double> orlicz_norm(const RandomPart& part, Index inputs, std::string* why_not) {
  const double c = operator_norm_factor(part);
  if (!part.field || c == 0) return c / std::numbers::ln2;
  const auto law = gaussian_mixture(part.factors, inputs);
  if (!law) {
    const bool light = std::ranges::all_of(part.factors, [](const Kernel& leaf) {
      return std::holds_alternative<Gaussian>(leaf.form) || std::holds_alternative<SpectralMixture>(leaf.form);
    });
    if (why_not != nullptr) {
      *why_not = light ? "this product of spectral mixtures has more than 10 000 components; measure the error instead"
                       : "the squared frequencies of this kernel have no exponential moments (only those of gaussian and "
                         "spectral_mixture do), so the theorem does not apply to a vector field over it; measure the error "
                         "instead";
    }
    return std::nullopt;
  }
  // The largest t with E exp(t‖ω‖²) ≤ 2. It is below the pole, and below 1/E‖ω‖² since E exp(tR) ≥ 1 + tE R.
  const double mean = second_moment(part.factors, inputs);
  if (mean == 0) return 0;
  double low = 0;
  double high = 1 / mean;
  if (law->largest_variance() > 0) high = std::min(high, 0.5 / law->largest_variance());
  for (int step = 0; step < 200 && high - low > 1e-15 * high; ++step) {
    const double t = 0.5 * (low + high);
    (law->exponential_moment(t) <= 2 ? low : high) = t;
  }
  return c / low;
}

}  // namespace mercer
