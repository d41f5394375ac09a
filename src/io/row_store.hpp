#pragma once
#include <mercer/view.hpp>

#include <span>
#include <vector>

namespace mercer {

/// Rows of doubles kept in pieces of about 1 MiB, so that growing never copies, up to a bound; beyond it everything is let
/// go.
class RowStore {
 public:
  RowStore(Index width, Index most_bytes);

  /// False once the rows do not fit.
  bool complete() const { return complete_; }
  void append(std::span<const double> row);
  std::span<const double> row(Index i) const;
  void clear();

 private:
  Index width_;
  Index most_rows_;
  Index piece_rows_;
  Index rows_ = 0;
  bool complete_;
  std::vector<std::vector<double>> pieces_;
};

}  // namespace mercer
