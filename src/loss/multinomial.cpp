#include "loss/multinomial.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "loss/scalar.hpp"
#include "loss/wright_omega.hpp"

namespace mercer {
namespace {

std::size_t largest_entry(Point x) {
  return static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

/// Σ_{j ≠ k} ω(v_j - top + η) and its derivative in η, ω' = ω/(1 + ω).
struct OtherMass {
  double sum = 0;
  double slope = 0;
};

OtherMass other_mass(Point v, std::size_t k, double top, double eta) {
  OtherMass mass;
  for (std::size_t j = 0; j < v.size(); ++j) {
    if (j == k) continue;
    const double omega = wright_omega(v[j] - top + eta);
    mass.sum += omega;
    mass.slope += omega / (1 + omega);
  }
  return mass;
}

}  // namespace

double Multinomial::value(Point f, Point y) const {
  const std::size_t top = largest_entry(f);
  double rest = 0;
  for (std::size_t j = 0; j < f.size(); ++j) rest += j == top ? 0 : std::exp(f[j] - f[top]);
  return (f[top] - f[largest_entry(y)]) + std::log1p(rest);
}

void Multinomial::gradient(Point f, Point y, MutPoint g) const {
  const double top = f[largest_entry(f)];
  const std::size_t label = largest_entry(y);
  double sum = 0;
  for (const double entry : f) sum += std::exp(entry - top);
  double others = 0;
  for (std::size_t j = 0; j < f.size(); ++j) {
    g[j] = std::exp(f[j] - top) / sum;
    if (j != label) others += g[j];
  }
  g[label] = -others;  // q_label - 1 without its cancellation
}

/// With label k, step s and d = s·softmax(x): x_j = v_j - d_j for j ≠ k and x_k = v_k + S with S = Σ_{j≠k} d_j = s - d_k. As
/// log d_j = x_j + const, every d_j = ω(v_j - top + η) for one unknown η, top = max_{j≠k} v_j, and the label's equation is
///   G(η) = S(η) + (v_k - top) + η - log(s - S(η)) = 0,
/// convex, with a slope of at least 1, infinite where S ≥ s. Nothing cancels, however large s. O(p) per Newton step.
void Multinomial::prox(double step, Point y, MutPoint v) const {
  if (!(step > 0)) return;
  const std::size_t label = largest_entry(y);
  double top = -infinity;
  for (std::size_t j = 0; j < v.size(); ++j) top = j == label ? top : std::max(top, v[j]);
  const double lead = v[label] - top;
  const double share = 0.5 * step / static_cast<double>(v.size() - 1);
  // G ≥ 0 at `high` (there S ≥ s, or log(s - S) ≤ log s); G ≤ 0 at `low` (there S ≤ s/2).
  double high = std::min(std::log(step) - lead, step + std::log(step));
  double low = std::min(std::log(0.5 * step) - lead - 0.5 * step, share + std::log(share));
  double eta = high;
  OtherMass mass = other_mass(v, label, top, eta);
  constexpr int most_steps = 200;
  constexpr double ulp = std::numeric_limits<double>::epsilon();
  for (int i = 0; i < most_steps; ++i) {
    const double left = step - mass.sum;
    const double excess = left > 0 ? mass.sum + lead + eta - std::log(left) : infinity;
    if (excess == 0) break;
    (excess > 0 ? high : low) = eta;
    double next = eta - excess / (mass.slope + 1 + mass.slope / left);
    if (!(next > low && next < high)) next = low + 0.5 * (high - low);
    const double change = std::abs(next - eta);
    eta = next;
    mass = other_mass(v, label, top, eta);
    if (!(change > 2 * ulp * std::abs(eta))) break;
  }
  for (std::size_t j = 0; j < v.size(); ++j) {
    if (j != label) v[j] -= wright_omega(v[j] - top + eta);
  }
  v[label] += std::min(mass.sum, step);
}

double Multinomial::conjugate(Point a, Point y) const {
  const double slack = rounding_slack(1, static_cast<double>(a.size()));
  double total = 0;
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double q = a[j] + y[j];
    sum += q;
    if (q < -slack) return infinity;
    // Next to 1, log q = log(1 + a) keeps the digits that 1 + a would lose.
    if (q > 0) total += q * (y[j] == 1 ? std::log1p(a[j]) : std::log(q));
  }
  return std::abs(sum - 1) > slack ? infinity : total;
}

/// The nearest probability vector to q = a + y is max(q - t, 0) with Σ_j max(q_j - t, 0) = 1; t grows from a lower bound to
/// the root in at most p passes over the entries still above it (Michelot 1986).
void Multinomial::project_dual(Point y, MutPoint a) const {
  for (std::size_t j = 0; j < a.size(); ++j) a[j] += y[j];
  const double top = a[largest_entry(a)];
  for (double& q : a) q -= top;
  double threshold = -1;
  for (std::size_t pass = 0; pass <= a.size(); ++pass) {
    double sum = 0;
    double count = 0;
    for (const double q : a) {
      if (q <= threshold) continue;
      sum += q;
      ++count;
    }
    const double next = (sum - 1) / count;
    if (!(next > threshold)) break;
    threshold = next;
  }
  for (std::size_t j = 0; j < a.size(); ++j) a[j] = std::max(a[j] - threshold, 0.0) - y[j];
}

double Multinomial::lipschitz() const {
  return std::numbers::sqrt2;
}

const char* Multinomial::target_problem(Point y) const {
  std::size_t ones = 0;
  for (const double entry : y) {
    if (entry != 0 && entry != 1) return "this loss reads one-hot rows of 0 and a single 1";
    ones += entry == 1 ? 1U : 0U;
  }
  return ones == 1 ? nullptr : "this loss reads one-hot rows of 0 and a single 1";
}

}  // namespace mercer
