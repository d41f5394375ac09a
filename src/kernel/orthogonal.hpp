#pragma once
#include "base/matrix.hpp"
#include "base/random.hpp"

namespace mercer {

/// count × d rows, each N(0, I_d), orthogonal to each other within blocks of d rows (rows b·d … b·d + d - 1; the last block
/// may be cut): directions from a Haar-distributed orthogonal matrix, lengths independent chi_d. Row j is a pure function of
/// (stream, j). Bit-equal on every machine: plain arithmetic in a fixed order. O(count·d²) flops.
Matrix<double> orthogonal_gaussian(Index count, Index d, const Stream& stream);

}  // namespace mercer
