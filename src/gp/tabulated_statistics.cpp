#include "gp/tabulated_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "backend/backend.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

constexpr Index block_rows = 16;
constexpr Index transforms = cell_terms / 2;  // FFTs of a table

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

double largest_magnitude(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

void shape(Matrix<double>& m, Index rows, Index cols) {
  if (m.rows() != rows || m.cols() != cols) m = Matrix<double>(rows, cols);
}

/// Σ cos a_j cos a_k = ½Re(D + P) and so on, where D is the sum at s_j - s_k and P that at s_j + s_k: entries of points j >=
/// k in the lower triangle of a 2M × 2M matrix of cosines, then sines.
void put(Index j, Index k, std::complex<double> d, std::complex<double> p, Matrix<double>& to) {
  const Index m = to.rows() / 2;
  to(j, k) = (d.real() + p.real()) / 2;
  to(m + j, m + k) = (d.real() - p.real()) / 2;
  to(m + j, k) = (p.imag() + d.imag()) / 2;
  to(m + k, j) = (p.imag() - d.imag()) / 2;
}

}  // namespace

TabulatedStatistics::TabulatedStatistics(ConstMatrix x, ConstMatrix y, double evaluations, Index memory_bytes)
    : x_(x), y_(y), evaluations_(evaluations), memory_bytes_(memory_bytes), interval_(x_.values()) {}

bool TabulatedStatistics::exact_enough(const SparseProcess& process) const {
  double variance = 0;
  for (const double a : process.amplitudes) variance += a * a;
  variance *= largest_magnitude(process.share.values);
  return static_cast<double>(x_.rows()) * table_error * variance <= noise_share * process.noise;
}

bool TabulatedStatistics::worth_making(double most, Index points, Index draws) const {
  const double cells = interval_.cells(most);
  const auto columns = static_cast<double>(1 + y_.cols);
  const double bytes = cells * (columns * 2 * cell_terms * 8 + table_work_bytes);
  if (!(bytes <= static_cast<double>(memory_bytes_))) return false;
  // Nanoseconds, measured on one core: what the windows of a row and the FFT of a cell take, and two products of a pair of
  // points for a row.
  const auto n = static_cast<double>(x_.rows());
  const auto pairs = static_cast<double>(points) * static_cast<double>(points);
  return columns * static_cast<double>(transforms) * (140 * n + 500 * cells) <=
         evaluations_ * 0.2 * n * pairs * static_cast<double>(draws);
}

void TabulatedStatistics::make(double most, const Matrix<double>& mean) {
  tables_.clear();
  tables_.emplace_back(interval_, x_.values(), std::vector<double>(at(x_.rows()), 1.0), most);
  const Matrix<double> residuals = transposed(without_mean(x_, y_, mean));
  for (Index a = 0; a < y_.cols; ++a) tables_.emplace_back(interval_, x_.values(), residuals.row(a), most);
  mean_ = mean;
  reach_ = tables_.front().reach();
}

void TabulatedStatistics::fill_rows(std::span<const RowInterval::Place> places, Index first, Index rows,
                                    SparseStatistics& out) const {
  std::vector<double> cell(at(2 * (first + rows)));
  std::vector<double> offset(cell.size());
  std::vector<double> sums(4 * cell.size());
  for (Index j = first; j < first + rows; ++j) {
    const Index count = j + 1;
    for (Index k = 0; k < count; ++k) {
      cell[at(k)] = places[at(j)].cell - places[at(k)].cell;
      offset[at(k)] = places[at(j)].offset - places[at(k)].offset;
      cell[at(count + k)] = places[at(j)].cell + places[at(k)].cell;
      offset[at(count + k)] = places[at(j)].offset + places[at(k)].offset;
    }
    tables_.front().evaluate(std::span(cell).first(at(2 * count)), std::span(offset).first(at(2 * count)),
                             std::span(sums).first(at(8 * count)));
    for (Index k = 0; k < count; ++k) {
      const double* d = &sums[at(4 * k)];
      const double* p = &sums[at(4 * (count + k))];
      put(j, k, {d[0], d[1]}, {p[0], p[1]}, out.gram);
      put(j, k, {d[2], d[3]}, {p[2], p[3]}, out.weighted.front());
    }
  }
}

/// r = r' - (δ_0 + δ_1 x̃) with r' the residuals that are tabulated.
void TabulatedStatistics::fill_cross(const SparseProcess& process, SparseStatistics& out) const {
  const Index m = process.frequencies.rows();
  const Index p = y_.cols;
  for (Index j = 0; j < m; ++j) {
    const auto store = [&](Index column, std::complex<double> value) {
      out.cross(j, column) = value.real();
      out.cross(m + j, column) = value.imag();
    };
    const FrequencyTable::Sums ones = tables_.front().at(process.frequencies(j, 0));
    for (Index a = 0; a < p; ++a) {
      const FrequencyTable::Sums target = tables_[at(1 + a)].at(process.frequencies(j, 0));
      const double slope = mean_.rows() > 1 ? process.mean(1, a) - mean_(1, a) : 0;
      const double level = (mean_.rows() > 0 ? process.mean(0, a) - mean_(0, a) : 0) + slope * interval_.centre;
      store(a, target.zeroth - level * ones.zeroth - slope * ones.first);
      store(p + a, target.first - level * ones.first - slope * ones.second);
    }
    store(2 * p, ones.zeroth);
    store(2 * p + 1, ones.first + interval_.centre * ones.zeroth);
  }
}

bool TabulatedStatistics::compute(const std::vector<SparseProcess>& processes, ConstMatrix residuals,
                                  SparseWorkspace& workspace) {
  const auto draws = static_cast<Index>(processes.size());
  const Index m = processes.front().frequencies.rows();
  double most = 0;
  for (const SparseProcess& process : processes) {
    if (!exact_enough(process)) return false;
    most = std::max(most, 2 * largest_magnitude(process.frequencies.values()));
  }
  if (most > reach_) {
    if (!worth_making(most, m, draws)) return false;
    make(most, processes.front().mean);
  }
  workspace.statistics.resize(at(draws));
  for (SparseStatistics& out : workspace.statistics) {
    residual_products(x_, residuals, out);
    shape(out.gram, 2 * m, 2 * m);
    out.weighted.resize(1);
    shape(out.weighted.front(), 2 * m, 2 * m);
    shape(out.cross, 2 * m, 2 * residuals.cols + 2);
  }
  std::vector<std::vector<RowInterval::Place>> places(at(draws));
  for (Index k = 0; k < draws; ++k) {
    for (const double s : processes[at(k)].frequencies.values()) places[at(k)].push_back(interval_.place(s));
  }
  const Index blocks = (m + block_rows - 1) / block_rows;
  parallel_for(draws * blocks, [&](Index task) {
    const Index first = task % blocks * block_rows;
    fill_rows(places[at(task / blocks)], first, std::min(block_rows, m - first), workspace.statistics[at(task / blocks)]);
  });
  parallel_for(draws, [&](Index k) {
    SparseStatistics& out = workspace.statistics[at(k)];
    fill_cross(processes[at(k)], out);
    mirror_lower(out.gram);
    mirror_lower(out.weighted.front());
  });
  return true;
}

void turn_features(const SparseProcess& process, double shift, SparseStatistics& statistics) {
  const Index m = process.frequencies.rows();
  const Index p = statistics.residual_gram.rows();
  statistics.weighted.clear();
  Matrix<double>& gram = statistics.gram;
  Matrix<double>& cross = statistics.cross;
  for (Index i = 0; i < 2 * m; ++i) {
    for (Index a = 0; a < p; ++a) cross(i, p + a) += shift * cross(i, a);
  }
  std::vector<std::complex<double>> turns;
  for (const double s : process.frequencies.values()) turns.push_back(std::polar(1.0, 2 * std::numbers::pi * s * shift));
  const auto turn = [](std::complex<double> by, double& cosine, double& sine) {
    const std::complex<double> turned = by * std::complex<double>(cosine, sine);
    cosine = turned.real();
    sine = turned.imag();
  };
  for (Index j = 0; j < m; ++j) {
    for (Index k = 0; k < 2 * m; ++k) turn(turns[at(j)], gram(j, k), gram(m + j, k));
    for (Index k = 0; k < cross.cols(); ++k) turn(turns[at(j)], cross(j, k), cross(m + j, k));
  }
  for (Index i = 0; i < 2 * m; ++i) {
    for (Index j = 0; j < m; ++j) turn(turns[at(j)], gram(i, j), gram(i, m + j));
  }
}

}  // namespace mercer
