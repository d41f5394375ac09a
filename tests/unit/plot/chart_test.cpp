#include "plot/chart.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <mercer/error.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "plot/svg.hpp"
#include "unit/plot/well_formed.hpp"

namespace mercer::plot {
namespace {

const double nan_value = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Series series(const std::string& name, std::vector<double> x, std::vector<double> y,
              Series::Mark mark = Series::Mark::line) {
  return {.name = name, .x = std::move(x), .y = std::move(y), .low = {}, .high = {}, .mark = mark};
}

LineChart line_chart() {
  LineChart chart;
  chart.title = "error & <time> of \"us\"";
  chart.x_label = "features D";
  chart.y_label = "|k − k̂|";
  chart.log_x = true;
  chart.log_y = true;
  for (int k = 0; k < 12; ++k) {
    chart.series.push_back(series("series <" + std::to_string(k) + ">", {1, 10, 100, 1000}, {1, 0.5, 0.1, 0.01 + k},
                                  static_cast<Series::Mark>(k % 4)));
  }
  chart.series[0].low = {0.5, 0.2, 0.05, 0.005};
  chart.series[0].high = {2, 1, 0.2, 0.02};
  return chart;
}

FieldChart field_chart(int size) {
  FieldChart chart;
  chart.title = "wind";
  chart.x_label = "x";
  chart.y_label = "y";
  chart.background_label = "speed";
  chart.x_min = chart.y_min = -1;
  chart.x_max = chart.y_max = 1;
  for (int i = 0; i < size * size; ++i) {
    const double x = -1 + (2.0 * (i % size) + 1) / size;
    const double y = -1 + (2.0 * (i / size) + 1) / size;
    chart.x.push_back(x);
    chart.y.push_back(y);
    chart.u.push_back(-y);
    chart.v.push_back(x);
    chart.background.push_back(std::hypot(x, y));
  }
  chart.grid_rows = chart.grid_cols = size;
  return chart;
}

TableChart table_chart(int size) {
  TableChart chart;
  chart.title = "confusion";
  chart.x_label = "predicted";
  chart.y_label = "true";
  for (int i = 0; i < size; ++i) chart.row_names.push_back("class " + std::to_string(i));
  chart.col_names = chart.row_names;
  for (int i = 0; i < size * size; ++i) chart.values.push_back(i % (size + 1) == 0 ? 90 : i % 3);
  return chart;
}

/// One of each, among them everything odd: nothing at all, one point, nothing that can be drawn, extremes, bad text.
std::vector<std::string> all_charts() {
  std::vector<std::string> svgs = {render(line_chart()), render(field_chart(9)), render(table_chart(4)), render(LineChart{}),
                                   render(FieldChart{}), render(TableChart{}),   render(table_chart(60))};
  LineChart odd;
  odd.title = std::string(500, 'W');
  odd.x_label = std::string("\x01\xff\0&", 4);
  odd.y_label = odd.title;
  odd.series = {series("", {}, {}), series("one", {1}, {2}), series("none", {1, 2}, {nan_value, infinity}),
                series("huge", {-1e300, 1e300, 1e299}, {1e299, -1e299, 1e308}),
                series(std::string(300, 'M'), {1, 1}, {1, 1})};
  svgs.push_back(render(odd));
  odd.log_x = odd.log_y = true;
  svgs.push_back(render(odd));
  FieldChart field = field_chart(5);
  field.u.assign(25, 0);
  field.v.assign(25, 0);
  field.background.assign(25, 3);
  svgs.push_back(render(field));
  field.u[3] = nan_value;
  field.v[4] = infinity;
  field.u[5] = 1e300;
  field.background[7] = nan_value;
  field.x_max = nan_value;
  field.y_max = field.y_min;
  svgs.push_back(render(field));
  field.background.assign(25, nan_value);
  field.x.assign(25, 1);
  svgs.push_back(render(field));
  svgs.push_back(side_by_side(svgs));
  return svgs;
}

TEST(Chart, EveryPictureIsWellFormed) {
  for (const std::string& svg : all_charts()) {
    EXPECT_EQ(well_formed(svg), "") << svg.substr(0, 300);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_EQ(svg.find(" id="), std::string::npos);
  }
}

TEST(Chart, PythonsXmlParserReadsThem) {
  const std::string python = std::string(MERCER_TEST_DIR) + "/../build/venv/bin/python";
  if (access(python.c_str(), X_OK) != 0) GTEST_SKIP() << python << " is not there";
  std::string folder = ::testing::TempDir() + "mercer-plot-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  int number = 0;
  for (const std::string& svg : all_charts()) std::ofstream(folder + "/" + std::to_string(number++) + ".svg") << svg;
  const std::string command = "'" + python +
                              "' -c \"import sys, xml.etree.ElementTree as e; [e.parse(f) for f in sys.argv[1:]]\" '" +
                              folder + "'/*.svg 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove_all(folder);
}

TEST(Chart, SamePictureSameBytes) {
  EXPECT_EQ(all_charts(), all_charts());
}

TEST(Chart, TextIsEscapedAndShown) {
  const std::string svg = render(line_chart());
  EXPECT_EQ(count(svg, "error &amp; &lt;time&gt; of &quot;us&quot;"), 2U);  // title element and drawn title
  EXPECT_EQ(count(svg, "series &lt;3&gt;"), 1U);
  EXPECT_EQ(count(svg, ">features D<"), 1U);
  EXPECT_NE(svg.find("width=\"720\" height=\"480\""), std::string::npos);
  EXPECT_NE(svg.find(">10<tspan"), std::string::npos);
}

/// All that is drawn of the data lies inside the box of the axes, under the legend and the title.
TEST(Chart, LegendAndDataDoNotOverlap) {
  const std::string svg = render(line_chart());
  const std::size_t clip = svg.find("<svg", 1);
  const std::string before = svg.substr(0, clip);
  std::smatch match;
  ASSERT_TRUE(std::regex_search(svg.cbegin() + static_cast<std::ptrdiff_t>(clip), svg.cend(), match,
                                std::regex(R"re( y="([0-9.]+)")re")));
  const double plot_top = std::stod(match[1]) + 5;
  const std::regex legend_text(R"re(<text x="[0-9.]+" y="([0-9.]+)"[^>]*>series)re");
  int entries = 0;
  for (auto i = std::sregex_iterator(before.begin(), before.end(), legend_text); i != std::sregex_iterator();
       ++i, ++entries) {
    EXPECT_LT(std::stod((*i)[1]), plot_top);
  }
  EXPECT_EQ(entries, 12);
}

TEST(Chart, PointsThatAreNotFiniteInterruptTheLine) {
  LineChart chart;
  chart.series = {series("", {0, 1, 2, 3, 4, 5}, {0, 1, nan_value, 3, infinity, 5})};
  std::string svg = render(chart);
  EXPECT_EQ(count(svg, "<path"), 1U);    // 0 – 1
  EXPECT_EQ(count(svg, "<circle"), 2U);  // 3 and 5 stand alone
  chart.series[0].mark = Series::Mark::points;
  svg = render(chart);
  EXPECT_EQ(count(svg, "<path"), 0U);
  EXPECT_EQ(count(svg, "<circle"), 4U);
  chart.log_y = true;  // 0 has no logarithm
  EXPECT_EQ(count(render(chart), "<circle"), 3U);
}

TEST(Chart, BandsAreClosedAndBreakWhereTheyEnd) {
  LineChart chart;
  chart.series = {series("", {0, 1, 2, 3, 4}, {0, 0, 0, 0, 0})};
  chart.series[0].low = {-1, -1, nan_value, -1, -1};
  chart.series[0].high = {1, 1, 1, 1, 1};
  EXPECT_EQ(count(render(chart), "Z\""), 2U);
}

TEST(Chart, EveryCellAndArrowIsDrawn) {
  const std::string svg = render(field_chart(9));
  EXPECT_EQ(count(svg, "Z\""), 80U);  // arrows; the one in the middle is 0
  EXPECT_EQ(count(svg, "<circle"), 1U);
  EXPECT_NE(svg.find(">speed<"), std::string::npos);
  EXPECT_NE(svg.find("longest arrow 1.26"), std::string::npos);  // √2 · 8/9 = 1.257
  std::smatch plot;
  ASSERT_TRUE(
      std::regex_search(svg, plot, std::regex(R"re(<svg x="[0-9.]+" y="[0-9.]+" width="([0-9.]+)" height="([0-9.]+)")re")));
  double area = 0;
  const std::regex box("h([0-9.]+)v([0-9.]+)h-");
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), box); i != std::sregex_iterator(); ++i) {
    area += (std::stod((*i)[1]) - 0.4) * (std::stod((*i)[2]) - 0.4);  // cells overlap by 0.4 pixels
  }
  EXPECT_NEAR(area / (std::stod(plot[1]) * std::stod(plot[2])), 1, 1e-3);
}

/// An arrow (1, 0) points right and (0, 1) up: the tip is the fourth corner of its outline.
TEST(Chart, ArrowsPointTheWayOfTheField) {
  FieldChart chart;
  chart.x = {0, 1};
  chart.y = {0, 1};
  chart.u = {1, 0};
  chart.v = {0, 1};
  chart.x_min = chart.y_min = -1;
  chart.x_max = chart.y_max = 2;
  const std::string svg = render(chart);
  const std::regex outline(R"re(<path d="M([0-9.]+) ([0-9.]+)L[^L]+L[^L]+L([0-9.]+) ([0-9.]+)L)re");
  auto arrow = std::sregex_iterator(svg.begin(), svg.end(), outline);
  ASSERT_NE(arrow, std::sregex_iterator());
  EXPECT_GT(std::stod((*arrow)[3]), std::stod((*arrow)[1]) + 10);
  EXPECT_NEAR(std::stod((*arrow)[4]), std::stod((*arrow)[2]), 2);
  ++arrow;
  ASSERT_NE(arrow, std::sregex_iterator());
  EXPECT_LT(std::stod((*arrow)[4]), std::stod((*arrow)[2]) - 10);
  EXPECT_NEAR(std::stod((*arrow)[3]), std::stod((*arrow)[1]), 2);
}

/// The first row of the background is at the bottom.
TEST(Chart, BackgroundRowsGoUp) {
  FieldChart chart;
  chart.x_max = chart.y_max = 1;
  chart.grid_rows = 2;
  chart.grid_cols = 1;
  chart.background = {0, 1};
  const std::string svg = render(chart);
  const auto top_of = [&](const std::string& fill) {
    std::smatch match;
    EXPECT_TRUE(std::regex_search(svg, match, std::regex("d=\"M[0-9.]+ ([0-9.]+)h[^\"]*\" fill=\"" + fill + "\"")));
    return std::stod(match[1]);
  };
  EXPECT_GT(top_of("#440154"), top_of("#fde725"));
}

TEST(Chart, SidesKeepTheirProportions) {
  FieldChart chart;
  chart.x_max = 2;
  chart.y_max = 1;
  const std::string svg = render(chart);
  std::smatch match;
  ASSERT_TRUE(
      std::regex_search(svg, match, std::regex(R"re(<svg x="[0-9.]+" y="[0-9.]+" width="([0-9.]+)" height="([0-9.]+)")re")));
  EXPECT_NEAR(std::stod(match[1]) / std::stod(match[2]), 2, 0.001);
}

TEST(Chart, SideBySideAddsWidths) {
  const std::string line = render(LineChart{});
  const std::string both = side_by_side({line, line});
  EXPECT_TRUE(both.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1440\" height=\"480\""));
  EXPECT_NE(both.find("<svg x=\"720\" y=\"0\""), std::string::npos);
  EXPECT_EQ(well_formed(side_by_side({both, line})), "");
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{}, {""}, {"<svg"}, {"<svg width=\"a\" height=\"1\">"}, {"hello"}}) {
    EXPECT_THROW(side_by_side(bad), Error);
  }
}

TEST(Chart, SizesThatDoNotAgreeAreRefused) {
  LineChart line;
  line.series = {series("a", {1, 2}, {1})};
  EXPECT_THROW(render(line), Error);
  line.series = {series("a", {1, 2}, {1, 2})};
  line.series[0].low = {1, 2};
  EXPECT_THROW(render(line), Error);
  line.series[0].high = {1};
  EXPECT_THROW(render(line), Error);
  FieldChart field = field_chart(3);
  field.u.pop_back();
  EXPECT_THROW(render(field), Error);
  field = field_chart(3);
  field.grid_rows = 4;
  EXPECT_THROW(render(field), Error);
  field.grid_rows = -3;
  field.grid_cols = -3;
  EXPECT_THROW(render(field), Error);
  TableChart table = table_chart(3);
  table.values.pop_back();
  EXPECT_THROW(render(table), Error);
}

TEST(Chart, AMillionPointsStayASmallLine) {
  Series curve;
  for (int i = 0; i < 1000000; ++i) {
    curve.x.push_back(i);
    curve.y.push_back(0);
  }
  LineChart chart;
  chart.series = {curve};
  EXPECT_LT(render(chart).size(), 2000000U);
}

TEST(Chart, NestedBandsAreDrawnAndShownInTheLegend) {
  LineChart chart;
  chart.series = {series("fan", {0, 1, 2}, {0, 0, 0})};
  chart.series[0].low = {-2, -2, -2};
  chart.series[0].high = {2, 2, 2};
  chart.series[0].inner = {{{-1, -1, -1}, {1, 1, 1}}};
  const std::string svg = render(chart);
  EXPECT_EQ(count(svg, "Z\""), 2U);
  EXPECT_EQ(count(svg, "opacity=\"0.18\""), 4U);  // two in the plot, two in the legend
  chart.series[0].inner[0].low.pop_back();
  EXPECT_THROW(render(chart), Error);
  chart.series[0].inner[0].low.push_back(-1);
  chart.series[0].low.clear();
  chart.series[0].high.clear();
  EXPECT_THROW(render(chart), Error);  // an inner band without an outer one
}

TEST(Chart, ManyPointsAreOneElement) {
  LineChart chart;
  std::vector<double> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  chart.series = {series("", x, x, Series::Mark::points)};
  const std::string svg = render(chart);
  EXPECT_EQ(count(svg, "<circle"), 0U);
  EXPECT_EQ(count(svg, "h0"), 1000U);
}

TEST(Chart, RulesAndNotesStayInsideAndApart) {
  LineChart chart;
  chart.series = {series("", {0, 1, 2}, {0, 5, 0})};
  chart.rules = {{1.5, "training ends"}, {7, "outside"}, {nan_value, "nowhere"}};
  for (int k = 0; k < 9; ++k) chart.notes.push_back({1, 5, "peak " + std::to_string(k)});
  chart.notes.push_back({0, 0, "a long note at the very edge"});
  chart.notes.push_back({nan_value, 0, "nothing"});
  const std::string svg = render(chart);
  EXPECT_EQ(well_formed(svg), "");
  EXPECT_EQ(count(svg, ">training ends<"), 1U);
  EXPECT_EQ(count(svg, "outside") + count(svg, "nowhere") + count(svg, "nothing"), 0U);
  EXPECT_EQ(count(svg, ">peak 0<"), 1U);
  EXPECT_EQ(count(svg, ">peak 8<"), 0U);  // no room left above
  const std::regex place(R"re(<text x="([0-9.]+)" y="([0-9.]+)"[^>]*paint-order[^>]*>([^<]+)<)re");
  std::vector<std::pair<double, double>> seen;
  for (auto i = std::sregex_iterator(svg.begin(), svg.end(), place); i != std::sregex_iterator(); ++i) {
    const double half = text_width({(*i)[3], ""}, 12) / 2;
    EXPECT_GE(std::stod((*i)[1]) - half, 0);
    EXPECT_LE(std::stod((*i)[1]) + half, 720);
    for (const auto& [x, y] : seen) {
      const bool near = std::abs(x - std::stod((*i)[1])) < 30;
      EXPECT_TRUE(!near || std::abs(y - std::stod((*i)[2])) >= 12);
    }
    seen.emplace_back(std::stod((*i)[1]), std::stod((*i)[2]));
  }
  EXPECT_GE(seen.size(), 2U);
}

/// What lies outside the given limits is cut off, also when it is too large for any coordinate.
TEST(Chart, LimitsOfTheHeight) {
  LineChart chart;
  chart.series = {series("", {0, 1, 2, 3}, {0, 1, 1e200, 0})};
  chart.y_low = -1;
  chart.y_high = 2;
  const std::string svg = render(chart);
  EXPECT_NE(svg.find(">1.5<"), std::string::npos);
  EXPECT_EQ(count(svg, "×10"), 0U);
  EXPECT_EQ(count(svg, "<path"), 1U);
  EXPECT_EQ(svg.find(" 0L"), std::string::npos);  // 1e200 is high up, not at 0
}

TEST(Chart, PanelsBeginAtTheSamePlace) {
  LineChart narrow;
  narrow.title = "narrow";
  narrow.y_label = "y";
  narrow.series = {series("a", {0, 1}, {0, 1})};
  narrow.height = 300;
  LineChart wide = narrow;
  wide.title = "wide";
  wide.series[0].y = {-100000, 200000};
  const std::string both = render(std::vector{narrow, wide});
  EXPECT_EQ(well_formed(both), "");
  EXPECT_NE(both.find("width=\"720\" height=\"600\""), std::string::npos);
  const std::regex clip(R"re(<svg x="([0-9.]+)" y="[0-9.]+" width="[0-9.]+" height="[0-9.]+" viewBox)re");
  std::vector<std::string> left;
  for (auto i = std::sregex_iterator(both.begin(), both.end(), clip); i != std::sregex_iterator(); ++i)
    left.push_back((*i)[1]);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0], left[1]);
  EXPECT_EQ(render(std::vector{wide}), render(wide));
  EXPECT_THROW(render(std::vector<LineChart>{}), Error);
  wide.width = 20;
  EXPECT_THROW(render(wide), Error);
  wide.width = nan_value;
  EXPECT_THROW(render(wide), Error);
}

}  // namespace
}  // namespace mercer::plot
