#include "loss/make_loss.hpp"

#include <gtest/gtest.h>
#include <mercer/error.hpp>

#include <string>
#include <vector>

namespace mercer {
namespace {

std::string refusal(const std::string& text, Index outputs) {
  try {
    return "accepted as " + make_loss(text, outputs)->text();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
}

void expect_refused(const std::string& text, Index outputs, const std::vector<std::string>& says) {
  const std::string message = refusal(text, outputs);
  for (const std::string& part : says) EXPECT_NE(message.find(part), std::string::npos) << text << ": " << message;
}

TEST(MakeLoss, StandsInWithDefaults) {
  EXPECT_EQ(make_loss("huber", 3)->text(), "huber:1.345");
  EXPECT_EQ(make_loss("huber:coordinates", 3)->text(), "huber:1.345,coordinates");
  EXPECT_EQ(make_loss("epsilon", 1)->text(), "epsilon:0.1");
  EXPECT_EQ(make_loss("epsilon2", 1)->text(), "epsilon2:0.1");
  EXPECT_EQ(make_loss(" epsilon2 : 2.50 , coordinates ", 1)->text(), "epsilon2:2.5,coordinates");
  EXPECT_EQ(make_loss("epsilon:-0", 1)->text(), "epsilon:0");
  EXPECT_EQ(make_loss("pinball:0.5", 4)->text(), "pinball:0.5");
}

TEST(MakeLoss, EveryExampleOfTheTableCanBeCopied) {
  for (const LossName& shown : loss_names()) {
    EXPECT_FALSE(shown.help.empty());
    const std::string example(shown.example.substr(0, shown.example.find(' ')));
    EXPECT_EQ(make_loss(example, 3)->text(), example);
    if (!shown.standard.empty()) {
      EXPECT_EQ(make_loss(shown.name, 3)->text(), std::string(shown.name) + ":" + std::string(shown.standard));
    }
  }
}

TEST(MakeLoss, SaysWhatIsWrongAndHowToWriteIt) {
  expect_refused("hubr", 1, {"'hubr' is unknown", "did you mean 'huber'", "square, huber"});
  expect_refused("", 1, {"unknown", "one of square"});
  expect_refused("Huber", 1, {"did you mean 'huber'"});
  expect_refused("sqared_hinge", 1, {"did you mean 'squared_hinge'"});
  expect_refused("square:1", 1, {"takes no parameters", "write for example square"});
  expect_refused("logistic:", 1, {"nothing follows the colon"});
  expect_refused("multinomial:2", 3, {"takes no parameters"});
  expect_refused("multinomial", 1, {"one output per class", "logistic"});
  for (const char* bad : {"huber:0", "huber:-1", "huber:nan", "huber:inf", "huber:x", "huber:,coordinates", "huber:1e999"}) {
    expect_refused(bad, 2, {"is not a positive number", "huber:1.345,coordinates"});
  }
  for (const char* bad : {"epsilon:-0.1", "epsilon:nan", "epsilon2:inf", "epsilon:0.1x"}) {
    expect_refused(bad, 2, {"number of at least 0", "write for example epsilon"});
  }
  expect_refused("huber:1,coordinate", 2, {"did you mean 'coordinates'"});
  expect_refused("huber:1,2", 2, {"only the word 'coordinates'"});
  expect_refused("huber:coordinates,1", 2, {"huber:1.345"});
}

TEST(MakeLoss, JudgesLevels) {
  expect_refused("pinball", 1, {"needs its levels", "pinball:0.1,0.5,0.9"});
  expect_refused("expectile", 1, {"needs its levels", "expectile:0.1"});
  for (const char* bad : {"0", "1", "-0.1", "1.5", "nan", "inf", "", "x"}) {
    expect_refused("pinball:0.01," + std::string(bad), 2, {"is not a number between 0 and 1"});
  }
  expect_refused("pinball:0.5,0.1", 2, {"must increase", "0.1 follows 0.5"});
  expect_refused("pinball:0.5,0.5", 2, {"must increase"});
  expect_refused("pinball:0.1,0.5", 3, {"2 levels for 3 outputs", "one level for all, or one for each"});
  expect_refused("expectile:0.1,0.5", 1, {"2 levels for 1 output"});
  EXPECT_EQ(make_loss("expectile:0.1,0.50", 2)->text(), "expectile:0.1,0.5");
}

TEST(MakeLoss, NeedsAnOutputAndNoMemoryForMany) {
  expect_refused("square", 0, {"at least one output"});
  expect_refused("square", -4, {"at least one output"});
  EXPECT_EQ(make_loss("pinball:0.5", Index{1} << 60)->text(), "pinball:0.5");
}

TEST(MakeLoss, LevelOneHalfIsTheSquareAndTheAbsoluteValue) {
  const auto square = make_loss("square", 2);
  const auto expectile = make_loss("expectile:0.5", 2);
  const auto pinball = make_loss("pinball:0.5", 2);
  const std::vector<double> f = {0.3, -2};
  const std::vector<double> y = {1, 1.5};
  EXPECT_DOUBLE_EQ(expectile->value(f, y), square->value(f, y));
  EXPECT_DOUBLE_EQ(pinball->value(f, y), 0.5 * (0.7 + 3.5));
  EXPECT_TRUE(make_loss("huber:1", 1)->is_separable());
  EXPECT_FALSE(make_loss("huber:1", 2)->is_separable());
  EXPECT_TRUE(make_loss("huber:1,coordinates", 2)->is_separable());
  EXPECT_FALSE(make_loss("multinomial", 2)->is_separable());
}

}  // namespace
}  // namespace mercer
