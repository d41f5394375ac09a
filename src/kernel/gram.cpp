#include "kernel/evaluate.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "base/fail.hpp"
#include "kernel/resolve.hpp"
#include "kernel/tile.hpp"
#include "kernel/visit.hpp"

namespace mercer {
namespace {

constexpr Index tile_edge = 128;          // 128 kB of doubles: stays in the second-level cache
constexpr Index operator_tile_edge = 32;  // times p in each direction

/// Copies the block onto its mirror image in the symmetric matrix `out`; of a diagonal block, the upper triangle.
void mirror(MutMatrix out, Index first_row, Index first_col, Index rows, Index cols) {
  for (Index i = first_row; i < first_row + rows; ++i) {
    for (Index j = std::max(first_col, i + 1); j < first_col + cols; ++j) out(j, i) = out(i, j);
  }
}

void check_shape(MutMatrix out, Index rows, Index cols) {
  if (out.rows != rows || out.cols != cols) {
    fail_argument("the Gram matrix needs room for " + std::to_string(rows) + " × " + std::to_string(cols) + ", got " +
                  std::to_string(out.rows) + " × " + std::to_string(out.cols));
  }
}

/// block += weight·k·A.
void add_scaled(MutMatrix block, double factor, const Matrix<double>& a) {
  for (Index i = 0; i < block.rows; ++i) {
    for (Index j = 0; j < block.cols; ++j) block(i, j) += factor * a(i, j);
  }
}

/// block += curl·(-H) + divergence·(H - tr(H) I): weighted curl-free and divergence-free parts.
void add_field(MutMatrix block, double curl, double divergence, const Matrix<double>& hessian) {
  double trace = 0;
  for (Index i = 0; i < block.rows; ++i) trace += hessian(i, i);
  for (Index i = 0; i < block.rows; ++i) {
    for (Index j = 0; j < block.cols; ++j) block(i, j) += (divergence - curl) * hessian(i, j);
    block(i, i) -= divergence * trace;
  }
}

/// A vector-field term as shares of the curl-free and divergence-free kernels of one scalar kernel.
struct FieldTerm {
  const Kernel* kernel = nullptr;
  double curl = 0;
  double divergence = 0;
};

std::optional<FieldTerm> field_term(const OperatorTerm& term) {
  return std::visit(
      Overload{[](const Decomposable&) { return std::optional<FieldTerm>(); },
               [&](const CurlFree& k) {
                 return std::optional(FieldTerm{&k.kernel, term.weight, 0});
               },
               [&](const DivergenceFree& k) {
                 return std::optional(FieldTerm{&k.kernel, 0, term.weight});
               },
               [&](const Helmholtz& k) {
                 return std::optional(FieldTerm{&k.kernel, term.weight * k.share, term.weight * (1 - k.share)});
               }},
      term.form);
}

void check_field(Index outputs, Index inputs) {
  if (outputs != inputs) {
    fail_argument("a vector field has as many outputs as inputs, got " + std::to_string(outputs) + " outputs and " +
                  std::to_string(inputs) + " inputs");
  }
}

void add_decomposable_gram(const OperatorTerm& term, ConstMatrix x, ConstMatrix z, Index outputs, MutMatrix out) {
  const auto& form = std::get<Decomposable>(term.form);
  check_gram(form.kernel, x, z);
  const Matrix<double> a = output_matrix(form.outputs, outputs);
  const TileKernel kernel(form.kernel, x, z);
  for_each_tile(x.rows, z.rows, same_rows(x, z), operator_tile_edge, [&](Index row, Index col, Index rows, Index cols) {
    Matrix<double> tile(rows, cols);
    kernel.fill(row, col, tile);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) {
        const MutMatrix block = out.row_range((row + i) * outputs, outputs).col_range((col + j) * outputs, outputs);
        add_scaled(block, term.weight * tile(i, j), a);
      }
    }
  });
}

void add_field_gram(const FieldTerm& term, ConstMatrix x, ConstMatrix z, Index outputs, MutMatrix out) {
  check_gram(*term.kernel, x, z);
  check_field(outputs, x.cols);
  const bool symmetric = same_rows(x, z);
  for_each_tile(x.rows, z.rows, symmetric, operator_tile_edge, [&](Index row, Index col, Index rows, Index cols) {
    Matrix<double> hessian(outputs, outputs);
    for (Index i = row; i < row + rows; ++i) {
      for (Index j = symmetric ? std::max(col, i) : col; j < col + cols; ++j) {
        shift_hessian(*term.kernel, x.row(i), z.row(j), hessian);
        const MutMatrix block = out.row_range(i * outputs, outputs).col_range(j * outputs, outputs);
        add_field(block, term.curl, term.divergence, hessian);
      }
    }
  });
}

}  // namespace

void gram(const Kernel& kernel, ConstMatrix x, ConstMatrix z, MutMatrix out) {
  check_gram(kernel, x, z);
  check_shape(out, x.rows, z.rows);
  const bool symmetric = same_rows(x, z);
  const TileKernel tiles(kernel, x, z);
  for_each_tile(x.rows, z.rows, symmetric, tile_edge, [&](Index row, Index col, Index rows, Index cols) {
    tiles.fill(row, col, out.row_range(row, rows).col_range(col, cols));
    if (symmetric) mirror(out, row, col, rows, cols);
  });
}

void value(const OperatorKernel& kernel, Point x, Point z, MutMatrix block) {
  for (Index i = 0; i < block.rows; ++i) std::fill_n(block.data + i * block.stride, block.cols, 0.0);
  for (const OperatorTerm& term : kernel.terms) {
    if (const auto field = field_term(term)) {
      check_field(block.rows, static_cast<Index>(x.size()));
      Matrix<double> hessian(block.rows, block.cols);
      shift_hessian(*field->kernel, x, z, hessian);
      add_field(block, field->curl, field->divergence, hessian);
    } else {
      const auto& form = std::get<Decomposable>(term.form);
      add_scaled(block, term.weight * value(form.kernel, x, z), output_matrix(form.outputs, block.rows));
    }
  }
}

void gram(const OperatorKernel& kernel, ConstMatrix x, ConstMatrix z, Index outputs, MutMatrix out) {
  check_shape(out, checked_product(x.rows, outputs), checked_product(z.rows, outputs));
  for (Index i = 0; i < out.rows; ++i) std::fill_n(out.data + i * out.stride, out.cols, 0.0);
  for (const OperatorTerm& term : kernel.terms) {
    if (const auto field = field_term(term)) {
      add_field_gram(*field, x, z, outputs, out);
    } else {
      add_decomposable_gram(term, x, z, outputs, out);
    }
  }
  if (!same_rows(x, z)) return;
  // K(z, x) = K(x, z)ᵀ: the terms filled the blocks on and above the diagonal.
  const Index edge = operator_tile_edge * outputs;
  for_each_tile(out.rows, out.cols, true, edge,
                [&](Index row, Index col, Index rows, Index cols) { mirror(out, row, col, rows, cols); });
}

}  // namespace mercer
