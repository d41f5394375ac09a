#pragma once
#include <mercer/kernel.hpp>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/exp_sinh.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "base/matrix.hpp"

// The formulas of the kernels and the distribution functions of their frequencies, written out once more.
namespace mercer::oracle {

/// One law: the kernel, k(δ), and the distribution function of ω_i.
struct Law {
  std::string name;
  Kernel kernel;
  std::function<double(Point)> value;
  std::function<double(double, Index)> margin;
  bool rotates = true;  ///< orthogonal sampling is allowed
};

inline LengthScale one(double value) {
  return {{value}, false};
}
/// A different length scale for every input.
inline LengthScale many(Index d) {
  LengthScale scale;
  for (Index i = 0; i < d; ++i) scale.values.push_back(0.5 + 0.4 * static_cast<double>(i));
  return scale;
}

inline double normal_cdf(double t) {
  return 0.5 * std::erfc(-t / std::numbers::sqrt2);
}

inline double squared_distance(Point delta, const LengthScale& scale) {
  double sum = 0;
  for (Index i = 0; i < static_cast<Index>(delta.size()); ++i) sum += delta[i] * delta[i] / (scale[i] * scale[i]);
  return sum;
}

inline Law gaussian(const LengthScale& scale) {
  return {"gaussian", Kernel{Gaussian{scale}}, [=](Point delta) { return std::exp(-0.5 * squared_distance(delta, scale)); },
          [=](double t, Index i) { return normal_cdf(t * scale[i]); }};
}

inline Law matern(const LengthScale& scale, double nu) {
  return {"matern " + std::to_string(nu), Kernel{Matern{scale, nu}},
          [=](Point delta) {
            const double s = std::sqrt(2 * nu * squared_distance(delta, scale));
            return s == 0 ? 1 : std::pow(2, 1 - nu) / std::tgamma(nu) * std::pow(s, nu) * std::cyl_bessel_k(nu, s);
          },
          [=](double t, Index i) { return boost::math::cdf(boost::math::students_t(2 * nu), t * scale[i]); }};
}

inline Law laplacian(const LengthScale& scale) {
  return {"laplacian", Kernel{Laplacian{scale}},
          [=](Point delta) {
            double sum = 0;
            for (Index i = 0; i < static_cast<Index>(delta.size()); ++i) sum += std::abs(delta[i]) / scale[i];
            return std::exp(-sum);
          },
          [=](double t, Index i) { return 0.5 + std::atan(t * scale[i]) / std::numbers::pi; }, false};
}

inline Law cauchy(const LengthScale& scale) {
  return {"cauchy", Kernel{Cauchy{scale}},
          [=](Point delta) {
            double product = 1;
            for (Index i = 0; i < static_cast<Index>(delta.size()); ++i) {
              product /= 1 + delta[i] * delta[i] / (scale[i] * scale[i]);
            }
            return product;
          },
          [=](double t, Index i) {
            const double s = t * scale[i];
            return s < 0 ? 0.5 * std::exp(s) : 1 - 0.5 * std::exp(-s);
          },
          false};
}

inline Law rational_quadratic(const LengthScale& scale, double alpha) {
  return {"rational_quadratic " + std::to_string(alpha), Kernel{RationalQuadratic{scale, alpha}},
          [=](Point delta) { return std::pow(1 + squared_distance(delta, scale) / (2 * alpha), -alpha); },
          [=](double t, Index i) {                                       // ∫ Φ(tℓ/√τ) dGamma(τ)
            static boost::math::quadrature::exp_sinh<double> integrate;  // its tables are dear
            const double constant = alpha * std::log(alpha) - std::lgamma(alpha);
            return integrate.integrate([&](double tau) {
              const double density = std::exp(constant + (alpha - 1) * std::log(tau) - alpha * tau);
              return density == 0 ? 0 : density * normal_cdf(t * scale[i] / std::sqrt(tau));
            });
          }};
}

/// Three components, one of which has a frequency without spread.
inline Law spectral_mixture(Index d, double shift = 0) {
  SpectralMixture mixture;
  mixture.weights = {0.5, 1.2, 0.3};
  for (Index q = 0; q < 3; ++q) {
    mixture.means.emplace_back();
    mixture.scales.emplace_back();
    for (Index i = 0; i < d; ++i) {
      mixture.means.back().push_back(shift + 0.15 * static_cast<double>(q) - 0.05 * static_cast<double>(i));
      mixture.scales.back().push_back(0.03 + 0.02 * static_cast<double>(q + i));
    }
  }
  mixture.scales[1][0] = 0.001;
  const SpectralMixture m = mixture;
  const auto value = [=](Point delta) {
    double sum = 0;
    for (std::size_t q = 0; q < m.weights.size(); ++q) {
      double phase = 0;
      double decay = 0;
      for (std::size_t i = 0; i < delta.size(); ++i) {
        phase += m.means[q][i] * delta[i];
        decay += delta[i] * delta[i] * m.scales[q][i] * m.scales[q][i];
      }
      sum +=
          m.weights[q] * std::cos(2 * std::numbers::pi * phase) * std::exp(-2 * std::numbers::pi * std::numbers::pi * decay);
    }
    return sum;
  };
  const auto margin = [=](double t, Index i) {
    const double s = t / (2 * std::numbers::pi);
    double sum = 0;
    for (std::size_t q = 0; q < m.weights.size(); ++q) {
      const double mean = m.means[q][static_cast<std::size_t>(i)];
      const double scale = m.scales[q][static_cast<std::size_t>(i)];
      sum += m.weights[q] / 2.0 * 0.5 * (normal_cdf((s - mean) / scale) + normal_cdf((s + mean) / scale));
    }
    return sum;  // the weights add up to 2
  };
  return {"spectral_mixture", Kernel{mixture}, value, margin};
}

inline std::vector<Law> all_laws(Index d) {
  return {gaussian(one(0.7)),
          gaussian(many(d)),
          matern(one(1.3), 0.3),
          matern(many(d), 0.5),
          matern(one(0.8), 1.5),
          matern(many(d), 7.25),
          laplacian(one(1.1)),
          laplacian(many(d)),
          cauchy(one(0.9)),
          cauchy(many(d)),
          rational_quadratic(one(0.6), 0.4),
          rational_quadratic(many(d), 3),
          spectral_mixture(d)};
}

/// Largest deviation of the empirical distribution function from `cdf`, looked at in 200 of its jumps.
inline double kolmogorov_smirnov(std::vector<double> sample, const std::function<double(double)>& cdf) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  const std::size_t step = std::max<std::size_t>(1, sample.size() / 200);
  double worst = 0;
  for (std::size_t r = 0; r < sample.size(); r += step) {
    const double p = cdf(sample[r]);
    worst = std::max({worst, std::abs(p - static_cast<double>(r) / n), std::abs(static_cast<double>(r + 1) / n - p)});
  }
  return worst;
}

/// Dvoretzky-Kiefer-Wolfowitz-Massart: exceeded by n independent draws of the law with probability at most 1e-9.
inline double kolmogorov_smirnov_bound(Index n) {
  return std::sqrt(std::log(2e9) / (2 * static_cast<double>(n)));
}

/// Hoeffding: the mean of n independent variables in [-1, 1] is further than this from its mean with probability below 1e-9.
inline double hoeffding_bound(Index n) {
  return std::sqrt(2 * std::log(2e9) / static_cast<double>(n));
}

inline double mean_cosine(const Matrix<double>& omega, Point delta) {
  double sum = 0;
  for (Index j = 0; j < omega.rows(); ++j) {
    double phase = 0;
    for (Index i = 0; i < omega.cols(); ++i) phase += omega(j, i) * delta[static_cast<std::size_t>(i)];
    sum += std::cos(phase);
  }
  return sum / static_cast<double>(omega.rows());
}

}  // namespace mercer::oracle
