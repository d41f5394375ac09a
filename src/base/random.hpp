#pragma once
#include <cstdint>
#include <string_view>

namespace mercer {

/// A value that names one infinite table of independent uniforms: entry (i, j) is a pure function of (seed, what, i, j)
/// (Philox 4x32-10). Nothing is consumed, so any thread, block or rank may read any entry in any order.
class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view what);

  /// A further stream that depends on this one and on `what` (and on `index`), and on nothing else.
  Stream child(std::string_view what, std::uint64_t index = 0) const;

  std::uint64_t bits(std::uint64_t i, std::uint64_t j) const;
  /// Uniform on (0, 1), 53 bits, never 0 or 1.
  double uniform(std::uint64_t i, std::uint64_t j) const;
  /// Standard normal by inversion of uniform(i, j): the same bits on every machine.
  double normal(std::uint64_t i, std::uint64_t j) const;
  /// Uniform on {0, …, bound - 1}, for bound up to 2⁴⁰.
  std::uint64_t below(std::uint64_t bound, std::uint64_t i, std::uint64_t j) const;

 private:
  explicit Stream(std::uint64_t key) : key_(key) {}
  std::uint64_t key_;
};

/// Quantile of N(0, 1) (Wichura's AS 241, relative error 1e-15) from +, -, *, /, sqrt alone, so that no libm can change
/// a regenerated frequency.
double normal_quantile(double u);

/// Natural logarithm of x > 0 by frexp and the series of atanh, from basic arithmetic alone: relative error below 1e-15.
double portable_log(double x);

}  // namespace mercer
