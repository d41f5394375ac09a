#include "gp/prior_function.hpp"

#include <algorithm>

#include "backend/backend.hpp"

namespace mercer {
namespace {

constexpr Index all_frequencies = 1024;
constexpr Index fewest_frequencies = 64;  // of a part
constexpr Index block_rows = 1024;        // 16 MB of features

}  // namespace

std::vector<Kernel> additive_parts(const Kernel& kernel) {
  std::vector<Kernel> parts;
  if (const auto* sum = std::get_if<Sum>(&kernel.form)) {
    for (const Kernel& term : sum->terms) std::ranges::move(additive_parts(term), std::back_inserter(parts));
  } else if (const auto* scaled = std::get_if<Scaled>(&kernel.form)) {
    for (Kernel& part : additive_parts(scaled->kernel.front())) parts.push_back({Scaled{scaled->factor, {std::move(part)}}});
  } else if (const auto* mixture = std::get_if<SpectralMixture>(&kernel.form)) {
    for (std::size_t q = 0; q < mixture->weights.size(); ++q)
      parts.push_back({SpectralMixture{{mixture->weights[q]}, {mixture->means[q]}, {mixture->scales[q]}}});
  } else {
    parts.push_back(kernel);
  }
  return parts;
}

PriorFunction::PriorFunction(const Kernel& kernel, Index inputs, const Stream& stream) {
  const std::vector<Kernel> kernels = additive_parts(kernel);
  const Index each = std::max(fewest_frequencies, all_frequencies / static_cast<Index>(kernels.size()));
  for (std::size_t t = 0; t < kernels.size(); ++t) {
    const Stream own = stream.child("part", t);
    const OperatorKernel alone{{{1.0, Decomposable{kernels[t], IdentityOutputs{}}}}};
    Part part{FourierMap(alone, inputs, 1, {each, Sampling::automatic, own.bits(0, 0)}), {}};
    part.weights = Matrix<double>(part.map.columns(), 1);
    for (Index j = 0; j < part.weights.rows(); ++j) part.weights(j, 0) = own.normal(1, static_cast<std::uint64_t>(j));
    parts_.push_back(std::move(part));
  }
}

void PriorFunction::add_to(ConstMatrix x, std::span<double> values) const {
  for (const Part& part : parts_) {
    for (Index first = 0; first < x.rows; first += block_rows) {
      const Index rows = std::min(block_rows, x.rows - first);
      Matrix<double> phi(rows, part.map.columns());
      part.map.features(x.row_range(first, rows), phi);
      gemm<double>(false, false, 1.0, phi, part.weights, 1.0, MutMatrix(values.data() + first, rows, 1));
    }
  }
}

}  // namespace mercer
