#include "backend/packed_rows.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/cpu/cpu.hpp"
#include "backend/cpu/packed_kernel.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "base/touched.hpp"

namespace mercer {
namespace {

constexpr Index panel = BfloatRows::panel;

constexpr std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

constexpr LowNumber numbers[] = {LowNumber::int8, LowNumber::bf16};
constexpr PackedPath paths[] = {PackedPath::amx, PackedPath::avx512, PackedPath::portable};

bool supported_by_any(PackedPath path) {
  return std::ranges::any_of(numbers, [&](LowNumber number) { return path_supported(number, path); });
}

/// The best that any number has, or what MERCER_PACKED asks for.
PackedPath chosen_at_start() {
  const char* wish = std::getenv("MERCER_PACKED");
  const bool any = wish == nullptr || *wish == '\0';
  for (const PackedPath path : paths) {
    if (!any && std::string(wish) != to_string(path)) continue;
    if (supported_by_any(path)) return path;
    if (!any) fail_argument(std::string("MERCER_PACKED=") + wish + ", but this CPU does not have it");
  }
  fail_argument(std::string("MERCER_PACKED is '") + wish + "', not one of portable, avx512, amx");
}

std::atomic<PackedPath> highest{PackedPath::automatic};

template <class Sum>
constexpr LowNumber number_of = std::is_same_v<Sum, float> ? LowNumber::bf16 : LowNumber::int8;

}  // namespace

template <class Sum>
PackedKernel<Sum> active_kernel() {
  constexpr bool bf16 = std::is_same_v<Sum, float>;
  switch (active_path(number_of<Sum>)) {
#if defined(__x86_64__)
    case PackedPath::amx:
      if constexpr (bf16) return bfloat_amx();
      if constexpr (!bf16) return byte_amx();
      break;
    case PackedPath::avx512:
      if constexpr (bf16) return bfloat_avx512();
      if constexpr (!bf16) return byte_avx512();
      break;
#endif
    default:
      break;
  }
  if constexpr (bf16) {
    return bfloat_portable();
  } else {
    return byte_portable();
  }
}
template PackedKernel<float> active_kernel();
template PackedKernel<std::int32_t> active_kernel();

const char* to_string(PackedPath path) {
  switch (path) {
    case PackedPath::amx:
      return "amx";
    case PackedPath::avx512:
      return "avx512";
    case PackedPath::portable:
      return "portable";
    case PackedPath::automatic:
      break;
  }
  return "automatic";
}

bool path_supported(LowNumber number, PackedPath path) {
  const CpuFeatures cpu = cpu_features();
  switch (path) {
    case PackedPath::amx:
      return number == LowNumber::int8 ? cpu.amx_int8 : cpu.amx_bf16;
    case PackedPath::avx512:
      return number == LowNumber::int8 ? cpu.avx512_vnni : cpu.avx512_bf16;
    default:
      return true;
  }
}

void force_path(PackedPath path) {
  if (!supported_by_any(path)) fail_argument(std::string("this CPU has no ") + to_string(path));
  highest.store(path);
}

PackedPath active_path(LowNumber number) {
  PackedPath path = highest.load(std::memory_order_relaxed);
  if (path == PackedPath::automatic) {
    path = chosen_at_start();
    highest.store(path);
  }
  while (!path_supported(number, path)) path = path == PackedPath::amx ? PackedPath::avx512 : PackedPath::portable;
  return path;
}

bool is_fast(LowNumber number) {
  switch (active_path(number)) {
    case PackedPath::amx:
      return true;
    case PackedPath::avx512:
      return number == LowNumber::int8 || cpu_features().fast_bf16;
    default:
      return false;
  }
}

namespace {

/// A whole number of tiles, from one panel to the next. Panels a multiple of 8 kB apart fall on few sets of the caches and
/// push each other out: tiles of AMX were multiplied at 60 % of the speed.
Index spread_lines(Index lines) {
  return lines % 128 == 0 ? lines + 64 : lines;
}

}  // namespace

template <class Sum>
PackedRows<Sum>::PackedRows(Index most_rows, Index cols)
    : cols_(cols),
      panels_((cols + panel - 1) / panel),
      most_lines_(spread_lines((most_rows + 16 * group - 1) / (16 * group) * 16)) {
  data_ = touched<std::uint32_t>(panels_, checked_product(most_lines_, panel));
}

template <class Sum>
void PackedRows<Sum>::set_rows(Index rows) {
  const Index lines = (rows + 16 * group - 1) / (16 * group) * 16;
  if (lines > most_lines_) fail_internal("more rows than the packed block holds");
  // What earlier rows left between the last row and the end of its sixteen lines would count as rows.
  const Index full = rows / group;
  if (full < lines) {
    parallel_for(panels_, [&](Index q) {
      std::uint32_t* words = data_.data() + q * most_lines_ * panel;
      std::fill(words + full * panel, words + lines * panel, 0U);
    });
  }
  lines_ = lines;
}

template <class Sum>
template <class Real>
void PackedRows<Sum>::pack(Index first, MatrixView<const Real> f, MatrixView<const Real> more,
                           std::span<const float> scales) {
  const PackedKernel<Sum> chosen = active_kernel<Sum>();
  const Index whole = f.cols / panel;
  const Index rest = f.cols - whole * panel;
  const Index tail = panels_ - whole;  // panels
  if (f.cols + more.cols > cols_) fail_internal("more columns than the packed block holds");
  const auto line = [&](Index panels, const Real* const* rows, const float* scale, std::uint32_t* out) {
    if constexpr (std::is_same_v<Real, float>) {
      chosen.pack_single(panels, rows, scale, out, most_lines_);
    } else {
      chosen.pack_double(panels, rows, scale, out, most_lines_);
    }
  };
  // The columns after the last whole panel, and zeros in place of rows that would fill the last group.
  Matrix<Real> ends(group, tail * panel);
  std::vector<float> end_scales(at(tail * panel), 0.0F);
  if (!scales.empty()) std::ranges::copy(scales.subspan(at(whole * panel)), end_scales.begin());
  std::vector<Real> nothing;
  if (f.rows % group != 0) nothing.assign(at(f.cols), Real(0));
  for (Index r = 0; r < f.rows; r += group) {
    std::array<const Real*, at(group)> rows{};
    for (Index k = 0; k < group; ++k) rows[at(k)] = r + k < f.rows ? f.row(r + k).data() : nothing.data();
    std::uint32_t* out = data_.data() + (first + r) / group * panel;
    line(whole, rows.data(), scales.data(), out);
    if (tail == 0) continue;
    for (Index k = 0; k < group; ++k) {
      const std::span<Real> end = ends.row(k);
      if (r + k < f.rows) {
        std::copy_n(rows[at(k)] + whole * panel, rest, end.begin());
        if (more.cols > 0) std::ranges::copy(more.row(r + k), end.begin() + rest);
      } else {
        std::ranges::fill(end, Real(0));
      }
      rows[at(k)] = end.data();
    }
    line(tail, rows.data(), end_scales.data(), out + whole * most_lines_ * panel);
  }
}

template <class Sum>
Matrix<std::uint32_t>& PackedRows<Sum>::reordered() {
  if (reordered_.empty()) reordered_ = touched<std::uint32_t>(data_.rows(), data_.cols());
  return reordered_;
}

template class PackedRows<float>;
template class PackedRows<std::int32_t>;
template void BfloatRows::pack(Index, MatrixView<const float>, MatrixView<const float>, std::span<const float>);
template void BfloatRows::pack(Index, MatrixView<const double>, MatrixView<const double>, std::span<const float>);
template void ByteRows::pack(Index, MatrixView<const float>, MatrixView<const float>, std::span<const float>);
template void ByteRows::pack(Index, MatrixView<const double>, MatrixView<const double>, std::span<const float>);

namespace {

/// The panels of two blocks of rows, the left one as the kernel wants it.
template <class Sum>
struct Operands {
  const PackedKernel<Sum>& kernel;
  const PackedRows<Sum>& f;
  const PackedRows<Sum>& h;
  const std::uint32_t* prepared;  ///< f; nullptr: as packed

  Panels left(Index q, Index count, Index line) const {
    Panels panels = packed(f, q, count, line);
    if (prepared != nullptr) panels.data = prepared + (q * f.panel_lines() + line) * panel;
    return panels;
  }
  Panels right(Index q, Index count, Index line) const { return packed(h, q, count, line); }

 private:
  static Panels packed(const PackedRows<Sum>& rows, Index q, Index count, Index line) {
    return {rows.panel_data(q) + line * panel, rows.panel_lines(), static_cast<int>(count)};
  }
};

/// C (at panels i, j of G) += Aᵀ B.
template <class Sum>
void multiply(const Operands<Sum>& o, Index i, const Panels& left, Index j, const Panels& right, Index lines,
              const Sum* start, MatrixView<Sum> g) {
  const bool inside = (i + left.count) * panel <= o.f.cols() && (j + right.count) * panel <= o.f.cols();
  if (inside) {
    o.kernel.multiply(lines, left, right, start, &g(i * panel, j * panel), g.stride);
    return;
  }
  // G ends inside one of the panels.
  constexpr Index most = PackedKernel<Sum>::most_panels * panel;
  std::array<Sum, at(most * most)> buffer{};
  o.kernel.multiply(lines, left, right, start, buffer.data(), most);
  const Index rows = std::min(panel * left.count, o.f.cols() - i * panel);
  const Index cols = std::min(panel * right.count, o.f.cols() - j * panel);
  for (Index r = 0; r < rows; ++r) {
    for (Index s = 0; s < cols; ++s) g(i * panel + r, j * panel + s) += buffer[at(r * most + s)];
  }
}

/// As few rows of tiles as the kernel's size of them allows, all of nearly the same height: a narrow one at the end would
/// read all panels for little work. They begin where groups of panels do.
class TileRows {
 public:
  template <class Sum>
  TileRows(const PackedKernel<Sum>& kernel, Index panels)
      : panels_(panels),
        group_(std::lcm(kernel.most_left, kernel.most_right)),
        count_((panels + kernel.tile_panels - 1) / kernel.tile_panels) {}
  Index count() const { return count_; }
  Index first(Index i) const { return std::min(panels_, i * ((panels_ + group_ - 1) / group_) / count_ * group_); }

 private:
  Index panels_;
  Index group_;
  Index count_;
};

template <class Sum>
void accumulate_tile(const Operands<Sum>& o, const TileRows& tiles, Index tile_i, Index tile_j, MatrixView<Sum> g) {
  const PackedKernel<Sum>& k = o.kernel;
  const Index last_i = tiles.first(tile_i + 1);
  const Index last_j = tiles.first(tile_j + 1);
  std::array<Sum, at(PackedKernel<Sum>::most_panels * panel)> start{};
  if (k.begin != nullptr) k.begin();
  for (Index line = 0; line < o.f.lines(); line += k.depth) {
    const Index lines = std::min(k.depth, o.f.lines() - line);
    for (Index j = tiles.first(tile_j); j < last_j; j += k.most_right) {
      const Panels right = o.right(j, std::min(k.most_right, last_j - j), line);
      if (k.offsets != nullptr) k.offsets(lines, right, start.data());
      for (Index i = std::max(tiles.first(tile_i), j); i < last_i; i += k.most_left) {
        const Panels left = o.left(i, std::min(k.most_left, last_i - i), line);
        // No further to the right than the diagonal.
        const Panels reached{right.data, right.stride, static_cast<int>(std::min<Index>(right.count, i + left.count - j))};
        multiply<Sum>(o, i, left, j, reached, lines, start.data(), g);
      }
    }
  }
  if (k.end != nullptr) k.end();
}

}  // namespace

/// Row i of the tiles is i + 1 tasks. Before them goes one that prepares the panels on the left of a row to come, so that
/// nobody waits for it.
template <class Sum>
struct GramTasks<Sum>::State {
  PackedRows<Sum>& f;
  const PackedRows<Sum>& h;
  MatrixView<Sum> g;
  PackedKernel<Sum> kernel = active_kernel<Sum>();
  TileRows tiles{kernel, f.panels()};
  std::uint32_t* prepared = kernel.prepare != nullptr ? f.reordered().data() : nullptr;
  std::vector<Milestone> rows{at(tiles.count())};  ///< 1: prepared
  static constexpr Index ahead = 2;

  void prepare(Index i) {
    if (prepared == nullptr || i >= tiles.count()) return;
    const Milestone::Guard guard(rows[at(i)], 1);
    for (Index q = tiles.first(i); q < tiles.first(i + 1); ++q)
      kernel.prepare(f.lines(), f.panel_data(q), prepared + q * f.panel_lines() * panel);
  }
};

template <class Sum>
GramTasks<Sum>::GramTasks(PackedRows<Sum>& f, const PackedRows<Sum>& h, MatrixView<Sum> g)
    : state_(std::make_unique<State>(State{f, h, g})) {}
template <class Sum>
GramTasks<Sum>::~GramTasks() = default;

template <class Sum>
Index GramTasks<Sum>::count() const {
  return State::ahead + state_->tiles.count() * (state_->tiles.count() + 3) / 2;
}

template <class Sum>
void GramTasks<Sum>::run(Index task) const {
  State& state = *state_;
  if (task < State::ahead) return state.prepare(task);
  const auto [row, place] = triangle_tile(task - State::ahead + 1);  // without its first row: two tasks, three, …
  const Index i = row - 1;
  if (place == 0) return state.prepare(i + State::ahead);
  if (state.prepared != nullptr) state.rows[at(i)].wait_for(1);
  accumulate_tile<Sum>({state.kernel, state.f, state.h, state.prepared}, state.tiles, i, place - 1, state.g);
}

template class GramTasks<float>;
template class GramTasks<std::int32_t>;

namespace {

template <class Sum>
void accumulate_product(PackedRows<Sum>& f, const PackedRows<Sum>& h, MatrixView<Sum> g) {
  const GramTasks<Sum> tasks(f, h, g);
  parallel_for(tasks.count(), [&](Index task) { tasks.run(task); });
}

}  // namespace

template <class Sum>
void accumulate_gram(PackedRows<Sum>& f, MatrixView<Sum> g) {
  accumulate_product<Sum>(f, f, g);
}
template void accumulate_gram(BfloatRows&, MatrixView<float>);
template void accumulate_gram(ByteRows&, MatrixView<std::int32_t>);

void accumulate_gram(BfloatRows& f, BfloatRows& h, MatrixView<float> g) {
  if (f.cols() != h.cols() || f.lines() != h.lines()) fail_internal("blocks of different shape have no common Gram matrix");
  accumulate_product<float>(f, h, g);
  accumulate_product<float>(h, f, g);
}

}  // namespace mercer
