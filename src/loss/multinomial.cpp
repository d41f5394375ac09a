#include "loss/multinomial.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

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

/// How far η may fall from above the root of log(s - S) = e without passing it: the longest of four Newton steps, each of a
/// convex rising or concave falling function whose root is that one or lies above it.
double newton_fall(double step, const OtherMass& mass, double e) {
  const double left = step - mass.sum;
  const double small = std::exp(-std::abs(e));
  const double s_fall = -left / mass.slope;                                                          // S ≤ s
  const double e_fall = (e - std::log(step)) / (1 + mass.slope);                                     // e ≤ log s
  const double g_fall = left > 0 ? (e - std::log(left)) / (1 + mass.slope + mass.slope / left) : 0;  // e - log(s - S)
  const double h_fall = e > 0 ? (1 - left * small) / (mass.slope * small + mass.slope + 1)           // s - S - exp(e)
                              : (small - left) / (mass.slope + small * (mass.slope + 1));
  double fall = 0;
  for (const double candidate : {s_fall, e_fall, g_fall, h_fall}) fall = candidate > fall ? candidate : fall;
  return fall;
}

}  // namespace

double Multinomial::value(Point f, Point y) {
  const std::size_t top = largest_entry(f);
  double rest = 0;
  for (std::size_t j = 0; j < f.size(); ++j) rest += j == top ? 0 : std::exp(f[j] - f[top]);
  return (f[top] - f[largest_entry(y)]) + std::log1p(rest);
}

void Multinomial::gradient(Point f, Point y, MutPoint g) {
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
///   log(s - S(η)) = e(η),  e = S(η) + (v_k - top) + η,
/// in which nothing cancels, however large s; newton_fall goes down to its root. O(p) a step, a handful of steps.
void Multinomial::prox(double step, Point y, MutPoint v) {
  if (!(step > 0)) return;
  const std::size_t label = largest_entry(y);
  double top = -infinity;
  for (std::size_t j = 0; j < v.size(); ++j) top = j == label ? top : std::max(top, v[j]);
  const double lead = v[label] - top;
  // Above the root: log(s - S) ≤ log s on the left, and S ≥ ω(s + log s) = s on the right.
  double eta = std::min(std::log(step) - lead, step + std::log(step));
  OtherMass mass = other_mass(v, label, top, eta);
  constexpr int most_steps = 64;
  constexpr double ulp = std::numeric_limits<double>::epsilon();
  for (int i = 0; i < most_steps; ++i) {
    const double fall = newton_fall(step, mass, mass.sum + lead + eta);
    if (!(fall > 2 * ulp * std::max(1.0, std::abs(eta)))) break;
    eta -= fall;
    mass = other_mass(v, label, top, eta);
  }
  for (std::size_t j = 0; j < v.size(); ++j) {
    if (j != label) v[j] -= wright_omega(v[j] - top + eta);
  }
  v[label] += std::min(mass.sum, step);
}

double Multinomial::conjugate(Point a, Point y) {
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
void Multinomial::project_dual(Point y, MutPoint a) {
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

/// With c = Σ w_i q_i and c̄ = Σ w_i y_i, r = (c + (c̄ - c)/θ) / Σ w_i must not be negative: θ = max_j (c_j - c̄_j)/c_j. Since
/// a = q - y and q' - q = θ(r - q), each row moves by θr - θq = (θc + c̄ - c)/W - θ(a + y).
void Multinomial::balance_dual(Point weights, ConstMatrix y, MutMatrix a) {
  const auto weight = [weights](Index i) { return weights.empty() ? 1 : weights[static_cast<std::size_t>(i)]; };
  double total = 0;
  for (Index i = 0; i < a.rows; ++i) total += weight(i);
  std::vector<double> mass(static_cast<std::size_t>(a.cols));
  std::vector<double> surplus(mass.size());
  double theta = 0;
  for (Index j = 0; j < a.cols; ++j) {
    const auto column = static_cast<std::size_t>(j);
    for (Index i = 0; i < a.rows; ++i) {
      surplus[column] += weight(i) * a(i, j);
      mass[column] += weight(i) * std::max(0.0, a(i, j) + y(i, j));
    }
    if (surplus[column] > 0) theta = std::max(theta, std::min(1.0, surplus[column] / mass[column]));
  }
  if (!(theta > 0)) return;
  for (Index i = 0; i < a.rows; ++i) {
    for (Index j = 0; j < a.cols; ++j) {
      const auto column = static_cast<std::size_t>(j);
      const double added = std::max(0.0, theta * mass[column] - surplus[column]) / total;
      const double q = a(i, j) + y(i, j);
      a(i, j) += added - theta * q;
    }
  }
}

double Multinomial::lipschitz() {
  return std::numbers::sqrt2;
}

const char* Multinomial::target_problem(Point y) {
  std::size_t ones = 0;
  for (const double entry : y) {
    if (entry != 0 && entry != 1) return "this loss reads one-hot rows of 0 and a single 1";
    ones += entry == 1 ? 1U : 0U;
  }
  return ones == 1 ? nullptr : "this loss reads one-hot rows of 0 and a single 1";
}

}  // namespace mercer
