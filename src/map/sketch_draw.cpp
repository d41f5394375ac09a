#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/fail.hpp"
#include "base/parallel.hpp"
#include "map/sketch.hpp"

namespace mercer {
namespace {

std::uint64_t key(Index i) {
  return static_cast<std::uint64_t>(i);
}

struct Entry {
  Index row = 0;     ///< of S
  Index column = 0;  ///< of S: a row of the data
  double value = 0;
};

double sign(const Stream& stream, Index i, Index j) {
  return (stream.bits(key(i), key(j)) >> 63U) != 0 ? 1.0 : -1.0;
}

/// The sketch with these entries; several at one place are added.
Sketch assembled(Index size, std::vector<Entry> entries) {
  std::ranges::sort(
      entries, [](const Entry& a, const Entry& b) { return a.column != b.column ? a.column < b.column : a.row < b.row; });
  Sketch sketch;
  SparseSketch s;
  s.size = size;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const Entry& e = entries[k];
    if (k > 0 && entries[k - 1].column == e.column && entries[k - 1].row == e.row) {
      s.value.back() += e.value;
      continue;
    }
    if (k == 0 || entries[k - 1].column != e.column) {
      sketch.anchors.push_back(e.column);
      s.start.push_back(static_cast<Index>(s.row.size()));
    }
    s.row.push_back(e.row);
    s.value.push_back(e.value);
  }
  s.start.push_back(static_cast<Index>(s.row.size()));
  sketch.form = std::move(s);
  return sketch;
}

/// log(1 - p), by its series for small p, from basic arithmetic alone so that every machine draws the same sketch.
double log_of_miss(double p) {
  return p < 1e-4 ? -p * (1 + p * (1.0 / 2 + p * (1.0 / 3 + p / 4))) : portable_log(std::max(1 - p, 0x1p-1022));
}

/// Bernoulli(p) cells of an s × n grid, row by row: the gap to the next one is geometric, ⌊log u/log(1 - p)⌋.
std::vector<Entry> sparsified(const SketchRecipe& recipe, Index n) {
  const Stream stream(recipe.seed, to_string(recipe.law));
  const Stream gaps = stream.child("gap");
  const Stream values = stream.child("value");
  const double p = recipe.probability(n);
  const double scale = 1 / std::sqrt(static_cast<double>(recipe.size) * p);
  const double miss = log_of_miss(p);
  std::vector<Entry> entries;
  for (Index r = 0; r < recipe.size; ++r) {
    Index column = -1;
    for (Index t = 0;; ++t) {
      const double gap = p < 1 ? portable_log(gaps.uniform(key(r), key(t))) / miss : 0;
      if (!(gap < static_cast<double>(n - column - 1))) break;
      column += 1 + static_cast<Index>(gap);
      const double value = recipe.law == SketchLaw::p_sr ? sign(values, r, t) : values.normal(key(r), key(t));
      entries.push_back({r, column, scale * value});
    }
  }
  return entries;
}

std::vector<Entry> accumulated(const SketchRecipe& recipe, Index n) {
  const Stream stream(recipe.seed, "accumulation");
  const Stream places = stream.child("place");
  const Stream signs = stream.child("sign");
  const double scale =
      std::sqrt(static_cast<double>(n) / (static_cast<double>(recipe.size) * static_cast<double>(recipe.terms)));
  std::vector<Entry> entries;
  for (Index r = 0; r < recipe.size; ++r) {
    for (Index t = 0; t < recipe.terms; ++t) {
      entries.push_back({r, static_cast<Index>(places.below(key(n), key(r), key(t))), scale * sign(signs, r, t)});
    }
  }
  return entries;
}

std::vector<Entry> counted(const SketchRecipe& recipe, Index n) {
  const Stream stream(recipe.seed, "countsketch");
  const Stream places = stream.child("place");
  const Stream signs = stream.child("sign");
  std::vector<Entry> entries;
  for (Index j = 0; j < n; ++j) {
    entries.push_back({static_cast<Index>(places.below(key(recipe.size), key(j), 0)), j, sign(signs, j, 0)});
  }
  return entries;
}

Sketch on_all_rows(Index n) {
  Sketch sketch;
  sketch.anchors.resize(static_cast<std::size_t>(n));
  std::iota(sketch.anchors.begin(), sketch.anchors.end(), Index{0});
  return sketch;
}

Sketch dense_gaussian(const SketchRecipe& recipe, Index n) {
  const Stream stream(recipe.seed, "gaussian-sketch");
  DenseSketch d;
  d.transposed = Matrix<double>(n, recipe.size);
  const double scale = 1 / std::sqrt(static_cast<double>(recipe.size));
  parallel_for(n, [&](Index j) {
    for (Index r = 0; r < recipe.size; ++r) d.transposed(j, r) = scale * stream.normal(key(r), key(j));
  });
  Sketch sketch = on_all_rows(n);
  sketch.form = std::move(d);
  return sketch;
}

Sketch hadamard(const SketchRecipe& recipe, Index n) {
  const Stream stream(recipe.seed, "srht");
  const Stream signs = stream.child("sign");
  Index length = 1;
  while (length < n) length *= 2;
  HadamardSketch h;
  h.line = draw_without_replacement(length, std::min(recipe.size, length), stream.child("line"));
  for (Index j = 0; j < n; ++j) h.sign.push_back(sign(signs, j, 0));
  Sketch sketch = on_all_rows(n);
  sketch.form = std::move(h);
  return sketch;
}

}  // namespace

double SketchRecipe::probability(Index rows) const {
  return std::min(1.0, density_over_rows ? density / static_cast<double>(rows) : density);
}

Index Sketch::size() const {
  if (const auto* sparse = std::get_if<SparseSketch>(&form)) return sparse->size;
  if (const auto* dense = std::get_if<DenseSketch>(&form)) return dense->transposed.cols();
  return static_cast<Index>(std::get<HadamardSketch>(form).line.size());
}

bool needs_rows(SketchLaw law) {
  return law == SketchLaw::leverage || law == SketchLaw::rp_cholesky;
}

bool touches_all_rows(SketchLaw law) {
  return law == SketchLaw::gaussian || law == SketchLaw::hadamard || law == SketchLaw::count;
}

const char* to_string(SketchLaw law) {
  switch (law) {
    case SketchLaw::p_sr:
      return "p-sr";
    case SketchLaw::p_sg:
      return "p-sg";
    case SketchLaw::accumulation:
      return "accumulation";
    case SketchLaw::count:
      return "countsketch";
    case SketchLaw::nystrom:
      return "uniform";
    case SketchLaw::leverage:
      return "leverage";
    case SketchLaw::rp_cholesky:
      return "rpcholesky";
    case SketchLaw::gaussian:
      return "gaussian-sketch";
    case SketchLaw::hadamard:
      break;
  }
  return "srht";
}

std::vector<Index> draw_without_replacement(Index n, Index s, const Stream& stream) {
  std::unordered_set<Index> taken;
  std::vector<Index> drawn;
  for (Index top = n - s; top < n; ++top) {
    auto one = static_cast<Index>(stream.below(key(top + 1), key(top), 0));
    if (taken.contains(one)) one = top;
    taken.insert(one);
    drawn.push_back(one);
  }
  return drawn;
}

Sketch selection_sketch(const std::vector<Index>& rows, const std::vector<double>& values) {
  std::vector<Entry> entries;
  for (std::size_t r = 0; r < rows.size(); ++r) entries.push_back({static_cast<Index>(r), rows[r], values[r]});
  return assembled(static_cast<Index>(rows.size()), std::move(entries));
}

Sketch draw_sketch(const SketchRecipe& recipe, Index rows) {
  if (rows < 1) fail_argument("a sketch needs at least one row of positive weight");
  switch (recipe.law) {
    case SketchLaw::p_sr:
    case SketchLaw::p_sg:
      return assembled(recipe.size, sparsified(recipe, rows));
    case SketchLaw::accumulation:
      return assembled(recipe.size, accumulated(recipe, rows));
    case SketchLaw::count:
      return assembled(recipe.size, counted(recipe, rows));
    case SketchLaw::nystrom: {
      const Index s = std::min(recipe.size, rows);
      std::vector<Index> drawn = draw_without_replacement(rows, s, Stream(recipe.seed, "nystrom"));
      std::ranges::sort(drawn);
      return selection_sketch(
          drawn, std::vector<double>(drawn.size(), std::sqrt(static_cast<double>(rows) / static_cast<double>(s))));
    }
    case SketchLaw::gaussian:
      return dense_gaussian(recipe, rows);
    case SketchLaw::hadamard:
      return hadamard(recipe, rows);
    case SketchLaw::leverage:
    case SketchLaw::rp_cholesky:
      break;
  }
  fail_internal("this sketch is drawn from the rows, not from their number");
}

}  // namespace mercer
