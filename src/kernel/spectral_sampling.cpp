#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "kernel/orthogonal.hpp"
#include "kernel/rules.hpp"
#include "kernel/sobol.hpp"
#include "kernel/spectral.hpp"
#include "kernel/spectral_law.hpp"

// This file is compiled with -ffp-contract=off: every rounding is the same on every machine.

namespace mercer {
namespace {

constexpr Index chunk_rows = 64;  // rows per task: fixed, so that results do not depend on the number of threads

/// Calls task(first, rows) for consecutive chunks of rows.
template <class Task>
void for_chunks(Index count, const Task& task) {
  parallel_for((count + chunk_rows - 1) / chunk_rows, [&](Index t) {
    check_stop();
    const Index first = t * chunk_rows;
    task(first, std::min(chunk_rows, count - first));
  });
}

/// Coordinates of a quasi-random point that the factor uses: z, then u.
Index coordinates(const Kernel& factor, Index inputs) {
  return inputs + (is_mixture(factor) ? 1 : 0);
}

Index coordinates(const SpectralTerm& term, Index inputs) {
  Index total = 0;
  for (const Kernel& factor : term.factors) total += coordinates(factor, inputs);
  return total;
}

const Kernel* first_without_rotation(const SpectralTerm& term) {
  for (const Kernel& factor : term.factors) {
    if (standard_law(factor) != StandardLaw::normal) return &factor;
  }
  return nullptr;
}

void add_monte_carlo(const Kernel& factor, const Stream& stream, MutMatrix omega) {
  const Stream mixing = stream.child("mixing");
  const StandardLaw law = standard_law(factor);
  const bool mixture = is_mixture(factor);
  for_chunks(omega.rows, [&](Index first, Index rows) {
    Matrix<double> z(1, omega.cols);
    for (Index j = first; j < first + rows; ++j) {
      const auto row = static_cast<std::uint64_t>(j);
      for (Index i = 0; i < omega.cols; ++i) z(0, i) = quantile(law, stream.uniform(row, static_cast<std::uint64_t>(i)));
      add_frequency(factor, z.row(0), mixture ? mixing.uniform(row, 0) : 0, omega.row(j));
    }
  });
}

void add_orthogonal(const Kernel& factor, const Stream& stream, MutMatrix omega) {
  const Stream mixing = stream.child("mixing");
  const bool mixture = is_mixture(factor);
  const Matrix<double> z = orthogonal_gaussian(omega.rows, omega.cols, stream);
  for_chunks(omega.rows, [&](Index first, Index rows) {
    for (Index j = first; j < first + rows; ++j) {
      add_frequency(factor, z.row(j), mixture ? mixing.uniform(static_cast<std::uint64_t>(j), 0) : 0, omega.row(j));
    }
  });
}

/// One Sobol point per row feeds all factors: coordinates z_1 … z_d, then u where needed, factor after factor.
void add_quasi(const SpectralTerm& term, const Stream& stream, MutMatrix omega) {
  const Index dimensions = coordinates(term, omega.cols);
  const ShiftedSobol sobol(dimensions, stream.child("shift"));
  for_chunks(omega.rows, [&](Index first, Index rows) {
    Matrix<double> points(rows, dimensions);
    sobol.points(first, points);
    for (Index j = 0; j < rows; ++j) {
      std::span<double> rest = points.row(j);
      for (const Kernel& factor : term.factors) {
        const StandardLaw law = standard_law(factor);
        const std::span<double> z = rest.first(static_cast<std::size_t>(omega.cols));
        for (double& value : z) value = quantile(law, value);
        add_frequency(factor, z, is_mixture(factor) ? rest[z.size()] : 0, omega.row(first + j));
        rest = rest.subspan(static_cast<std::size_t>(coordinates(factor, omega.cols)));
      }
    }
  });
}

}  // namespace

Sampling resolve_sampling(Sampling sampling, const SpectralTerm& term, Index inputs) {
  const Kernel* fixed_axes = first_without_rotation(term);
  switch (sampling) {
    case Sampling::automatic:
      return term.has_frequencies() && fixed_axes == nullptr && inputs > 1 ? Sampling::orthogonal : Sampling::monte_carlo;
    case Sampling::orthogonal:
      if (fixed_axes != nullptr) {
        fail_argument(std::string("orthogonal sampling cannot serve ") + form_name(*fixed_axes) +
                      ": its frequencies are independent per input and not Gaussian, so turning them changes their law; use "
                      "mc or qmc");
      }
      return sampling;
    case Sampling::quasi: {
      const Index needed = coordinates(term, inputs);
      if (needed > sobol_dimensions) {
        fail_argument("quasi sampling would need " + std::to_string(needed) + " Sobol dimensions, but there are only " +
                      std::to_string(sobol_dimensions) + "; use monte_carlo");
      }
      return sampling;
    }
    case Sampling::monte_carlo:
      break;
  }
  return sampling;
}

Matrix<double> sample_frequencies(const SpectralTerm& term, Index inputs, Index count, Sampling sampling,
                                  const Stream& stream) {
  sampling = resolve_sampling(sampling, term, inputs);
  Matrix<double> omega(count, inputs);
  if (omega.empty() || !term.has_frequencies()) return omega;
  if (sampling == Sampling::quasi) {
    add_quasi(term, stream, omega);
  } else {
    for (std::size_t f = 0; f < term.factors.size(); ++f) {
      const Stream own = stream.child("factor", f);
      if (sampling == Sampling::orthogonal) {
        add_orthogonal(term.factors[f], own, omega);
      } else {
        add_monte_carlo(term.factors[f], own, omega);
      }
    }
  }
  for (const double value : omega.values()) {
    if (!std::isfinite(value)) fail_argument("a frequency overflows: a length scale of the kernel is too small");
  }
  return omega;
}

}  // namespace mercer
