#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mercer::plot {

/// A place on the picture in pixels, y downwards.
struct Spot {
  double x = 0;
  double y = 0;
};

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

struct Paint {
  std::string fill = "none";
  std::string stroke = "none";
  double stroke_width = 1;
  double opacity = 1;
  const char* dash = "";  ///< "6 4": drawn, left out, …; empty for a solid line
  bool crisp = false;     ///< no anti-aliasing: neighbouring cells leave no seams
};

/// Text with an optional superscript at its end: {"10", "−3"} is 10⁻³.
struct Label {
  std::string text;
  std::string exponent;
  bool operator==(const Label&) const = default;
};

struct TextStyle {
  double size = 12;
  const char* anchor = "start";  ///< "start", "middle" or "end" of the text is at the spot
  const char* colour = "#333333";
  bool bold = false;
  double angle = 0;   ///< degrees, clockwise, about the spot
  bool halo = false;  ///< a white rim, to be read over lines
};

/// An SVG document written element by element. Equal calls give equal bytes; no element has an id, so that documents can be
/// put into one another.
class Svg {
 public:
  Svg(double width, double height, std::string_view title);

  void line(Spot from, Spot to, const Paint& paint);
  void path(const std::vector<Spot>& corners, bool closed, const Paint& paint);
  void rect(const Box& box, const Paint& paint);
  /// Many boxes of one colour as one element, a quarter of the bytes of as many rects.
  void boxes(const std::vector<Box>& all, const Paint& paint);
  void circle(Spot centre, double radius, const Paint& paint);
  /// Many discs of one size and colour (paint.fill) as one element.
  void dots(const std::vector<Spot>& centres, double radius, const Paint& paint);
  void text(Spot where, const Label& label, const TextStyle& style);

  /// What is drawn between the two is cut off at the edges of the box.
  void begin_clip(const Box& box);
  void end_clip();

  std::string finish() &&;

 private:
  void attribute(const char* name, double value);
  void attribute(const char* name, std::string_view value);
  void end_shape(const Paint& paint);

  std::string out_;
};

/// The text as XML character data: & < > " ' escaped; what XML cannot hold (control characters, bytes that are not UTF-8)
/// becomes U+FFFD.
std::string xml_text(std::string_view text);

/// At most two decimals, without trailing zeros, whatever the locale: "3", "0.25", "-1.5". 0 for what is not finite.
std::string pixels(double value);

/// Width of a text in a sans-serif font, estimated generously: no font is at hand to measure it.
double text_width(const Label& label, double size);

/// The text, cut with "…" where it would be wider than that.
std::string cut_to_width(std::string_view text, double size, double width);

}  // namespace mercer::plot
