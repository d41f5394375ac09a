#pragma once
#include <mercer/view.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mercer {

/// The different texts of one column, numbered as they are first seen, and by rank once all are known.
class Codebook {
 public:
  /// More different texts than this mean that the column is no category (a date, an identifier).
  static constexpr Index most = 10'000;

  Codebook() = default;
  /// These texts, whose order is already the rank.
  explicit Codebook(const std::vector<std::string>& texts);

  /// The number of a text, or -1.
  Index find(std::string_view text) const;
  Index add(std::string_view text);
  Index size() const { return static_cast<Index>(texts_.size()); }
  /// Orders the texts: as numbers when `by_number` and all are numbers, else as bytes.
  void sort(bool by_number);
  /// Place of a number in the sorted order.
  Index rank(Index number) const { return ranks_[static_cast<std::size_t>(number)]; }
  const std::vector<std::string>& sorted() const { return sorted_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Index, Hash, std::equal_to<>> numbers_;
  std::vector<std::string> texts_;
  std::vector<std::string> sorted_;
  std::vector<Index> ranks_;
};

}  // namespace mercer
