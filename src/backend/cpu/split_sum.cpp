#include "backend/cpu/split_sum.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

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

/// What the three products take of L, every 16 lines: H, H, R on the left and H, R, H on the right.
constexpr std::array<Index, parts> on_the_left{0, 0, lines};
constexpr std::array<Index, parts> on_the_right{0, lines, 0};

/// Panels one after the other, the lines of each as above. What is there of rows that L has not is not to be used.
void to_panels(MatrixView<const float> words, const std::array<Index, parts>& take, MatrixView<std::uint32_t> panels) {
  for (Index q = 0; q < panel_count(words.cols); ++q) {
    const std::size_t bytes = at(std::min(panel, words.cols - q * panel)) * sizeof(std::uint32_t);
    std::uint32_t* target = panels.row(q).data();
    for (Index first = 0; first < lines; first += step) {
      for (const Index part : take) {
        for (Index line = part + first; line < part + first + step; ++line, target += panel)
          std::memcpy(target, words.row(line).data() + q * panel, bytes);
      }
    }
  }
}

}  // namespace

void split_words(MatrixView<const float> l, MatrixView<float> words) {
  thread_local Matrix<float> transposed(split_tile, split_tile);
  for (Index top = 0; top < l.rows; top += panel) {
    const Index bottom = std::min(l.rows, top + panel);
    for (Index k = 0; k < split_tile; ++k) {
      for (Index i = top; i < bottom; ++i) transposed(k, i) = l(i, k);
    }
  }
  for (Index t = 0; t < lines; ++t) {
    const Index k = t / step * 2 * step + t % step;
    for (Index first = 0; first < l.rows; first += panel) {
      std::array<std::uint32_t, at(panel)> high{};
      std::array<std::uint32_t, at(panel)> rest{};
      split_pairs(&transposed(k, first), &transposed(k + step, first), high.data(), rest.data());
      const std::size_t bytes = at(std::min(panel, l.rows - first)) * sizeof(std::uint32_t);
      std::memcpy(words.row(t).data() + first, high.data(), bytes);
      std::memcpy(words.row(lines + t).data() + first, rest.data(), bytes);
    }
  }
}

void SplitSum::start(MatrixView<const float> a) {
  for (Index i = 0; i < a.rows; ++i)
    std::ranges::transform(a.row(i), sum_.row(i).begin(), [](float value) { return -value; });
}

void SplitSum::finish(MatrixView<float> a) const {
  for (Index i = 0; i < a.rows; ++i)
    std::transform(sum_.row(i).begin(), sum_.row(i).begin() + a.cols, a.row(i).begin(), [](float value) { return -value; });
}

void SplitSum::add_precisely(MatrixView<const float> l, MatrixView<const float> m) {
  gemm<float>(false, true, 1.0F, l, m, 1.0F, sum_.view().row_range(0, l.rows).col_range(0, m.rows));
}

void SplitSum::add(MatrixView<const float> l, MatrixView<const float> l_words, MatrixView<const float> m_words) {
  constexpr Index all = parts * lines;
  // Two panels of it fit the first cache beside those of another thread; twice and four times as much made no clear
  // difference.
  constexpr Index depth = parts * 2 * step;
  const PackedKernel<float> kernel = active_kernel<float>();
  if (kernel.split_rows != nullptr) {
    for (Index q = 0; q * panel < l.rows; ++q)
      kernel.split_rows(std::min(panel, l.rows - q * panel), split_tile, l.row(q * panel).data(), l.stride,
                        left_.row(q).data());
  } else {
    to_panels(l_words, on_the_left, left_);
  }
  to_panels(m_words, on_the_right, right_);
  const Index left_panels = panel_count(l_words.cols);
  const Index right_panels = panel_count(m_words.cols);
  constexpr std::array<float, at(PackedKernel<float>::most_panels * panel)> zero{};
  if (kernel.begin != nullptr) kernel.begin();
  for (Index line = 0; line < all; line += depth) {
    for (Index j = 0; j < right_panels; j += kernel.most_right) {
      const Panels right{right_.row(j).data() + line * panel, all,
                         static_cast<int>(std::min(kernel.most_right, right_panels - j))};
      for (Index i = 0; i < left_panels; i += kernel.most_left) {
        const Panels left{left_.row(i).data() + line * panel, all,
                          static_cast<int>(std::min(kernel.most_left, left_panels - i))};
        kernel.multiply(depth, left, right, zero.data(), &sum_(i * panel, j * panel), split_tile);
      }
    }
  }
  if (kernel.end != nullptr) kernel.end();
}

}  // namespace mercer
