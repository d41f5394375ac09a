#pragma once
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "loss/loss.hpp"
#include "unit/loss/loss_samples.hpp"

namespace mercer {

using samples::dot;
using samples::Draw;
using samples::length;
using samples::minus;
using samples::Real;
using samples::RealVector;
using samples::Sample;
using samples::Vector;
using samples::widen;

inline constexpr double ulp = std::numeric_limits<double>::epsilon();
inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// What every loss must keep; see loss.hpp.
class LossContract : public testing::TestWithParam<Sample> {
 protected:
  const Sample& sample() const { return GetParam(); }
  std::unique_ptr<Loss> loss = make_loss(GetParam().text, GetParam().outputs);

  Real naive(const Vector& f, const Vector& y) const { return sample().naive(widen(f), y); }
  Vector gradient(const Vector& f, const Vector& y) const {
    Vector g(f.size(), 99);
    loss->gradient(f, y, g);
    return g;
  }
  Vector prox(double step, const Vector& v, const Vector& y) const {
    Vector u = v;
    loss->prox(step, y, u);
    return u;
  }
  Vector projected(Vector a, const Vector& y) const {
    loss->project_dual(y, a);
    return a;
  }
};

}  // namespace mercer
