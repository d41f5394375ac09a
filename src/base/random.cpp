#include "base/random.hpp"

#include <Random123/philox.h>

#include <array>
#include <cmath>

// This file is compiled with -ffp-contract=off: every rounding is the same on every machine.

namespace mercer {
namespace {

/// The finaliser of splitmix64: a bijection in which every bit of the result depends on every bit of h.
std::uint64_t scramble(std::uint64_t h) {
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9U;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebU;
  return h ^ (h >> 31);
}

/// Names to keys by FNV-1a. The state is scrambled first: FNV xors a letter into the low byte, where it would otherwise
/// meet a small seed, and (0, "a") would be (3, "b").
std::uint64_t mix(std::uint64_t state, std::string_view what, std::uint64_t index) {
  std::uint64_t h = scramble(state) ^ 0xcbf29ce484222325U;
  for (const char c : what) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return scramble(h + 0x9e3779b97f4a7c15U * (index + 1));
}

template <std::size_t N>
double polynomial(const std::array<double, N>& c, double r) {
  double value = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) value = value * r + c[i];
  return value;
}

}  // namespace

Stream::Stream(std::uint64_t seed, std::string_view what) : key_(mix(seed, what, 0)) {}

Stream Stream::child(std::string_view what, std::uint64_t index) const {
  return Stream(mix(key_, what, index));
}

std::uint64_t Stream::bits(std::uint64_t i, std::uint64_t j) const {
  const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32),
                                               static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(j >> 32)}};
  const r123::Philox4x32::key_type key = {{static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32)}};
  const auto random = r123::Philox4x32()(counter, key);
  return (static_cast<std::uint64_t>(random[1]) << 32) | random[0];
}

double Stream::uniform(std::uint64_t i, std::uint64_t j) const {
  return (static_cast<double>(bits(i, j) >> 12) + 0.5) * 0x1p-52;
}

double Stream::normal(std::uint64_t i, std::uint64_t j) const {
  return normal_quantile(uniform(i, j));
}

std::uint64_t Stream::below(std::uint64_t bound, std::uint64_t i, std::uint64_t j) const {
  // 52 random bits times the bound; the bias is below bound/2⁵².
  return static_cast<std::uint64_t>(uniform(i, j) * static_cast<double>(bound));
}

double normal_quantile(double u) {
  // M. J. Wichura, Algorithm AS 241, Applied Statistics 37 (1988), PPND16.
  static constexpr std::array<double, 8> a = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                              1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                              3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr std::array<double, 8> b = {1.0,
                                              4.2313330701600911252e+1,
                                              6.8718700749205790830e+2,
                                              5.3941960214247511077e+3,
                                              2.1213794301586595867e+4,
                                              3.9307895800092710610e+4,
                                              2.8729085735721942674e+4,
                                              5.2264952788528545610e+3};
  static constexpr std::array<double, 8> c = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                              3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                              2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr std::array<double, 8> d = {1.0,
                                              2.05319162663775882187e0,
                                              1.67638483018380384940e0,
                                              6.89767334985100004550e-1,
                                              1.48103976427480074590e-1,
                                              1.51986665636164571966e-2,
                                              5.47593808499534494600e-4,
                                              1.05075007164441684324e-9};
  static constexpr std::array<double, 8> e = {
      6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,  2.96560571828504891230e-1,
      2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr std::array<double, 8> f = {1.0,
                                              5.99832206555887937690e-1,
                                              1.36929880922735805310e-1,
                                              1.48753612908506148525e-2,
                                              7.86869131145613259100e-4,
                                              1.84631831751005468180e-5,
                                              1.42151175831644588870e-7,
                                              2.04426310338993978564e-15};
  const double q = u - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  double r = std::sqrt(-portable_log(q < 0 ? u : 1 - u));
  if (r <= 5) {
    r -= 1.6;
    r = polynomial(c, r) / polynomial(d, r);
  } else {
    r -= 5;
    r = polynomial(e, r) / polynomial(f, r);
  }
  return q < 0 ? -r : r;
}

double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);  // |s| <= 0.1716
  const double s2 = s * s;
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) series = series * s2 + 1.0 / k;
  return 2 * s * series + exponent * 0.69314718055994530942;
}

}  // namespace mercer
