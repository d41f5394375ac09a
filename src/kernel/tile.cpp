#include "kernel/tile.hpp"

#include <algorithm>
#include <functional>
#include <variant>

#include "backend/backend.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/progress.hpp"
#include "kernel/leaf.hpp"
#include "kernel/rules.hpp"
#include "kernel/visit.hpp"

namespace mercer {
namespace {

/// x × z with the rows of z transposed, so that loops over a tile's columns are dense.
struct Block {
  ConstMatrix x;           ///< the rows of the tile
  Matrix<double> columns;  ///< d × (columns of the tile)

  Block(ConstMatrix x_rows, ConstMatrix z_rows) : x(x_rows), columns(z_rows.cols, z_rows.rows) {
    for (Index j = 0; j < z_rows.rows; ++j) {
      for (Index k = 0; k < z_rows.cols; ++k) columns(k, j) = z_rows(j, k);
    }
  }
};

void fill_leaf(const Laplacian& kernel, const Block& block, MutMatrix tile) {
  for (Index i = 0; i < tile.rows; ++i) {
    double* out = tile.data + i * tile.stride;
    std::fill_n(out, tile.cols, 0.0);
    for (Index k = 0; k < block.x.cols; ++k) {
      const double x = block.x(i, k);
      const double inverse = 1 / kernel.length_scale[k];
      const double* column = block.columns.data() + k * tile.cols;
      add_absolute_differences(column, tile.cols, x, inverse, out);
    }
    exponential(out, tile.cols, -1);
  }
}

void fill_leaf(const Cauchy& kernel, const Block& block, MutMatrix tile) {
  for (Index i = 0; i < tile.rows; ++i) {
    double* out = tile.data + i * tile.stride;
    std::fill_n(out, tile.cols, 1.0);
    for (Index k = 0; k < block.x.cols; ++k) {
      const double x = block.x(i, k);
      const double inverse = 1 / kernel.length_scale[k];
      const double* column = block.columns.data() + k * tile.cols;
      for (Index j = 0; j < tile.cols; ++j) {
        const double t = (x - column[j]) * inverse;
        out[j] *= 1 + t * t;
      }
    }
    for (Index j = 0; j < tile.cols; ++j) out[j] = 1 / out[j];
  }
}

void fill_inner_products(ConstMatrix x, ConstMatrix z, MutMatrix tile) {
  gemm<double>(false, true, 1.0, x, z, 0.0, tile);
}

template <Radial Leaf>
void fill_radial(const Leaf& kernel, MutMatrix tile) {
  for (Index i = 0; i < tile.rows; ++i) apply_profile(kernel, tile.row(i));
}

template <class Combine>
void combine(MutMatrix into, ConstMatrix part, Combine with) {
  for (Index i = 0; i < into.rows; ++i) {
    for (Index j = 0; j < into.cols; ++j) into(i, j) = with(into(i, j), part(i, j));
  }
}

/// The first child straight into the tile, the others through a tile of their own.
template <class Combine>
void fill_children(const std::vector<TileKernel>& children, Index first_row, Index first_col, MutMatrix tile, Combine with) {
  children.front().fill(first_row, first_col, tile);
  if (children.size() == 1) return;
  Matrix<double> part(tile.rows, tile.cols);
  for (std::size_t c = 1; c < children.size(); ++c) {
    children[c].fill(first_row, first_col, part);
    combine(tile, part, with);
  }
}

}  // namespace

TileKernel::TileKernel(const Kernel& kernel, ConstMatrix x, ConstMatrix z) : x_(x), z_(z) {
  const auto add_children = [&](const std::vector<Kernel>& kernels) {
    for (const Kernel& child : kernels) children_.emplace_back(child, x, z);
  };
  std::visit(Overload{[&](const Sum& k) {
                        form_ = Sum{};
                        add_children(k.terms);
                      },
                      [&](const Product& k) {
                        form_ = Product{};
                        add_children(k.factors);
                      },
                      [&](const Scaled& k) {
                        form_ = Scaled{k.factor, {}};
                        add_children(k.kernel);
                      },
                      [&](const SpectralMixture& k) {
                        form_ = k;
                        mixture_.emplace_back(k, x, z);
                      },
                      [&](const auto& leaf) {
                        form_ = leaf;
                        if constexpr (Radial<std::remove_cvref_t<decltype(leaf)>>)
                          distances_.emplace_back(leaf.length_scale, x, z);
                      }},
             kernel.form);
}

void TileKernel::fill(Index first_row, Index first_col, MutMatrix tile) const {
  const ConstMatrix x = x_.row_range(first_row, tile.rows);
  const ConstMatrix z = z_.row_range(first_col, tile.cols);
  std::visit(Overload{[&](const Sum&) { fill_children(children_, first_row, first_col, tile, std::plus<>()); },
                      [&](const Product&) { fill_children(children_, first_row, first_col, tile, std::multiplies<>()); },
                      [&](const Scaled& k) {
                        children_.front().fill(first_row, first_col, tile);
                        for (Index i = 0; i < tile.rows; ++i) {
                          for (double& entry : tile.row(i)) entry *= k.factor;
                        }
                      },
                      [&](const Linear&) { fill_inner_products(x, z, tile); },
                      [&](const Polynomial& k) {
                        fill_inner_products(x, z, tile);
                        for (Index i = 0; i < tile.rows; ++i) {
                          for (double& entry : tile.row(i)) entry = integer_power(entry + k.offset, k.degree);
                        }
                      },
                      [&](const SpectralMixture&) { mixture_.front().fill(first_row, first_col, tile); },
                      [&](const auto& leaf) {
                        if constexpr (Radial<std::remove_cvref_t<decltype(leaf)>>) {
                          distances_.front().fill(first_row, first_col, tile);
                          fill_radial(leaf, tile);
                        } else {
                          fill_leaf(leaf, Block(x, z), tile);
                        }
                      }},
             form_);
}

void for_each_tile(Index rows, Index cols, bool symmetric, Index edge,
                   const std::function<void(Index, Index, Index, Index)>& task) {
  const Index row_tiles = (rows + edge - 1) / edge;
  const Index col_tiles = (cols + edge - 1) / edge;
  parallel_for(checked_product(row_tiles, col_tiles), [&](Index index) {
    const Index first_row = index / col_tiles * edge;
    const Index first_col = index % col_tiles * edge;
    if (symmetric && first_col < first_row) return;
    check_stop();
    task(first_row, first_col, std::min(edge, rows - first_row), std::min(edge, cols - first_col));
  });
}

bool same_rows(ConstMatrix x, ConstMatrix z) {
  return x.data == z.data && x.rows == z.rows && x.cols == z.cols && x.stride == z.stride;
}

namespace {

void check_resolved(const Kernel& kernel, Index inputs) {
  const std::string broken = broken_rule(kernel);
  if (!broken.empty()) fail_argument(broken);
  const auto check_children = [&](const std::vector<Kernel>& kernels) {
    for (const Kernel& child : kernels) check_resolved(child, inputs);
  };
  const auto check_scale = [&](const LengthScale& scale) {
    const auto count = static_cast<Index>(scale.values.size());
    if (scale.median) fail_argument(std::string(form_name(kernel)) + "(median) must be resolved before it is evaluated");
    if (count != 1 && count != inputs) {
      fail_argument(std::string(form_name(kernel)) + " has " + std::to_string(count) + " length scales, and there are " +
                    std::to_string(inputs) + " inputs; give 1 or " + std::to_string(inputs));
    }
  };
  std::visit(Overload{[&](const Sum& k) { check_children(k.terms); }, [&](const Product& k) { check_children(k.factors); },
                      [&](const Scaled& k) { check_children(k.kernel); }, [](const Linear&) {}, [](const Polynomial&) {},
                      [&](const SpectralMixture& k) {
                        if (static_cast<Index>(k.means.front().size()) != inputs) {
                          fail_argument("spectral_mixture has means of " + std::to_string(k.means.front().size()) +
                                        " numbers, and there are " + std::to_string(inputs) + " inputs");
                        }
                      },
                      [&](const auto& k) { check_scale(k.length_scale); }},
             kernel.form);
}

}  // namespace

void check_gram(const Kernel& kernel, ConstMatrix x, ConstMatrix z) {
  if (x.cols != z.cols) {
    fail_argument("a Gram matrix needs rows of one length, got " + std::to_string(x.cols) + " and " +
                  std::to_string(z.cols) + " inputs");
  }
  check_resolved(kernel, x.cols);
}

}  // namespace mercer
