// Tables of Fourier sums against the sums themselves in long double.
#include "gp/frequency_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace mercer {
namespace {

using Wide = std::complex<long double>;

struct Rows {
  std::string name;
  std::vector<double> x;
};

std::vector<Rows> some_rows() {
  const Stream stream(11, "rows");
  std::vector<Rows> all{{"even", {}},        {"uneven", {}},
                        {"clusters", {}},    {"gap", {}},
                        {"far from 0", {}},  {"few", {0.3, -1.7, 4.1}},
                        {"two", {1.0, 1.5}}, {"one place", {2.5, 2.5, 2.5}}};
  for (Index i = 0; i < 300; ++i) {
    const double u = stream.uniform(i, 0);
    all[0].x.push_back(0.05 * static_cast<double>(i));
    all[1].x.push_back(-7 + 20 * u);
    all[2].x.push_back(static_cast<double>(i % 3) + 1e-6 * u);
    all[3].x.push_back(i < 250 ? u : 1000 + u);
    all[4].x.push_back(1e8 + 50 * u);
  }
  return all;
}

/// Σ c x̃^power e^{2πi(cell·turn + offset·x̃/period)}, turn = x̃/period rounded to double, less its whole part: what a table
/// stands for. With the turns not rounded it is Σ c x̃^power e^{2πi f x̃}.
Wide direct(const Rows& rows, const std::vector<double>& c, double f, int power, bool rounded) {
  const RowInterval interval(rows.x);
  const RowInterval::Place place = interval.place(f);
  Wide sum = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double away = rows.x[i] - interval.centre;
    double turn = away / interval.period();
    turn -= std::floor(turn);
    const long double exact = static_cast<long double>(away) / interval.period();
    const long double phase = place.cell * (rounded ? static_cast<long double>(turn) : exact) + place.offset * exact;
    sum += c[i] * std::pow(static_cast<long double>(away), power) *
           std::polar<long double>(1, 2 * std::numbers::pi_v<long double> * (phase - std::floor(phase)));
  }
  return sum;
}

TEST(RowInterval, PlacesKeepTheirDigits) {
  const RowInterval interval(std::vector<double>{-1.0, 4.0, 2.5});
  EXPECT_EQ(interval.centre, 1.5);
  EXPECT_EQ(interval.length, 5.0);
  for (const double f : {0.0, 0.1, -0.3, 123456.789, -9.87654321e7}) {
    const RowInterval::Place place = interval.place(f);
    EXPECT_EQ(place.cell, std::nearbyint(place.cell));
    EXPECT_LE(std::abs(place.offset), 0.5 + 1e-7);
    const long double product = static_cast<long double>(f) * interval.period();
    EXPECT_LT(std::abs(static_cast<double>(product - place.cell - place.offset)),
              1e-16 + 0x1p-63 * std::abs(static_cast<double>(product)));
  }
  EXPECT_TRUE(std::isinf(interval.cells(1e300)));
}

TEST(FrequencyTable, IsTheDirectSum) {
  const Stream stream(12, "weights");
  for (const Rows& rows : some_rows()) {
    std::vector<double> c;
    double size = 0;
    for (std::size_t i = 0; i < rows.x.size(); ++i) {
      c.push_back(rows.name == "uneven" ? 1 : stream.normal(i, 0));
      size += std::abs(c.back());
    }
    const RowInterval interval(rows.x);
    const double half = interval.length / 2;
    for (const double cells : {0.4, 3.0, 100.0, 5000.0}) {
      const double most = cells / interval.period();
      const FrequencyTable table(interval, rows.x, c, most);
      EXPECT_GE(table.reach(), most);
      for (Index q = 0; q < 60; ++q) {
        const double f = q == 0 ? 0 : q == 1 ? most : q == 2 ? -most : most * (2 * stream.uniform(q, 1) - 1);
        const std::string what = rows.name + ", " + std::to_string(f) + " of " + std::to_string(most);
        const FrequencyTable::Sums sums = table.at(f);
        const RowInterval::Place place = interval.place(f);
        std::array<double, 4> out{};
        table.evaluate({&place.cell, 1}, {&place.offset, 1}, out);
        const double tolerance = (rows.x.size() > 3 ? 1 : 3) * table_error * size;
        const Wide zeroth = direct(rows, c, f, 0, true);
        const Wide first = direct(rows, c, f, 1, true);
        EXPECT_LT(std::abs(Wide(sums.zeroth) - zeroth), tolerance) << what;
        EXPECT_LT(std::abs(Wide(out[0], out[1]) - zeroth), tolerance) << what;
        EXPECT_LT(std::abs(Wide(sums.first) - first), tolerance * half) << what;
        EXPECT_LT(std::abs(Wide(out[2], out[3]) - first), tolerance * half) << what;
        EXPECT_LT(std::abs(Wide(sums.second) - direct(rows, c, f, 2, true)), tolerance * half * half) << what;
        // 2^-53 of a turn for each of division and taking the whole part off
        const double rounding = 2 * std::numbers::pi * std::abs(place.cell) * 0x1p-52 * size;
        EXPECT_LT(std::abs(Wide(sums.zeroth) - direct(rows, c, f, 0, false)), tolerance + rounding) << what;
      }
    }
  }
}

}  // namespace
}  // namespace mercer
