#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace mercer {
namespace {

TEST(Text, ShortestReadsBack) {
  EXPECT_EQ(shortest(0.3), "0.3");
  EXPECT_EQ(shortest(1e-7), "1e-07");
  EXPECT_EQ(shortest(1), "1");
  EXPECT_EQ(shortest(-0.0), "-0");
  EXPECT_EQ(shortest(std::nan("")), "nan");
  EXPECT_EQ(shortest(-std::numeric_limits<double>::infinity()), "-inf");
  const Stream stream(1, "text");
  std::vector<double> values = {5e-324, std::numeric_limits<double>::max(), std::numeric_limits<double>::min(), 0.1,
                                1 / 3.0};
  for (std::uint64_t i = 0; i < 2000; ++i) values.push_back(std::ldexp(stream.normal(i, 0), static_cast<int>(i) - 1000));
  for (const double value : values) {
    double back = 0;
    ASSERT_TRUE(parse_number(shortest(value), back)) << shortest(value);
    EXPECT_EQ(back, value);
    ASSERT_TRUE(parse_number(shortest(-value), back));
    EXPECT_EQ(back, -value);
  }
}

TEST(Text, ParseNumberTakesWholeNumbersOnly) {
  double value = 0;
  for (const char* good : {"1", "+1", "-1", "1.5", ".5", "5.", "1e3", "1E-3", "-0", "inf", "-inf", "nan"}) {
    EXPECT_TRUE(parse_number(good, value)) << good;
  }
  for (const char* bad : {"", "+", "-", "++1", "+-1", "--1", " 1", "1 ", "1,5", "0x10", "1e", "e1", ".", "1_000", "1f",
                          "1e400", "one", "1\n"}) {
    EXPECT_FALSE(parse_number(bad, value)) << bad;
  }
  EXPECT_TRUE(parse_number("+2.25", value));
  EXPECT_EQ(value, 2.25);
}

TEST(Text, HumanNumbers) {
  EXPECT_EQ(human_bytes(0), "0 bytes");
  EXPECT_EQ(human_bytes(320e3), "320 kB");
  EXPECT_EQ(human_bytes(2e6), "2 MB");
  EXPECT_EQ(human_bytes(12.34e9), "12.3 GB");
  EXPECT_EQ(human_bytes(7e12), "7 TB");
  EXPECT_EQ(human_seconds(31e-3), "31 ms");
  EXPECT_EQ(human_seconds(5e-6), "5 us");
  EXPECT_EQ(human_seconds(3), "3 s");
  EXPECT_EQ(human_seconds(125), "2 min 5 s");
  EXPECT_EQ(human_seconds(7200), "2 h 0 min");
  EXPECT_EQ(human_count(12345678), "12 345 678");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1 000");
  EXPECT_EQ(human_count(-1234), "-1 234");
  EXPECT_EQ(human_count(-123), "-123");
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(2000, "row"), "2 000 rows");
  EXPECT_EQ(counted(1, "pass"), "1 pass");
  EXPECT_EQ(counted(2, "pass"), "2 passes");
}

TEST(Text, SplitJoinTrim) {
  EXPECT_EQ(split("a,b,,c", ','), (std::vector<std::string>{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(split(",", ','), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
  for (const char* text : {"", "x", "a;b", ";;", "a;;b;"}) EXPECT_EQ(join(split(text, ';'), ";"), text);
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("x"), "x");
}

TEST(Text, DidYouMean) {
  const std::vector<std::string> names = {"gaussian", "laplacian", "linear"};
  EXPECT_EQ(did_you_mean("gausian", names), " (did you mean 'gaussian'?)");
  EXPECT_EQ(did_you_mean("Linear", names), " (did you mean 'linear'?)");
  EXPECT_EQ(did_you_mean("quadratic", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean("gausian", {}), "");
  EXPECT_EQ(did_you_mean(std::string(1'000'000, 'g'), names), "");
}

TEST(Text, QuotedIsPrintableAndShort) {
  EXPECT_EQ(mercer::quoted("abc"), "'abc'");
  EXPECT_EQ(mercer::quoted(""), "''");
  EXPECT_EQ(mercer::quoted(std::string("a\nb\0c\x7f", 6)), "'a\\x0ab\\x00c\\x7f'");
  EXPECT_EQ(mercer::quoted(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(mercer::quoted(std::string(41, 'x')), "'" + std::string(40, 'x') + "…'");
  for (int c = 0; c < 256; ++c) {
    for (const char out : mercer::quoted(std::string(3, static_cast<char>(c)))) {
      EXPECT_FALSE(static_cast<unsigned char>(out) < 0x20 || out == 0x7f);
    }
  }
}

}  // namespace
}  // namespace mercer
