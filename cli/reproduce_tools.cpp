#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/fail.hpp"
#include "base/progress.hpp"
#include "console.hpp"
#include "reproduce.hpp"

namespace mercer::cli::reproduce {

std::string cell(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return buffer.data();
}

std::string cell(Index value) {
  return std::to_string(value);
}

Spread spread(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Spread s;
  for (const double v : values) s.mean += v / n;
  for (const double v : values) s.deviation += (v - s.mean) * (v - s.mean);
  s.deviation = values.size() > 1 ? std::sqrt(s.deviation / (n - 1)) : 0;
  return s;
}

std::string to_text(const Spread& s) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3g ± %.1g", s.mean, s.deviation);
  return buffer.data();
}

double log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += std::log(x[i]) / n;
    mean_y += std::log(y[i]) / n;
  }
  double xy = 0;
  double xx = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (std::log(x[i]) - mean_x) * (std::log(y[i]) - mean_y);
    xx += (std::log(x[i]) - mean_x) * (std::log(x[i]) - mean_x);
  }
  return xy / xx;
}

Curve::Curve(std::string name, plot::Series::Mark mark) {
  series_.name = std::move(name);
  series_.mark = mark;
}

void Curve::add(double x, const Spread& y) {
  add(x, y.mean);
  series_.low.push_back(y.mean - y.deviation);
  series_.high.push_back(y.mean + y.deviation);
}

void Curve::add(double x, double y) {
  series_.x.push_back(x);
  series_.y.push_back(y);
}

std::vector<Index> doublings(Index from, Index to) {
  std::vector<Index> all;
  for (Index k = from; k <= to; k *= 2) all.push_back(k);
  return all;
}

Rows pick(const Rows& rows, const std::vector<Index>& numbers) {
  const auto n = static_cast<Index>(numbers.size());
  Rows part{Matrix<double>(n, rows.x.cols()), Matrix<double>(n, rows.y.cols())};
  for (Index i = 0; i < n; ++i) {
    std::ranges::copy(rows.x.row(numbers[at(i)]), part.x.row(i).begin());
    std::ranges::copy(rows.y.row(numbers[at(i)]), part.y.row(i).begin());
  }
  return part;
}

Table read_table(const std::string& path, const DatasetOptions& options) {
  if (!std::filesystem::exists(path)) fail_file(path + ": not found; give --data FOLDER or set MERCER_DATA");
  const auto data = open_dataset({path}, options);
  Rows rows{Matrix<double>(data->row_count(), data->input_count()), Matrix<double>(data->row_count(), data->target_count())};
  RowBlock block;
  data->rewind();
  while (data->next(4096, block)) {
    for (Index i = 0; i < block.rows(); ++i) {
      std::ranges::copy(block.inputs.row(i), rows.x.row(block.first_row + i).begin());
      std::ranges::copy(block.targets.row(i), rows.y.row(block.first_row + i).begin());
    }
  }
  return {std::move(rows), data->schema().targets};
}

Scored::Scored(const Matrix<double>& prediction, const Matrix<double>& truth) : per_output_(at(truth.cols()), 0.0) {
  const auto rows = static_cast<double>(truth.rows());
  for (Index i = 0; i < truth.rows(); ++i) {
    for (Index a = 0; a < truth.cols(); ++a) {
      const double e = prediction(i, a) - truth(i, a);
      per_output_[at(a)] += e * e / rows;
    }
  }
}

double Scored::mean_square() const {
  return spread(per_output_).mean;
}

void Steps::next() {
  report(settings_.progress, stage_, static_cast<double>(done_) / static_cast<double>(steps_));
  ++done_;
}

}  // namespace mercer::cli::reproduce
