#include "plot/chart.hpp"

#include <algorithm>
#include <string_view>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "plot/svg.hpp"

namespace mercer::plot {

namespace {

constexpr std::string_view opening = "<svg";

/// The number in name="…" of the document's first tag.
double size_attribute(std::string_view svg, std::string_view name) {
  const std::string start = " " + std::string(name) + "=\"";
  const std::string_view tag = svg.substr(0, svg.find('>'));
  const std::size_t found = tag.find(start);
  double value = 0;
  const bool good =
      svg.starts_with(opening) && found != std::string_view::npos &&
      parse_number(tag.substr(found + start.size(), tag.find('"', found + start.size()) - found - start.size()), value);
  if (!good || !(value > 0)) fail_argument("side_by_side takes pictures made by this library");
  return value;
}

}  // namespace

std::string side_by_side(const std::vector<std::string>& svgs) {
  if (svgs.empty()) fail_argument("side_by_side needs at least one picture");
  double width = 0;
  double height = 0;
  for (const std::string& svg : svgs) {
    width += size_attribute(svg, "width");
    height = std::max(height, size_attribute(svg, "height"));
  }
  std::string result = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + pixels(width) + "\" height=\"" +
                       pixels(height) + "\" viewBox=\"0 0 " + pixels(width) + " " + pixels(height) + "\">\n";
  result += "<rect x=\"0\" y=\"0\" width=\"" + pixels(width) + "\" height=\"" + pixels(height) + "\" fill=\"#ffffff\"/>\n";
  double x = 0;
  for (const std::string& svg : svgs) {
    result += std::string(opening) + " x=\"" + pixels(x) + "\" y=\"0\"" + svg.substr(opening.size());
    x += size_attribute(svg, "width");
  }
  return result + "</svg>\n";
}

}  // namespace mercer::plot
