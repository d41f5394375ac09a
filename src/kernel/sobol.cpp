#include "kernel/sobol.hpp"

#include <boost/random/sobol.hpp>
#include <cstdint>
#include <vector>

// This file is compiled with -ffp-contract=off: every rounding is the same on every machine.

namespace mercer {

struct ShiftedSobol::Tables {
  boost::random::sobol engine;
  std::vector<std::uint64_t> shifts;
};

ShiftedSobol::~ShiftedSobol() = default;
ShiftedSobol::ShiftedSobol(ShiftedSobol&&) noexcept = default;
ShiftedSobol& ShiftedSobol::operator=(ShiftedSobol&&) noexcept = default;

ShiftedSobol::ShiftedSobol(Index dimensions, const Stream& stream) {
  std::vector<std::uint64_t> shifts(static_cast<std::size_t>(dimensions));
  for (std::size_t i = 0; i < shifts.size(); ++i) shifts[i] = stream.bits(i, 0);
  tables_ = std::make_unique<const Tables>(Tables{boost::random::sobol(shifts.size()), std::move(shifts)});
}

void ShiftedSobol::points(Index first, MutMatrix out) const {
  boost::random::sobol engine = tables_->engine;
  // Boost leaves out the origin: its point s is point s + 1 of the sequence.
  if (first > 0) engine.seed(static_cast<std::uint64_t>(first) - 1);
  for (Index r = 0; r < out.rows; ++r) {
    const bool origin = first + r == 0;
    for (Index i = 0; i < out.cols; ++i) {
      const std::uint64_t bits = (origin ? 0 : engine()) ^ tables_->shifts[static_cast<std::size_t>(i)];
      out(r, i) = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
    }
  }
}

}  // namespace mercer
