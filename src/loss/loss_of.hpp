#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/fail.hpp"
#include "loss/loss.hpp"

namespace mercer {

/// The contract over a row's formula. Loops over rows are compiled with the formula inside, one virtual call for all of
/// them.
template <class Form>
class LossOf final : public Loss {
 public:
  LossOf(Form form, std::string text) : form_(std::move(form)), text_(std::move(text)) {}

  double value(Point f, Point y) const override { return form_.value(f, y); }
  void gradient(Point f, Point y, MutPoint g) const override { form_.gradient(f, y, g); }
  void prox(double step, Point y, MutPoint v) const override { form_.prox(step, y, v); }
  double conjugate(Point a, Point y) const override { return form_.conjugate(a, y); }
  void project_dual(Point y, MutPoint a) const override { form_.project_dual(y, a); }
  double lipschitz() const override { return form_.lipschitz(); }
  double smoothness() const override { return form_.smoothness(); }
  bool is_separable() const override { return form_.is_separable(); }
  std::vector<double> pinball_levels() const override {
    if constexpr (requires { form_.pinball_levels(); }) return form_.pinball_levels();
    return {};
  }
  std::string text() const override { return text_; }

  void value_rows(ConstMatrix f, ConstMatrix y, MutPoint values) const override {
    for (Index i = 0; i < f.rows; ++i) values[static_cast<std::size_t>(i)] = form_.value(f.row(i), y.row(i));
  }
  void gradient_rows(ConstMatrix f, ConstMatrix y, MutMatrix g) const override {
    for (Index i = 0; i < f.rows; ++i) form_.gradient(f.row(i), y.row(i), g.row(i));
  }
  void prox_rows(double step, Point weights, ConstMatrix y, MutMatrix v) const override {
    for (Index i = 0; i < v.rows; ++i) {
      const double weight = weights.empty() ? 1 : weights[static_cast<std::size_t>(i)];
      form_.prox(step * weight, y.row(i), v.row(i));
    }
  }
  void conjugate_rows(ConstMatrix a, ConstMatrix y, MutPoint values) const override {
    for (Index i = 0; i < a.rows; ++i) values[static_cast<std::size_t>(i)] = form_.conjugate(a.row(i), y.row(i));
  }
  void project_dual_rows(ConstMatrix y, MutMatrix a) const override {
    for (Index i = 0; i < a.rows; ++i) form_.project_dual(y.row(i), a.row(i));
  }
  void balance_dual(Point weights, ConstMatrix y, MutMatrix a) const override { form_.balance_dual(weights, y, a); }
  void check_targets(ConstMatrix y) const override {
    for (Index i = 0; i < y.rows; ++i) {
      if (const char* problem = form_.target_problem(y.row(i))) {
        fail_argument("loss " + text_ + ", row " + std::to_string(i + 1) + " of the targets: " + problem);
      }
    }
  }

 private:
  Form form_;
  std::string text_;
};

}  // namespace mercer
