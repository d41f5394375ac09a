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
  data_ = Matrix<std::uint32_t>(panels_, checked_product(most_pairs_, panel));
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
void BfloatRows::pack(Index first, MatrixView<const Real> f, std::span<const Real> last) {
  const BfloatKernel chosen = kernel();
  const Index whole = f.cols / panel;
  const Index rest = f.cols - whole * panel;
  const auto line = [&](Index panels, const Real* even, const Real* odd, std::uint32_t* out) {
    if constexpr (std::is_same_v<Real, float>) {
      chosen.pack_single(panels, even, odd, out, most_pairs_);
    } else {
      chosen.pack_double(panels, even, odd, out, most_pairs_);
    }
  };
  // The columns after the last whole panel, and a partner of zeros for the last row of an odd number.
  const auto tail = [&](Index r, Real* out) {
    if (r >= f.rows) return;
    std::copy_n(f.row(r).data() + whole * panel, rest, out);
    if (!last.empty()) out[rest] = last[static_cast<std::size_t>(r)];
  };
  std::vector<Real> nothing;
  if (f.rows % 2 != 0) nothing.assign(static_cast<std::size_t>(f.cols), Real(0));
  for (Index r = 0; r < f.rows; r += 2) {
    std::uint32_t* out = data_.data() + (first + r) / 2 * panel;
    line(whole, f.row(r).data(), r + 1 < f.rows ? f.row(r + 1).data() : nothing.data(), out);
    if (whole == panels_) continue;
    Real even_end[panel] = {};
    Real odd_end[panel] = {};
    tail(r, even_end);
    tail(r + 1, odd_end);
    line(1, even_end, odd_end, out + whole * most_pairs_ * panel);
  }
}

template void BfloatRows::pack(Index, MatrixView<const float>, std::span<const float>);
template void BfloatRows::pack(Index, MatrixView<const double>, std::span<const double>);

namespace {

/// Lines of a panel that are multiplied at once: three panels of B stay in the first cache while the panels of A pass by,
/// and the sums of a tile in the second.
constexpr Index depth = 256;

/// The panels of a block of rows, as the kernel wants its left factor.
struct Operands {
  const BfloatKernel& kernel;
  const BfloatRows& f;
  const Matrix<std::uint32_t>& prepared;  ///< empty: as packed

  const std::uint32_t* left(Index q, Index line) const {
    return prepared.empty() ? f.panel_data(q) + line * panel : prepared.data() + (q * f.pairs() + line) * panel;
  }
};

/// C += Aᵀ B for panel i against panels j, …, j + count - 1, over `lines` lines from `line`.
void multiply(const Operands& o, Index i, Index j, int count, Index line, Index lines, MatrixView<float> g) {
  const std::uint32_t* right = o.f.panel_data(j) + line * panel;
  const bool inside = (i + 1) * panel <= o.f.cols() && (j + count) * panel <= o.f.cols();
  if (inside) {
    o.kernel.multiply(lines, o.left(i, line), right, o.f.panel_lines(), count, &g(i * panel, j * panel), g.stride);
    return;
  }
  // G ends inside one of the panels.
  float buffer[panel * 3 * panel] = {};
  constexpr Index stride = 3 * panel;
  o.kernel.multiply(lines, o.left(i, line), right, o.f.panel_lines(), count, buffer, stride);
  const Index rows = std::min(panel, o.f.cols() - i * panel);
  const Index cols = std::min(panel * count, o.f.cols() - j * panel);
  for (Index r = 0; r < rows; ++r) {
    for (Index s = 0; s < cols; ++s) g(i * panel + r, j * panel + s) += buffer[r * stride + s];
  }
}

void accumulate_tile(const Operands& o, Index tile_i, Index tile_j, MatrixView<float> g) {
  const Index last_i = std::min(o.f.panels(), (tile_i + 1) * tile_panels);
  const Index last_j = std::min(o.f.panels(), (tile_j + 1) * tile_panels);
  if (o.kernel.begin != nullptr) o.kernel.begin();
  for (Index line = 0; line < o.f.pairs(); line += depth) {
    const Index lines = std::min(depth, o.f.pairs() - line);
    for (Index j = tile_j * tile_panels; j < last_j; j += 3) {
      for (Index i = std::max(tile_i * tile_panels, j); i < last_i; ++i) {
        multiply(o, i, j, static_cast<int>(std::min<Index>(3, std::min(last_j, i + 1) - j)), line, lines, g);
      }
    }
  }
  if (o.kernel.end != nullptr) o.kernel.end();
}

}  // namespace

void accumulate_gram(const BfloatRows& f, MatrixView<float> g) {
  const BfloatKernel chosen = kernel();
  Matrix<std::uint32_t> prepared;
  if (chosen.prepare != nullptr) {
    prepared = Matrix<std::uint32_t>(f.panels(), f.pairs() * panel);
    parallel_for(f.panels(),
                 [&](Index q) { chosen.prepare(f.pairs(), f.panel_data(q), prepared.data() + q * f.pairs() * panel); });
  }
  const Index tiles = (f.panels() + tile_panels - 1) / tile_panels;
  parallel_for(tiles * (tiles + 1) / 2, [&](Index task) {
    Index i = 0;
    while ((i + 1) * (i + 2) / 2 <= task) ++i;
    accumulate_tile({chosen, f, prepared}, i, task - i * (i + 1) / 2, g);
  });
}

}  // namespace mercer
