#include "map/coupling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {

void Coupling::append_constant(Index columns, Matrix<double> factor) {
  // Neighbouring groups with the same B are one segment, so that a sum of scalar kernels stays decoupled.
  if (!segments_.empty() && segments_.back().constant && segments_.back().factor.rows() == factor.rows() &&
      std::ranges::equal(segments_.back().factor.values(), factor.values())) {
    segments_.back().columns += columns;
    columns_ += columns;
    parameters_ += columns * segments_.back().width;
    return;
  }
  Segment s;
  s.first_column = columns_;
  s.columns = columns;
  s.first_parameter = parameters_;
  s.width = factor.cols();
  s.constant = true;
  s.factor = std::move(factor);
  columns_ += columns;
  parameters_ += columns * s.width;
  segments_.push_back(std::move(s));
}

void Coupling::append_per_frequency(Index copies, Index frequencies, Index width, std::vector<double> factors) {
  Segment s;
  s.first_column = columns_;
  s.columns = copies * frequencies;
  s.first_parameter = parameters_;
  s.width = width;
  s.period = frequencies;
  s.factor_size = outputs_ * width;
  s.many = std::move(factors);
  if (static_cast<Index>(s.many.size()) != frequencies * s.factor_size) fail_internal("coupling factors of the wrong size");
  columns_ += s.columns;
  parameters_ += s.columns * width;
  segments_.push_back(std::move(s));
}

Coupling::Column Coupling::column(Index c) const {
  auto s = std::ranges::find_if(segments_, [&](const Segment& g) { return c < g.first_column + g.columns; });
  return {s->at(c), s->width, s->first_parameter + (c - s->first_column) * s->width};
}

void Coupling::expand(std::span<const double> theta, MutMatrix w) const {
  const Index p = outputs_;
  for (const Segment& s : segments_) {
    for (Index c = s.first_column; c < s.first_column + s.columns; ++c) {
      const double* b = s.at(c);
      const double* t = theta.data() + s.first_parameter + (c - s.first_column) * s.width;
      for (Index a = 0; a < p; ++a) {
        double sum = 0;
        for (Index k = 0; k < s.width; ++k) sum += b[a * s.width + k] * t[k];
        w(c, a) = sum;
      }
    }
  }
}

void Coupling::contract(ConstMatrix v, std::span<double> theta) const {
  const Index p = outputs_;
  for (const Segment& s : segments_) {
    for (Index c = s.first_column; c < s.first_column + s.columns; ++c) {
      const double* b = s.at(c);
      double* t = theta.data() + s.first_parameter + (c - s.first_column) * s.width;
      std::fill_n(t, s.width, 0.0);
      for (Index a = 0; a < p; ++a) {
        for (Index k = 0; k < s.width; ++k) t[k] += b[a * s.width + k] * v(c, a);
      }
    }
  }
}

template <class Real>
Matrix<Real> Coupling::normal_matrix(ConstMatrix g) const {
  // Row (c, a) is Σ_o B_c(o, a)·B(o, ·) times row c of G, every entry of it as often as its column has parameters: with B of
  // all columns side by side (outputs × parameters) these are loops over contiguous numbers, in strips that stay in
  // registers.
  constexpr Index strip = 32;
  const Index p = outputs_;
  const Index padded = (parameters_ + strip - 1) / strip * strip;
  Matrix<Real> beside(p, padded);
  for (Index c = 0; c < columns_; ++c) {
    const Column one = column(c);
    for (Index o = 0; o < p; ++o) {
      for (Index a = 0; a < one.width; ++a) beside(o, one.parameter + a) = static_cast<Real>(one.factor[o * one.width + a]);
    }
  }
  Matrix<Real> m(parameters_, parameters_, Pages::small);
  parallel_for(columns_, [&](Index c) {
    thread_local std::vector<Real> repeated;
    const Column row = column(c);
    const Index end = row.parameter + row.width;
    repeated.resize(static_cast<std::size_t>(padded));
    for (const Segment& s : segments_) {
      Real* target = repeated.data() + s.first_parameter;
      for (Index d = s.first_column; d < std::min(c + 1, s.first_column + s.columns); ++d, target += s.width)
        std::fill_n(target, s.width, static_cast<Real>(g(c, d)));
    }
    for (Index a = 0; a < row.width; ++a) {
      Real* out = m.row(row.parameter + a).data();
      for (Index first = 0; first < end; first += strip) {
        std::array<Real, static_cast<std::size_t>(strip)> sum{};
        for (Index o = 0; o < p; ++o) {
          const auto b = static_cast<Real>(row.factor[o * row.width + a]);
          const Real* other = beside.row(o).data() + first;
          for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += b * other[k];
        }
        const Real* entries = repeated.data() + first;
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] *= entries[k];
        std::copy_n(sum.begin(), std::min(strip, end - first), out + first);
      }
    }
  });
  return m;
}
template Matrix<float> Coupling::normal_matrix(ConstMatrix) const;
template Matrix<double> Coupling::normal_matrix(ConstMatrix) const;

void Coupling::dense_rows(ConstMatrix phi, MutMatrix out) const {
  const Index p = outputs_;
  parallel_for(phi.rows, [&](Index i) {
    for (const Segment& s : segments_) {
      for (Index c = s.first_column; c < s.first_column + s.columns; ++c) {
        const double* b = s.at(c);
        const Index first = s.first_parameter + (c - s.first_column) * s.width;
        for (Index a = 0; a < p; ++a) {
          for (Index k = 0; k < s.width; ++k) out(i * p + a, first + k) = phi(i, c) * b[a * s.width + k];
        }
      }
    }
  });
}

Matrix<double> symmetric_factor(ConstMatrix a) {
  const Index p = a.rows;
  const Eigen e = eigh(a);
  const double cut = static_cast<double>(p) * std::numeric_limits<double>::epsilon() * std::max(0.0, e.values.back());
  std::vector<Index> kept;
  for (Index k = p; k-- > 0;) {
    if (e.values[static_cast<std::size_t>(k)] > cut) kept.push_back(k);
  }
  Matrix<double> b(p, static_cast<Index>(kept.size()));
  for (Index j = 0; j < b.cols(); ++j) {
    const Index k = kept[static_cast<std::size_t>(j)];
    const double root = std::sqrt(e.values[static_cast<std::size_t>(k)]);
    for (Index i = 0; i < p; ++i) b(i, j) = root * e.vectors(k, i);
  }
  return b;
}

Index field_factor_width(Index d, double share) {
  return (share > 0 ? 1 : 0) + (share < 1 ? d - 1 : 0);
}

void append_field_factor(Point omega, double share, std::vector<double>& factors) {
  const auto d = static_cast<Index>(omega.size());
  const Index width = field_factor_width(d, share);
  const std::size_t start = factors.size();
  factors.resize(start + static_cast<std::size_t>(d * width), 0.0);
  double* b = factors.data() + start;
  double norm2 = 0;
  for (const double w : omega) norm2 += w * w;
  const double norm = std::sqrt(norm2);
  if (norm == 0) return;
  Index next = 0;
  if (share > 0) {
    for (Index i = 0; i < d; ++i) b[i * width] = std::sqrt(share) * omega[static_cast<std::size_t>(i)];
    next = 1;
  }
  if (share < 1) {
    // H = I - 2vvᵀ/vᵀv sends ω̂ to ∓e₀; its other columns are an orthonormal basis of ω⊥.
    std::vector<double> v(omega.begin(), omega.end());
    v[0] += v[0] < 0 ? -norm : norm;
    double vv = 0;
    for (const double x : v) vv += x * x;
    const double scale = std::sqrt(1 - share) * norm;
    for (Index k = 1; k < d; ++k, ++next) {
      for (Index i = 0; i < d; ++i) {
        const double h = (i == k ? 1.0 : 0.0) - 2 * v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(k)] / vv;
        b[i * width + next] = scale * h;
      }
    }
  }
}

}  // namespace mercer
