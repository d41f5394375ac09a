#pragma once
#include <mercer/model.hpp>

#include "unit/solve/data.hpp"

/// Models on data in awkward units.
namespace mercer::samples {

struct Predicted {
  Matrix<double> mean;
  Matrix<double> deviation;
};

inline Predicted predict(const Model& model, ConstMatrix x, bool latent = false) {
  Predicted p{Matrix<double>(x.rows, model.outputs()), Matrix<double>(x.rows, model.outputs())};
  model.predict(x, p.mean, p.deviation, latent);
  return p;
}

inline Matrix<double> mean_of(const Model& model, ConstMatrix x) {
  Matrix<double> mean(x.rows, model.outputs());
  model.predict(x, mean);
  return mean;
}

inline double relative(const Dense& a, const Dense& b) {
  return (a - b).norm() / b.norm();
}

/// Data with offsets and units that scaling must undo.
inline Data raw_data(Index n, Index inputs, Index outputs) {
  Data s = data(n, inputs, outputs);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < inputs; ++k)
      s.x(i, k) = 100.0 * static_cast<double>(k) + (1 + 5.0 * static_cast<double>(k)) * s.x(i, k);
    for (Index a = 0; a < outputs; ++a) s.y(i, a) = 40 - 3.0 * static_cast<double>(a + 1) * s.y(i, a);
  }
  return s;
}

}  // namespace mercer::samples
