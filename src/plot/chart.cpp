#include "plot/chart.hpp"

#include <algorithm>
#include <string_view>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "plot/frame.hpp"
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
  if (!good || !(value > 0)) fail_argument("only pictures made by this library can be put together");
  return value;
}

}  // namespace

std::string put_together(const std::vector<std::string>& svgs, bool downwards) {
  if (svgs.empty()) fail_argument("there is no picture to put together with others");
  double width = 0;
  double height = 0;
  for (const std::string& svg : svgs) {
    const double w = size_attribute(svg, "width");
    const double h = size_attribute(svg, "height");
    width = downwards ? std::max(width, w) : width + w;
    height = downwards ? height + h : std::max(height, h);
  }
  std::string result = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + pixels(width) + "\" height=\"" +
                       pixels(height) + "\" viewBox=\"0 0 " + pixels(width) + " " + pixels(height) + "\">\n";
  result += "<rect x=\"0\" y=\"0\" width=\"" + pixels(width) + "\" height=\"" + pixels(height) + "\" fill=\"#ffffff\"/>\n";
  Spot at;
  for (const std::string& svg : svgs) {
    result += std::string(opening) + " x=\"" + pixels(at.x) + "\" y=\"" + pixels(at.y) + "\"" + svg.substr(opening.size());
    (downwards ? at.y : at.x) += size_attribute(svg, downwards ? "height" : "width");
  }
  return result + "</svg>\n";
}

std::string side_by_side(const std::vector<std::string>& svgs) {
  return put_together(svgs, false);
}

}  // namespace mercer::plot
