#include "backend/cpu/split_product.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "backend/backend.hpp"
#include "backend/cpu/packed_kernel.hpp"
#include "backend/packed_rows.hpp"

namespace mercer {
namespace {

#include "backend/cpu/split_pairs.inc"

constexpr Index panel = BfloatRows::panel;
constexpr Index lines = split_tile / 2;  // of H, and as many of R
constexpr Index step = 16;               // lines
constexpr Index parts = 3;               // products of bfloat16

constexpr std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

Index panel_count(Index rows) {
  return (rows + panel - 1) / panel;
}

enum class Half { high, rest };
/// What the three products take of L, every 16 lines.
constexpr std::array<Half, parts> on_the_left{Half::high, Half::high, Half::rest};
constexpr std::array<Half, parts> on_the_right{Half::high, Half::rest, Half::high};

/// Panels one after the other, the lines of each as above, in pairs of columns 16 apart. Rows that L has not are 0.
void to_panels(MatrixView<const float> l, const SplitColumns& columns, std::uint32_t sign,
               const std::array<Half, parts>& take, MatrixView<std::uint32_t> panels) {
  for (Index q = 0; q < panel_count(l.rows); ++q) {
    const Index rows = std::min(panel, l.rows - q * panel);
    std::uint32_t* target = panels.row(q).data();
    for (Index k = 0; k < split_tile; k += 2 * step, target += parts * step * panel) {
      for (Index line = 0; line < step; ++line) {
        std::array<std::uint32_t, at(2 * panel)> keep{};
        std::fill_n(keep.begin(), panel, columns[at(k + line)]);
        std::fill_n(keep.begin() + panel, panel, columns[at(k + step + line)]);
        std::array<float, at(panel)> x{};
        std::array<float, at(panel)> y{};
        for (Index i = 0; i < rows; ++i) {
          x[at(i)] = l(q * panel + i, k + line);
          y[at(i)] = l(q * panel + i, k + step + line);
        }
        std::array<std::uint32_t, at(panel)> high{};
        std::array<std::uint32_t, at(panel)> rest{};
        split_pairs(x.data(), y.data(), keep.data(), sign, high.data(), rest.data());
        for (Index part = 0; part < parts; ++part)
          std::ranges::copy(take[at(part)] == Half::high ? high : rest, target + (part * step + line) * panel);
      }
    }
  }
}

}  // namespace

void SplitProduct::subtract(MatrixView<const float> l, MatrixView<const float> m, const SplitColumns& columns,
                            MatrixView<float> c) {
  const PackedKernel<float> kernel = active_kernel<float>();
  if (kernel.begin != nullptr) kernel.begin();
  if (kernel.split != nullptr) {
    subtract_split(*kernel.split, l, m, columns, c);
  } else {
    subtract_packed(kernel, l, m, columns, c);
  }
  if (kernel.end != nullptr) kernel.end();
}

void SplitProduct::subtract_split(const SplitKernel& kernel, MatrixView<const float> l, MatrixView<const float> m,
                                  const SplitColumns& columns, MatrixView<float> c) {
  constexpr Index steps = lines / step;
  constexpr Index pair = 2;
  constexpr Index depth = 4;  // steps: two panels on the right stay in the first cache while those on the left pass by
  const Index apart = left_.cols() / panel;
  const Index left_panels = panel_count(l.rows);
  const Index right_panels = panel_count(m.rows);
  for (Index q = 0; q < left_panels; ++q)
    kernel.left(std::min(panel, l.rows - q * panel), steps, l.row(q * panel).data(), l.stride, columns.data(),
                left_.row(q).data());
  for (Index q = 0; q < right_panels; ++q)
    kernel.right(std::min(panel, m.rows - q * panel), steps, m.row(q * panel).data(), m.stride, columns.data(),
                 right_.row(q).data());
  for (Index line = 0; line < 2 * lines; line += 2 * depth * step) {
    for (Index j = 0; j < right_panels; j += pair) {
      const Panels right{right_.row(j).data() + line * panel, apart, static_cast<int>(std::min(pair, right_panels - j))};
      for (Index i = 0; i < left_panels; i += pair) {
        const Panels left{left_.row(i).data() + line * panel, apart, static_cast<int>(std::min(pair, left_panels - i))};
        kernel.multiply(depth, left, right, &c(i * panel, j * panel), c.stride);
      }
    }
  }
}

void SplitProduct::subtract_packed(const PackedKernel<float>& kernel, MatrixView<const float> l, MatrixView<const float> m,
                                   const SplitColumns& columns, MatrixView<float> c) {
  constexpr Index all = parts * lines;
  constexpr Index depth = parts * 2 * step;  // two panels of it fit the first cache
  to_panels(l, columns, minus, on_the_left, left_);
  to_panels(m, columns, plus, on_the_right, right_);
  const Index left_panels = panel_count(l.rows);
  const Index right_panels = panel_count(m.rows);
  constexpr std::array<float, at(PackedKernel<float>::most_panels * panel)> zero{};
  for (Index line = 0; line < all; line += depth) {
    for (Index j = 0; j < right_panels; j += kernel.most_right) {
      const Panels right{right_.row(j).data() + line * panel, all,
                         static_cast<int>(std::min(kernel.most_right, right_panels - j))};
      for (Index i = 0; i < left_panels; i += kernel.most_left) {
        const Panels left{left_.row(i).data() + line * panel, all,
                          static_cast<int>(std::min(kernel.most_left, left_panels - i))};
        kernel.multiply(depth, left, right, zero.data(), &c(i * panel, j * panel), c.stride);
      }
    }
  }
}

}  // namespace mercer
