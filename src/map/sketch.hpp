#pragma once
#include <mercer/view.hpp>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/matrix.hpp"
#include "base/random.hpp"

namespace mercer {

/// The laws of a sketch S (s × n) of a Gram matrix. All but the last two of the Nyström family have E SᵀS = I by
/// construction; leverage scores have it given the scores; pivoted Cholesky chooses rows for accuracy instead.
enum class SketchLaw {
  p_sr,          ///< S_ij = B_ij R_ij/√(sp), B Bernoulli(p), R = ±1
  p_sg,          ///< the same with R normal
  accumulation,  ///< each row: m entries ±√(n/(sm)) in columns drawn uniformly with replacement
  count,         ///< CountSketch: each column has one entry ±1, in a row drawn uniformly
  nystrom,       ///< √(n/s) e_i, i drawn uniformly without replacement
  leverage,      ///< e_i/√(s q_i), i drawn with replacement by approximate ridge leverage scores q
  rp_cholesky,   ///< e_i for the pivots of randomly pivoted Cholesky
  gaussian,      ///< dense, S_ij normal/√s
  hadamard,      ///< SRHT: ±1/√s, rows of a Hadamard matrix drawn without replacement, columns with random signs
};

/// With the rows, it determines the sketch.
struct SketchRecipe {
  SketchLaw law = SketchLaw::p_sr;
  Index size = 200;               ///< s
  double density = 20;            ///< p-SR, p-SG: p, or p·n when density_over_rows
  bool density_over_rows = true;  ///< p = density/n
  Index terms = 20;               ///< accumulation: m
  std::uint64_t seed = 0;

  /// p for n rows, at most 1.
  double probability(Index rows) const;
  bool operator==(const SketchRecipe&) const = default;
};

/// S_SG: the s × s' matrix that remains of S without its null columns, column after column.
struct SparseSketch {
  Index size = 0;            ///< s
  std::vector<Index> start;  ///< s' + 1: where each column begins
  std::vector<Index> row;    ///< of each non-zero
  std::vector<double> value;

  Index columns() const { return start.empty() ? 0 : static_cast<Index>(start.size()) - 1; }
};

/// Sᵀ (n × s) as numbers. As large as the projection that the feature map keeps of it.
struct DenseSketch {
  Matrix<double> transposed;
};

/// S_rj = sign_j (-1)^popcount(line_r & j)/√s: applied by a fast Walsh-Hadamard transform in O(N log N), N the power of two
/// not below n.
struct HadamardSketch {
  std::vector<Index> line;   ///< s rows of the N × N Hadamard matrix, distinct
  std::vector<double> sign;  ///< n
};

/// A drawn sketch: S = form · (rows `anchors` of the identity).
struct Sketch {
  std::vector<Index> anchors;  ///< numbers of the rows it touches, ascending, distinct
  std::variant<SparseSketch, DenseSketch, HadamardSketch> form;

  Index size() const;
  Index touched() const { return static_cast<Index>(anchors.size()); }
};

/// Whether the law can be drawn from the number of rows alone.
bool needs_rows(SketchLaw law);
/// Whether S touches every row, so that a model keeps them all.
bool touches_all_rows(SketchLaw law);
/// The word of the command line: "p-sr", "nystrom", ….
const char* to_string(SketchLaw law);

/// A sketch of n rows by any law that does not need them. O(non-zeros) random numbers, by geometric skipping; each is a
/// pure function of (seed, law, place).
Sketch draw_sketch(const SketchRecipe& recipe, Index rows);

/// S with one unit-sized entry per row: rows[r] with value[r] in sketch row r. Rows may repeat.
Sketch selection_sketch(const std::vector<Index>& rows, const std::vector<double>& values);

/// s distinct numbers below n, each set equally likely (Floyd); in the order drawn. O(s).
std::vector<Index> draw_without_replacement(Index n, Index s, const Stream& stream);

/// out (b × s) = T Sᵀ for a block T (b × s') over the anchors. O(b·non-zeros), O(b·s·s'), or O(b·N log N).
void apply_right(const Sketch& sketch, ConstMatrix t, MutMatrix out);
/// mixed (s × b) += S(:, first …)·tile for the rows of a tile (· × b). O(b·non-zeros), along rows.
void add_mixed(const SparseSketch& sketch, Index first, ConstMatrix tile, MutMatrix mixed);
/// Sᵀ V (s' × r) for V (s × r), over the anchors.
Matrix<double> apply_transposed(const Sketch& sketch, ConstMatrix v);

}  // namespace mercer
