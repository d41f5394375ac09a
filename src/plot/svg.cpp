#include "plot/svg.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace mercer::plot {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

/// Length in bytes of the character that begins at `position`; 0 when it is not valid UTF-8. Overlong forms, surrogates and
/// values beyond U+10FFFF are caught by the range of the second byte (RFC 3629, section 4).
std::size_t character_length(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) {
    return position + i < text.size() ? static_cast<unsigned char>(text[position + i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

std::string_view escaped(std::string_view character) {
  switch (character[0]) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\t':
    case '\n':
    case '\r':
      return " ";
    default:
      break;
  }
  const bool forbidden =
      static_cast<unsigned char>(character[0]) < 0x20 || character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
  return forbidden ? replacement : character;
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    result += length == 0 ? replacement : escaped(text.substr(i, length));
    i += length == 0 ? 1 : length;
  }
  return result;
}

std::string pixels(double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e9) return "0";
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, 2);
  std::string text(buffer.data(), result.ptr);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

double text_width(const Label& label, double size) {
  constexpr double per_character = 0.6;
  return per_character * size *
         (static_cast<double>(character_count(label.text)) + 0.75 * static_cast<double>(character_count(label.exponent)));
}

std::string cut_to_width(std::string_view text, double size, double width) {
  if (text_width({std::string(text), ""}, size) <= width) return std::string(text);
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    const std::string longer = result + std::string(text.substr(i, length == 0 ? 1 : length));
    if (text_width({longer + "…", ""}, size) > width) break;
    result = longer;
    i += length == 0 ? 1 : length;
  }
  return result + "…";
}

Svg::Svg(double width, double height, std::string_view title) {
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + pixels(width) + "\" height=\"" + pixels(height) +
         "\" viewBox=\"0 0 " + pixels(width) + " " + pixels(height) +
         "\" role=\"img\" font-family=\"Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif\">\n";
  if (!title.empty()) out_ += "<title>" + xml_text(title) + "</title>\n";
  rect({0, 0, width, height}, {.fill = "#ffffff"});
}

void Svg::attribute(const char* name, std::string_view value) {
  out_ += ' ';
  out_ += name;
  out_ += "=\"";
  out_ += xml_text(value);
  out_ += '"';
}

void Svg::attribute(const char* name, double value) {
  attribute(name, pixels(value));
}

void Svg::end_shape(const Paint& paint) {
  attribute("fill", paint.fill);
  if (paint.stroke != "none") {
    attribute("stroke", paint.stroke);
    attribute("stroke-width", paint.stroke_width);
    if (*paint.dash != 0) attribute("stroke-dasharray", paint.dash);
  }
  if (paint.opacity < 1) attribute("opacity", paint.opacity);
  if (paint.crisp) attribute("shape-rendering", "crispEdges");
  out_ += "/>\n";
}

void Svg::line(Spot from, Spot to, const Paint& paint) {
  out_ += "<line";
  attribute("x1", from.x);
  attribute("y1", from.y);
  attribute("x2", to.x);
  attribute("y2", to.y);
  end_shape(paint);
}

void Svg::path(const std::vector<Spot>& corners, bool closed, const Paint& paint) {
  if (corners.empty()) return;
  out_ += "<path d=\"";
  std::string last;
  for (const Spot& corner : corners) {
    std::string here = pixels(corner.x) + " " + pixels(corner.y);
    if (here == last) continue;  // a million points on one pixel are one corner
    out_ += last.empty() ? "M" : "L";
    out_ += here;
    last = std::move(here);
  }
  out_ += closed ? "Z\"" : "\"";
  if (paint.stroke != "none") out_ += " stroke-linejoin=\"round\" stroke-linecap=\"round\"";
  end_shape(paint);
}

void Svg::rect(const Box& box, const Paint& paint) {
  out_ += "<rect";
  attribute("x", box.x);
  attribute("y", box.y);
  attribute("width", box.width);
  attribute("height", box.height);
  end_shape(paint);
}

void Svg::boxes(const std::vector<Box>& all, const Paint& paint) {
  if (all.empty()) return;
  out_ += "<path d=\"";
  for (const Box& box : all) {
    const std::string width = pixels(box.width);
    out_ += "M" + pixels(box.x) + " " + pixels(box.y) + "h" + width + "v" + pixels(box.height) + "h-" + width + "z";
  }
  out_ += '"';
  end_shape(paint);
}

void Svg::circle(Spot centre, double radius, const Paint& paint) {
  out_ += "<circle";
  attribute("cx", centre.x);
  attribute("cy", centre.y);
  attribute("r", radius);
  end_shape(paint);
}

void Svg::dots(const std::vector<Spot>& centres, double radius, const Paint& paint) {
  if (centres.empty()) return;
  out_ += "<path d=\"";
  for (const Spot& centre : centres) out_ += "M" + pixels(centre.x) + " " + pixels(centre.y) + "h0";
  out_ += "\" stroke-linecap=\"round\"";  // a line of no length has round ends all the same
  end_shape({.stroke = paint.fill, .stroke_width = 2 * radius, .opacity = paint.opacity});
}

void Svg::text(Spot where, const Label& label, const TextStyle& style) {
  if (label.text.empty()) return;
  out_ += "<text";
  attribute("x", where.x);
  attribute("y", where.y);
  attribute("font-size", style.size);
  attribute("text-anchor", style.anchor);
  attribute("fill", style.colour);
  if (style.bold) attribute("font-weight", "600");
  if (style.halo) out_ += " stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
  if (style.angle != 0) {
    attribute("transform", "rotate(" + pixels(style.angle) + " " + pixels(where.x) + " " + pixels(where.y) + ")");
  }
  out_ += '>';
  out_ += xml_text(label.text);
  if (!label.exponent.empty()) {
    // dy instead of baseline-shift, which not every browser draws.
    out_ += "<tspan dy=\"" + pixels(-0.42 * style.size) + "\" font-size=\"" + pixels(0.75 * style.size) + "\">" +
            xml_text(label.exponent) + "</tspan>";
  }
  out_ += "</text>\n";
}

void Svg::begin_clip(const Box& box) {
  out_ += "<svg";  // a nested svg clips by itself; a clipPath would need an id
  attribute("x", box.x);
  attribute("y", box.y);
  attribute("width", box.width);
  attribute("height", box.height);
  attribute("viewBox", pixels(box.x) + " " + pixels(box.y) + " " + pixels(box.width) + " " + pixels(box.height));
  out_ += ">\n";
}

void Svg::end_clip() {
  out_ += "</svg>\n";
}

std::string Svg::finish() && {
  return std::move(out_) + "</svg>\n";
}

}  // namespace mercer::plot
