#include "base/matrix.hpp"
#include "unit/loss/loss_contract.hpp"

namespace mercer {
namespace {

TEST_P(LossContract, RowsAreTheSameAsOneByOne) {
  Draw draw(sample(), 13);
  const Index n = 17;
  const Index p = sample().outputs;
  Matrix<double> wide_y(n, p + 2);  // strided views
  Matrix<double> f(n, p);
  Vector weights(n);
  const MutMatrix y = wide_y.view().col_range(1, p);
  for (Index i = 0; i < n; ++i) {
    const Vector target = draw.target();
    const Vector prediction = draw.prediction(target, static_cast<int>(i));
    std::copy(target.begin(), target.end(), y.row(i).begin());
    std::copy(prediction.begin(), prediction.end(), f.row(i).begin());
    weights[static_cast<std::size_t>(i)] = i == 3 ? 0 : draw.uniform(0, 2);
  }
  Vector values(n);
  Vector conjugates(n);
  Matrix<double> g(n, p);
  Matrix<double> moved = f;
  Matrix<double> weighted = f;
  Matrix<double> inside = f;
  loss->value_rows(f, y, values);
  loss->gradient_rows(f, y, g);
  loss->prox_rows(0.8, {}, y, moved);
  loss->prox_rows(0.8, weights, y, weighted);
  loss->project_dual_rows(y, inside);
  loss->conjugate_rows(inside, y, conjugates);
  for (Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const Vector target(y.row(i).begin(), y.row(i).end());
    const Vector prediction(f.row(i).begin(), f.row(i).end());
    const auto same = [&](const Matrix<double>& m, const Vector& expected) {
      EXPECT_EQ(Vector(m.row(i).begin(), m.row(i).end()), expected) << i;
    };
    EXPECT_EQ(values[row], loss->value(prediction, target));
    same(g, gradient(prediction, target));
    same(moved, prox(0.8, prediction, target));
    same(weighted, prox(0.8 * weights[row], prediction, target));
    same(inside, projected(prediction, target));
    EXPECT_EQ(conjugates[row], loss->conjugate(projected(prediction, target), target));
  }
  EXPECT_EQ(Vector(weighted.row(3).begin(), weighted.row(3).end()), Vector(f.row(3).begin(), f.row(3).end()));
}

TEST_P(LossContract, TargetsAreChecked) {
  Draw draw(sample(), 16);
  Matrix<double> y(3, sample().outputs);
  for (Index i = 0; i < 3; ++i) {
    const Vector target = draw.target();
    std::copy(target.begin(), target.end(), y.row(i).begin());
  }
  loss->check_targets(y);
  for (const double bad : {std::nan(""), infinite}) {
    y(1, 0) = bad;
    try {
      loss->check_targets(y);
      ADD_FAILURE() << "accepted";
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("row 2"), std::string::npos) << error.what();
    }
  }
  y(1, 0) = 0.5;
  if (sample().targets == samples::Targets::numbers) {
    EXPECT_NO_THROW(loss->check_targets(y));
  } else {
    EXPECT_ANY_THROW(loss->check_targets(y));
  }
}

TEST_P(LossContract, TextReadsBack) {
  EXPECT_EQ(loss->text(), sample().text);
  EXPECT_EQ(make_loss(loss->text(), sample().outputs)->text(), loss->text());
}

}  // namespace
}  // namespace mercer
