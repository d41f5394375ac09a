#include "map/anchor_map.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <type_traits>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "kernel/resolve.hpp"
#include "kernel/tile.hpp"

namespace mercer {
namespace {

constexpr Index chunk_rows = 128;
constexpr Index anchor_rows = 128;  // 128 kB of kernel values: stay in the second cache until they are used

const Decomposable& decomposable(const OperatorTerm& term) {
  const auto* form = std::get_if<Decomposable>(&term.form);
  if (form == nullptr) {
    fail_argument(
        "sketches are for scalar kernels times one output matrix; curl_free, divergence_free and helmholtz need --map "
        "fourier:D (or exact, with the square loss)");
  }
  return *form;
}

template <class T>
void hash(XXH3_state_t* state, const T& values) {
  XXH3_64bits_update(state, values.data(), values.size() * sizeof(*values.data()));
}

}  // namespace

Kernel one_scalar_kernel(const OperatorKernel& kernel) {
  const OutputMatrix& outputs = decomposable(kernel.terms.front()).outputs;
  Sum sum;
  for (const OperatorTerm& term : kernel.terms) {
    const Decomposable& form = decomposable(term);
    if (form.outputs != outputs) {
      fail_argument(
          "sketches take one output matrix, and the terms of this kernel have different ones; use --map fourier:D or exact");
    }
    sum.terms.push_back(term.weight == 1 ? form.kernel : Kernel{Scaled{term.weight, {form.kernel}}});
  }
  return sum.terms.size() == 1 ? sum.terms.front() : Kernel{std::move(sum)};
}

bool has_one_scalar_kernel(const OperatorKernel& kernel) {
  const auto* first = std::get_if<Decomposable>(&kernel.terms.front().form);
  return first != nullptr && std::ranges::all_of(kernel.terms, [&](const OperatorTerm& term) {
           const auto* form = std::get_if<Decomposable>(&term.form);
           return form != nullptr && form->outputs == first->outputs;
         });
}

AnchorMap::AnchorMap(const OperatorKernel& resolved, Index inputs, Index outputs, AnchorParts parts)
    : FeatureMap(inputs, outputs), kernel_(one_scalar_kernel(resolved)), parts_(std::move(parts)) {
  const Index wanted = parts_.mixed() ? parts_.mixing.size : parts_.anchors.rows();
  if (parts_.anchors.cols() != inputs || parts_.projection.rows() != wanted ||
      (parts_.mixed() && parts_.mixing.columns() != parts_.anchors.rows()))
    fail_internal("the parts of a sketched map do not fit each other");
  check_gram(kernel_, parts_.anchors, parts_.anchors);
  const auto& form = std::get<Decomposable>(resolved.terms.front().form);
  coupling_.append_constant(parts_.projection.cols(), symmetric_factor(output_matrix(form.outputs, outputs)));
}

template <class Real>
void AnchorMap::write_features(ConstMatrix x, MatrixView<Real> phi) const {
  const Index count = parts_.anchors.rows();
  const Matrix<double>& v = parts_.projection;
  const TileKernel kernel(kernel_, parts_.anchors, x);
  parallel_for((x.rows + chunk_rows - 1) / chunk_rows, [&](Index task) {
    const Index first = task * chunk_rows;
    const Index rows = std::min(chunk_rows, x.rows - first);
    thread_local Matrix<double> values(anchor_rows, chunk_rows);
    Matrix<double> mixed(parts_.mixed() ? parts_.mixing.size : 0, rows);
    Matrix<double> answer(std::is_same_v<Real, double> ? 0 : rows, v.cols());
    MutMatrix out = answer;
    if constexpr (std::is_same_v<Real, double>) out = phi.row_range(first, rows);
    for (Index anchor = 0; anchor < count; anchor += anchor_rows) {
      const MutMatrix tile(values.data(), std::min(anchor_rows, count - anchor), rows);
      kernel.fill(anchor, first, tile);
      if (parts_.mixed()) {
        add_mixed(parts_.mixing, anchor, tile, mixed);
      } else {
        gemm<double>(true, false, 1.0, tile, v.view().row_range(anchor, tile.rows), anchor == 0 ? 0.0 : 1.0, out);
      }
    }
    if (parts_.mixed()) gemm<double>(true, false, 1.0, mixed, v, 0.0, out);
    if constexpr (!std::is_same_v<Real, double>) {
      for (Index i = 0; i < rows; ++i) {
        std::ranges::transform(answer.row(i), phi.row(first + i).begin(), [](double a) { return static_cast<Real>(a); });
      }
    }
  });
}

void AnchorMap::features(MatrixView<const float> x, MatrixView<float> phi) const {
  Matrix<double> wide(x.rows, x.cols);
  for (Index i = 0; i < x.rows; ++i) std::ranges::copy(x.row(i), wide.row(i).begin());
  write_features<float>(wide, phi);
}
void AnchorMap::features(MatrixView<const double> x, MatrixView<double> phi) const {
  write_features<double>(x, phi);
}

std::uint64_t AnchorMap::fingerprint() const {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  hash(&state, parts_.anchors.values());
  hash(&state, parts_.mixing.start);
  hash(&state, parts_.mixing.row);
  hash(&state, parts_.mixing.value);
  hash(&state, parts_.projection.values());
  return XXH3_64bits_digest(&state);
}

}  // namespace mercer
