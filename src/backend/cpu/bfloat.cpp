#include "backend/bfloat.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "backend/cpu/bfloat_kernel.hpp"
#include "backend/cpu/cpu.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"

namespace mercer {
namespace {

constexpr Index panel = BfloatRows::panel;
/// Panels of a tile of G: 480 columns, a multiple of the three that the kernels take at once.
constexpr Index tile_panels = 30;

constexpr BfloatPath paths[] = {BfloatPath::amx, BfloatPath::avx512_bf16, BfloatPath::portable};

BfloatPath chosen_at_start() {
  const char* wish = std::getenv("MERCER_BFLOAT");
  const bool any = wish == nullptr || *wish == '\0';
  for (const BfloatPath path : paths) {
    if (!any && std::string(wish) != to_string(path)) continue;
    if (bfloat_supported(path)) return path;
    if (!any) fail_argument(std::string("MERCER_BFLOAT=") + wish + ", but this CPU does not have it");
  }
  fail_argument(std::string("MERCER_BFLOAT is '") + wish + "', not one of portable, avx512_bf16, amx");
}

std::atomic<BfloatPath> active{BfloatPath::automatic};

BfloatKernel kernel() {
  switch (active_bfloat()) {
#if defined(__x86_64__)
    case BfloatPath::amx:
      return bfloat_amx();
    case BfloatPath::avx512_bf16:
      return bfloat_avx512();
#endif
    default:
      return bfloat_portable();
  }
}

}  // namespace

const char* to_string(BfloatPath path) {
  switch (path) {
    case BfloatPath::amx:
      return "amx";
    case BfloatPath::avx512_bf16:
      return "avx512_bf16";
    case BfloatPath::portable:
      return "portable";
    case BfloatPath::automatic:
      break;
  }
  return "automatic";
}

bool bfloat_supported(BfloatPath path) {
  switch (path) {
    case BfloatPath::amx:
      return cpu_features().amx_bf16;
    case BfloatPath::avx512_bf16:
      return cpu_features().avx512_bf16;
    default:
      return true;
  }
}

void force_bfloat(BfloatPath path) {
  if (!bfloat_supported(path)) fail_argument(std::string("this CPU has no ") + to_string(path));
  active.store(path);
}

BfloatPath active_bfloat() {
  BfloatPath path = active.load(std::memory_order_relaxed);
  if (path == BfloatPath::automatic) {
    path = chosen_at_start();
    active.store(path);
  }
  return path;
}

bool bfloat_is_fast() {
  switch (active_bfloat()) {
    case BfloatPath::amx:
      return true;
    case BfloatPath::avx512_bf16:
      return cpu_features().fast_bf16;
    default:
      return false;
  }
}

BfloatRows::BfloatRows(Index most_rows, Index cols)
    : cols_(cols), panels_((cols + panel - 1) / panel), most_pairs_((most_rows + 31) / 32 * 16) {
  data_.assign(static_cast<std::size_t>(checked_product(panels_, most_pairs_, panel)), 0U);
}

void BfloatRows::set_rows(Index rows) {
  const Index pairs = (rows + 31) / 32 * 16;
  if (pairs > most_pairs_) fail_internal("more rows than the packed block holds");
  // What earlier rows left between the last row and the end of its group of lines would count as rows.
  const Index full = rows / 2;
  if (rows % 2 != 0 || full < pairs) {
    parallel_for(panels_, [&](Index q) {
      std::uint32_t* lines = data_.data() + q * most_pairs_ * panel;
      std::fill(lines + full * panel, lines + pairs * panel, 0U);
    });
  }
  pairs_ = pairs;
}

template <class Real>
void BfloatRows::pack(Index first, MatrixView<const Real> f) {
  const BfloatKernel chosen = kernel();
  const Index whole = cols_ / panel;
  Real even_end[panel] = {};
  Real odd_end[panel] = {};
  std::vector<Real> nothing;
  const auto line = [&](Index panels, const Real* even, const Real* odd, std::uint32_t* out) {
    if constexpr (std::is_same_v<Real, float>) {
      chosen.pack_single(panels, even, odd, out, most_pairs_);
    } else {
      chosen.pack_double(panels, even, odd, out, most_pairs_);
    }
  };
  for (Index r = 0; r < f.rows; r += 2) {
    const Real* even = f.row(r).data();
    const Real* odd = nullptr;
    if (r + 1 < f.rows) {
      odd = f.row(r + 1).data();
    } else {
      nothing.assign(static_cast<std::size_t>(cols_), Real(0));
      odd = nothing.data();
    }
    std::uint32_t* out = data_.data() + (first + r) / 2 * panel;
    line(whole, even, odd, out);
    if (whole == panels_) continue;
    std::copy(even + whole * panel, even + cols_, even_end);
    std::copy(odd + whole * panel, odd + cols_, odd_end);
    line(1, even_end, odd_end, out + whole * most_pairs_ * panel);
  }
}

template void BfloatRows::pack(Index, MatrixView<const float>);
template void BfloatRows::pack(Index, MatrixView<const double>);

namespace {

/// C += Aᵀ B for panel `i` against panels j, …, j + count - 1, where G ends inside one of them.
void multiply_at_edge(const BfloatKernel& kernel, const BfloatRows& f, const std::uint32_t* a, Index i, Index j, int count,
                      MatrixView<float> g) {
  float buffer[panel * 3 * panel] = {};
  constexpr Index stride = 3 * panel;
  kernel.multiply(f.pairs(), a, f.panel_data(j), f.panel_lines(), count, buffer, stride);
  const Index rows = std::min(panel, f.cols() - i * panel);
  const Index cols = std::min(panel * count, f.cols() - j * panel);
  for (Index r = 0; r < rows; ++r) {
    for (Index s = 0; s < cols; ++s) g(i * panel + r, j * panel + s) += buffer[r * stride + s];
  }
}

/// Asks for the 16 × 48 floats that the next product adds to, while this one runs.
void prefetch(const float* c, Index stride) {
  for (Index r = 0; r < panel; ++r) {
    for (Index s = 0; s < 3; ++s) __builtin_prefetch(c + r * stride + s * panel, 1);
  }
}

/// `prepared`: all panels reordered, when the kernel wants that.
void accumulate_tile(const BfloatKernel& kernel, const BfloatRows& f, const std::vector<std::uint32_t>& prepared,
                     Index tile_i, Index tile_j, MatrixView<float> g) {
  const Index last_i = std::min(f.panels(), (tile_i + 1) * tile_panels);
  const Index last_j = std::min(f.panels(), (tile_j + 1) * tile_panels);
  for (Index i = tile_i * tile_panels; i < last_i; ++i) {
    const std::uint32_t* a = prepared.empty() ? f.panel_data(i) : prepared.data() + i * f.pairs() * panel;
    const bool short_rows = (i + 1) * panel > f.cols();
    for (Index j = tile_j * tile_panels; j < last_j && j <= i; j += 3) {
      const auto count = static_cast<int>(std::min<Index>(3, std::min(last_j, i + 1) - j));
      if (short_rows || (j + count) * panel > f.cols()) {
        multiply_at_edge(kernel, f, a, i, j, count, g);
      } else {
        if (j + 3 < last_j && j + 3 <= i) prefetch(&g(i * panel, (j + 3) * panel), g.stride);
        kernel.multiply(f.pairs(), a, f.panel_data(j), f.panel_lines(), count, &g(i * panel, j * panel), g.stride);
      }
    }
  }
}

}  // namespace

void accumulate_gram(const BfloatRows& f, MatrixView<float> g) {
  const BfloatKernel chosen = kernel();
  std::vector<std::uint32_t> prepared;
  if (chosen.prepare != nullptr) {
    prepared.resize(static_cast<std::size_t>(f.panels() * f.pairs() * panel));
    parallel_for(f.panels(),
                 [&](Index q) { chosen.prepare(f.pairs(), f.panel_data(q), prepared.data() + q * f.pairs() * panel); });
  }
  const Index tiles = (f.panels() + tile_panels - 1) / tile_panels;
  parallel_for(tiles * (tiles + 1) / 2, [&](Index task) {
    Index i = 0;
    while ((i + 1) * (i + 2) / 2 <= task) ++i;
    accumulate_tile(chosen, f, prepared, i, task - i * (i + 1) / 2, g);
  });
}

}  // namespace mercer
