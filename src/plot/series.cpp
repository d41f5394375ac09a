#include "plot/series.hpp"

#include <array>

#include "plot/colour.hpp"

namespace mercer::plot {

namespace {

/// One closed path per unbroken run, there along the upper edge and back along the lower.
void draw_band(Svg& svg, const std::vector<double>& places, const std::vector<double>& low, const std::vector<double>& high,
               const Paint& paint, const Axis& x, const Axis& y) {
  std::vector<Spot> upper;
  std::vector<Spot> lower;
  const auto flush = [&] {
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    svg.path(upper, true, paint);
    upper.clear();
    lower.clear();
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!drawable(places[i], x.log()) || !drawable(low[i], y.log()) || !drawable(high[i], y.log())) {
      flush();
      continue;
    }
    upper.push_back({x.pixel(places[i]), y.pixel(high[i])});
    lower.push_back({x.pixel(places[i]), y.pixel(low[i])});
  }
  flush();
}

}  // namespace

bool has_line(const Series& series) {
  return series.mark != Series::Mark::points && series.mark != Series::Mark::band;
}
bool has_points(const Series& series) {
  return series.mark == Series::Mark::points || series.mark == Series::Mark::line_points;
}
bool has_band(const Series& series) {
  return !series.low.empty();
}

std::string colour_of(const Series& series, std::size_t number) {
  return series_colour(series.colour.value_or(number));
}

/// The eight colours come again with other dashes, so that sixteen series can be told apart, and more.
Paint line_paint(const Series& series, std::size_t number) {
  constexpr std::array<const char*, 4> again = {"", "2 4", "10 4 2 4", "12 6"};
  const std::size_t round = series.colour ? 0 : number / series_colours % again.size();
  return {.stroke = colour_of(series, number),
          .stroke_width = series.stroke,
          .dash = series.mark == Series::Mark::dashed ? "7 5" : again[round]};
}

void draw_bands(Svg& svg, const Series& series, std::size_t number, const Axis& x, const Axis& y) {
  const Paint paint{.fill = colour_of(series, number), .opacity = band_opacity};
  if (has_band(series)) draw_band(svg, series.x, series.low, series.high, paint, x, y);
  for (const Band& band : series.inner) draw_band(svg, series.x, band.low, band.high, paint, x, y);
}

void draw_series(Svg& svg, const Series& series, std::size_t number, const Axis& x, const Axis& y) {
  const std::string colour = colour_of(series, number);
  std::vector<Spot> run;
  std::vector<Spot> all;
  const auto flush = [&] {
    if (has_line(series) && run.size() > 1) svg.path(run, false, line_paint(series, number));
    if (has_line(series) && run.size() == 1) svg.circle(run[0], 2, {.fill = colour});
    run.clear();
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!drawable(series.x[i], x.log()) || !drawable(series.y[i], y.log())) {
      flush();
      continue;
    }
    run.push_back({x.pixel(series.x[i]), y.pixel(series.y[i])});
    all.push_back(run.back());
  }
  flush();
  if (!has_points(series)) return;
  if (!has_line(series) && all.size() > 200) {
    svg.dots(all, all.size() > 1000 ? 1.4 : 1.8, {.fill = colour, .opacity = 0.75});
    return;
  }
  for (const Spot& spot : all) {
    if (has_line(series)) {
      svg.circle(spot, 3.8, {.fill = colour, .stroke = "#ffffff", .stroke_width = 1.2});
    } else {
      svg.circle(spot, all.size() > 60 ? 2.4 : 3.2, {.fill = colour, .opacity = 0.75});
    }
  }
}

}  // namespace mercer::plot
