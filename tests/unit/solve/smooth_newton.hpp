#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "unit/map/map_samples.hpp"

namespace mercer::oracle {

using samples::Dense;
using samples::Vector;

/// log(1 + e^t), its slope and its curvature.
struct Softplus {
  explicit Softplus(double t)
      : value(std::max(t, 0.0) + std::log1p(std::exp(-std::abs(t)))),
        slope(1 / (1 + std::exp(-t))),
        bend(slope * (1 - slope)) {}
  double value;
  double slope;
  double bend;
};

/// A loss of one row as written in THEORY 6, with its kinks rounded off by μ (μ = 0: exact value only), its gradient and
/// Hessian in f. Written apart from src/loss on purpose.
using RowLoss = std::function<double(const Vector& f, const Vector& y, double mu, Vector& g, Dense& h)>;

/// max(0, t) ≈ μ softplus(t/μ) of t_k = slope_k f_k + offset_k, summed into value, g, h.
inline double hinge_of(double t, double slope, Index k, double mu, Vector& g, Dense& h) {
  if (mu == 0) return std::max(t, 0.0);
  const Softplus s(t / mu);
  g(k) += slope * s.slope;
  h(k, k) += slope * slope * s.bend / mu;
  return mu * s.value;
}

/// φ(‖r‖) for a radial loss, with ‖r‖ ≈ √(‖r‖² + μ²): value, first and second derivative of φ given.
inline double radial(const Vector& r, double mu, Vector& g, Dense& h,
                     const std::function<double(double, double, double&, double&)>& phi) {
  const double size = std::sqrt(r.squaredNorm() + mu * mu);
  double d1 = 0;
  double d2 = 0;
  const double value = phi(size, mu, d1, d2);
  if (mu > 0) {
    const Vector n = r / size;
    g += d1 * n;
    h += d2 * n * n.transpose() + d1 / size * (Dense::Identity(r.size(), r.size()) - n * n.transpose());
  }
  return value;
}

inline RowLoss row_loss(const std::string& name, const std::vector<double>& levels = {}) {
  if (name == "pinball") {
    return [levels](const Vector& f, const Vector& y, double mu, Vector& g, Dense& h) {
      double sum = 0;
      for (Index k = 0; k < f.size(); ++k) {  // max(τu, (τ-1)u) = τu + max(0, -u), u = y - f
        const double tau = levels[static_cast<std::size_t>(k)];
        sum += tau * (y(k) - f(k)) + hinge_of(f(k) - y(k), 1, k, mu, g, h);
        g(k) -= tau;
      }
      return sum;
    };
  }
  if (name == "hinge") {
    return [](const Vector& f, const Vector& y, double mu, Vector& g, Dense& h) {
      double sum = 0;
      for (Index k = 0; k < f.size(); ++k) sum += hinge_of(1 - y(k) * f(k), -y(k), k, mu, g, h);
      return sum;
    };
  }
  if (name == "logistic") {
    return [](const Vector& f, const Vector& y, double, Vector& g, Dense& h) {
      double sum = 0;
      for (Index k = 0; k < f.size(); ++k) {
        const Softplus s(-y(k) * f(k));
        sum += s.value;
        g(k) -= y(k) * s.slope;
        h(k, k) += s.bend;
      }
      return sum;
    };
  }
  if (name == "multinomial") {
    return [](const Vector& f, const Vector& y, double, Vector& g, Dense& h) {
      const double top = f.maxCoeff();
      const Vector e = (f.array() - top).exp();
      const Vector q = e / e.sum();
      g += q - y;
      h += Dense(q.asDiagonal()) - q * q.transpose();
      return top + std::log(e.sum()) - f.dot(y);
    };
  }
  if (name == "epsilon:0.3,coordinates") {
    return [](const Vector& f, const Vector& y, double mu, Vector& g, Dense& h) {
      double sum = 0;
      for (Index k = 0; k < f.size(); ++k) {
        sum += hinge_of(f(k) - y(k) - 0.3, 1, k, mu, g, h) + hinge_of(y(k) - f(k) - 0.3, -1, k, mu, g, h);
      }
      return sum;
    };
  }
  if (name == "epsilon:0.3") {
    return [](const Vector& f, const Vector& y, double mu, Vector& g, Dense& h) {
      return radial(f - y, mu, g, h, [](double size, double m, double& d1, double& d2) {
        if (m == 0) return std::max(0.0, size - 0.3);
        const Softplus s((size - 0.3) / m);
        d1 = s.slope;
        d2 = s.bend / m;
        return m * s.value;
      });
    };
  }
  return [](const Vector& f, const Vector& y, double mu, Vector& g, Dense& h) {  // huber:0.4
    return radial(f - y, mu, g, h, [](double size, double, double& d1, double& d2) {
      d1 = std::min(size, 0.4);
      d2 = size <= 0.4 ? 1 : 0;
      return size <= 0.4 ? 0.5 * size * size : 0.4 * (size - 0.2);
    });
  };
}

/// Problem (P) by Newton's method on dense matrices, the kinks rounded off less and less, and the order f_1 ≤ … ≤ f_p (at
/// all `rows`, when asked for) by a log barrier of the same μ. The value is the exact objective at the point found, so an
/// upper bound of the optimum, and within about p·log 2·1e-9 (plus the number of order constraints·1e-9) of it.
struct SmoothNewton {
  Dense rows;  ///< (n·p) × parameters, then those of extra rows without a loss
  Dense targets;
  std::vector<double> weights;
  double penalty = 1e-3;
  bool intercept = true;
  bool order = false;

  double optimum(const RowLoss& loss) const {
    const Index p = targets.cols();
    Dense z = Dense::Zero(rows.rows(), rows.cols() + (intercept ? p : 0));
    z.leftCols(rows.cols()) = rows;
    for (Index i = 0; intercept && i < rows.rows(); ++i) z(i, rows.cols() + i % p) = 1;
    Vector x = Vector::Zero(z.cols());
    for (Index a = 0; order && a < p; ++a) x(rows.cols() + a) = static_cast<double>(a);
    for (double mu = 1; mu > 1e-9; mu *= 0.2) descend(loss, z, mu, x);
    return evaluate(loss, z, 0, x, nullptr, nullptr);
  }

 private:
  /// The objective, and with pointers its gradient and Hessian.
  double evaluate(const RowLoss& loss, const Dense& z, double mu, const Vector& x, Vector* g, Dense* h) const {
    const Index p = targets.cols();
    double total = 0;
    for (const double w : weights) total += w;
    const Vector f = z * x;
    Vector slopes = Vector::Zero(f.size());
    Dense bent(h != nullptr ? z.rows() : 0, z.cols());
    double value = 0;
    for (Index i = 0; i < f.size() / p; ++i) {
      Vector row_g = Vector::Zero(p);
      Dense row_h = Dense::Zero(p, p);
      if (i < targets.rows()) {
        const double w = weights[static_cast<std::size_t>(i)] / total;
        value += w * loss(f.segment(i * p, p), targets.row(i).transpose(), mu, row_g, row_h);
        row_g *= w;
        row_h *= w;
      }
      for (Index a = 0; order && mu > 0 && a + 1 < p; ++a) {
        const double gap = f(i * p + a + 1) - f(i * p + a);
        if (gap <= 0) return std::numeric_limits<double>::infinity();
        value -= mu * std::log(gap);
        row_g(a + 1) -= mu / gap;
        row_g(a) += mu / gap;
        const double bend = mu / (gap * gap);
        row_h(a, a) += bend;
        row_h(a + 1, a + 1) += bend;
        row_h(a, a + 1) -= bend;
        row_h(a + 1, a) -= bend;
      }
      slopes.segment(i * p, p) = row_g;
      if (h != nullptr) bent.middleRows(i * p, p) = row_h * z.middleRows(i * p, p);
    }
    const Index m = rows.cols();
    if (h != nullptr) {
      *g = z.transpose() * slopes;
      *h = z.transpose() * bent;
      g->head(m) += penalty * x.head(m);
      h->diagonal().head(m).array() += penalty;
      h->diagonal().array() += 1e-13;
    }
    return value + 0.5 * penalty * x.head(m).squaredNorm();
  }

  void descend(const RowLoss& loss, const Dense& z, double mu, Vector& x) const {
    Vector g;
    Dense h;
    for (int k = 0; k < 200; ++k) {
      const double value = evaluate(loss, z, mu, x, &g, &h);
      const Vector step = h.ldlt().solve(g);
      const double slope = g.dot(step);
      if (!(slope > 1e-18)) return;
      double t = 1;
      while (t > 1e-12 && !(evaluate(loss, z, mu, x - t * step, nullptr, nullptr) <= value - 1e-4 * t * slope)) t *= 0.5;
      if (t <= 1e-12) return;
      x -= t * step;
    }
  }
};

}  // namespace mercer::oracle
