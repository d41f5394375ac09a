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

/// The panels of two blocks of rows, the left one as the kernel wants it.
struct Operands {
  const BfloatKernel& kernel;
  const BfloatRows& f;
  const BfloatRows& h;
  const Matrix<std::uint32_t>& prepared;  ///< f; empty: as packed

  BfloatPanels left(Index q, Index count, Index line) const {
    if (prepared.empty()) return packed(f, q, count, line);
    return {prepared.data() + (q * f.pairs() + line) * panel, f.pairs(), static_cast<int>(count)};
  }
  BfloatPanels right(Index q, Index count, Index line) const { return packed(h, q, count, line); }

 private:
  static BfloatPanels packed(const BfloatRows& rows, Index q, Index count, Index line) {
    return {rows.panel_data(q) + line * panel, rows.panel_lines(), static_cast<int>(count)};
  }
};

/// Panels [first, first + count) of G.
struct PanelRange {
  Index first;
  Index count;
  Index end() const { return first + count; }
};

/// C += Aᵀ B for panels i against panels j, over `lines` lines from `line`.
void multiply(const Operands& o, PanelRange i, PanelRange j, Index line, Index lines, MatrixView<float> g) {
  const BfloatPanels left = o.left(i.first, i.count, line);
  const BfloatPanels right = o.right(j.first, j.count, line);
  const bool inside = i.end() * panel <= o.f.cols() && j.end() * panel <= o.f.cols();
  if (inside) {
    o.kernel.multiply(lines, left, right, &g(i.first * panel, j.first * panel), g.stride);
    return;
  }
  // G ends inside one of the panels.
  constexpr Index most = 3 * panel;
  float buffer[most * most] = {};
  o.kernel.multiply(lines, left, right, buffer, most);
  const Index rows = std::min(panel * i.count, o.f.cols() - i.first * panel);
  const Index cols = std::min(panel * j.count, o.f.cols() - j.first * panel);
  for (Index r = 0; r < rows; ++r) {
    for (Index s = 0; s < cols; ++s) g(i.first * panel + r, j.first * panel + s) += buffer[r * most + s];
  }
}

void accumulate_tile(const Operands& o, Index tile_i, Index tile_j, MatrixView<float> g) {
  const BfloatKernel& k = o.kernel;
  const Index last_i = std::min(o.f.panels(), (tile_i + 1) * k.tile_panels);
  const Index last_j = std::min(o.f.panels(), (tile_j + 1) * k.tile_panels);
  if (k.begin != nullptr) k.begin();
  for (Index line = 0; line < o.f.pairs(); line += k.depth) {
    const Index lines = std::min(k.depth, o.f.pairs() - line);
    for (Index j = tile_j * k.tile_panels; j < last_j; j += k.most_right) {
      for (Index i = std::max(tile_i * k.tile_panels, j); i < last_i; i += k.most_left) {
        const PanelRange rows{i, std::min(k.most_left, last_i - i)};
        multiply(o, rows, {j, std::min(k.most_right, std::min(last_j, rows.end()) - j)}, line, lines, g);
      }
    }
  }
  if (k.end != nullptr) k.end();
}

/// Lower triangle of G += FᵀH.
void accumulate_product(const BfloatRows& f, const BfloatRows& h, MatrixView<float> g) {
  const BfloatKernel chosen = kernel();
  Matrix<std::uint32_t> prepared;
  if (chosen.prepare != nullptr) {
    prepared = Matrix<std::uint32_t>(f.panels(), f.pairs() * panel);
    parallel_for(f.panels(),
                 [&](Index q) { chosen.prepare(f.pairs(), f.panel_data(q), prepared.data() + q * f.pairs() * panel); });
  }
  const Index tiles = (f.panels() + chosen.tile_panels - 1) / chosen.tile_panels;
  parallel_for(tiles * (tiles + 1) / 2, [&](Index task) {
    Index i = 0;
    while ((i + 1) * (i + 2) / 2 <= task) ++i;
    accumulate_tile({chosen, f, h, prepared}, i, task - i * (i + 1) / 2, g);
  });
}

}  // namespace

void accumulate_gram(const BfloatRows& f, MatrixView<float> g) {
  accumulate_product(f, f, g);
}

void accumulate_gram(const BfloatRows& f, const BfloatRows& h, MatrixView<float> g) {
  if (f.cols() != h.cols() || f.pairs() != h.pairs()) fail_internal("blocks of different shape have no common Gram matrix");
  accumulate_product(f, h, g);
  accumulate_product(h, f, g);
}

}  // namespace mercer
