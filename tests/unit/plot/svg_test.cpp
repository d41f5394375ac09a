#include "plot/svg.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <string>

#include "unit/plot/well_formed.hpp"

namespace mercer::plot {
namespace {

TEST(Svg, EscapesWhatXmlReserves) {
  EXPECT_EQ(xml_text("a < b && c > \"d\" 'e'"), "a &lt; b &amp;&amp; c &gt; &quot;d&quot; &#39;e&#39;");
  EXPECT_EQ(xml_text("Matérn 3/2 世界 𝛼"), "Matérn 3/2 世界 𝛼");
  EXPECT_EQ(xml_text("tab\tline\nend\r"), "tab line end ");
  EXPECT_EQ(xml_text(""), "");
}

TEST(Svg, ReplacesWhatXmlCannotHold) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(xml_text(std::string("a\0b\x1b", 4)), "a" + bad + "b" + bad);
  EXPECT_EQ(xml_text("caf\xe9"), "caf" + bad);
  EXPECT_EQ(xml_text("\xc0\xaf"), bad + bad);                      // overlong
  EXPECT_EQ(xml_text("\xed\xa0\x80"), bad + bad + bad);            // surrogate
  EXPECT_EQ(xml_text("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // beyond U+10FFFF
  EXPECT_EQ(xml_text("\xe4\xb8"), bad + bad);                      // cut off
  EXPECT_EQ(xml_text("\xef\xbf\xbf"), bad);                        // U+FFFF
}

TEST(Svg, PixelsAreShortAndFreeOfTheLocale) {
  EXPECT_EQ(pixels(3), "3");
  EXPECT_EQ(pixels(0.25), "0.25");
  EXPECT_EQ(pixels(-1.5), "-1.5");
  EXPECT_EQ(pixels(100), "100");
  EXPECT_EQ(pixels(-0.001), "0");
  EXPECT_EQ(pixels(1.0 / 3), "0.33");
  EXPECT_EQ(pixels(std::nan("")), "0");
  EXPECT_EQ(pixels(std::numeric_limits<double>::infinity()), "0");
  EXPECT_EQ(pixels(1e300), "0");
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr) {
    EXPECT_EQ(pixels(0.5), "0.5");
    std::setlocale(LC_NUMERIC, "C");
  }
}

TEST(Svg, CutsLongTextAtCharacters) {
  EXPECT_EQ(cut_to_width("short", 10, 100), "short");
  const std::string cut = cut_to_width("äöüäöüäöüäöü", 10, 30);  // 5 characters of 6 pixels
  EXPECT_EQ(cut, "äöüä…");
  EXPECT_LE(text_width({cut, ""}, 10), 30);
  EXPECT_EQ(cut_to_width("abc", 10, 0), "…");
}

TEST(Svg, EveryElementIsWellFormed) {
  Svg svg(100, 50, "a <title> & \"more\"");
  svg.line({0, 0}, {1, 1}, {.stroke = "#000000", .dash = "2 2"});
  svg.path({}, true, {});
  svg.path({{1, 2}, {1, 2}, {1.001, 2}, {3, 4}}, false, {.stroke = "#000000"});
  svg.rect({1, 2, 3, 4}, {.fill = "#ff0000", .opacity = 0.5, .crisp = true});
  svg.boxes({{1, 2, 3, 4}, {5, 6, 7, 8}}, {.fill = "#00ff00"});
  svg.begin_clip({0, 0, 10, 10});
  svg.circle({5, 5}, 2, {.fill = "\"><script>"});
  svg.end_clip();
  svg.text({1, 1}, {"10", "−3"}, {.bold = true, .angle = -90});
  const std::string text = std::move(svg).finish();
  EXPECT_EQ(well_formed(text), "");
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_NE(text.find("d=\"M1 2L3 4\""), std::string::npos);  // points on the same spot are one
  EXPECT_NE(text.find("M1 2h3v4h-3zM5 6h7v8h-7z"), std::string::npos);
  EXPECT_NE(text.find("width=\"100\" height=\"50\""), std::string::npos);
}

TEST(Svg, TheCheckerFindsWhatIsNotWellFormed) {
  for (const char* bad : {"<a>", "<a></b>", "<a>&</a>", "<a>x & y</a>", "<a b=c/>", "<a b=\"<\"/>", "<a/>x",
                          "<a b=\"1\" b=\"2\"/>", "<a/><b/>"}) {
    EXPECT_NE(well_formed(bad), "") << bad;
  }
  EXPECT_EQ(well_formed("<a b=\"1\">x &lt; &#39;<c/></a>\n"), "");
}

}  // namespace
}  // namespace mercer::plot
