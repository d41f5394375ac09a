#pragma once
#include <mercer/view.hpp>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mercer {

/// The columns of a file by name.
class ColumnNames {
 public:
  ColumnNames(const std::vector<std::string>& names, const std::string& path);

  /// Position, or -1.
  Index find(std::string_view name) const;
  Index count() const { return static_cast<Index>(names_->size()); }
  const std::string& name(Index column) const { return (*names_)[static_cast<std::size_t>(column)]; }

  /// Reads a selection such as "price", "3-7", "a-d,f", "last:8", "first:2" (see DatasetOptions); `what` names it in
  /// messages
  /// ("targets"). A column chosen twice, or none, is an error.
  std::vector<Index> select(const std::string& selection, const std::string& what) const;

  /// "; its columns are 'a', 'b', … (72 in all)"
  std::string list() const;
  /// " (did you mean 'x'?)"
  std::string nearest(std::string_view name) const;

 private:
  void select_item(std::string_view item, const std::string& what, std::vector<Index>& chosen) const;
  bool select_count(std::string_view item, const std::string& what, std::vector<Index>& chosen) const;
  bool select_range(std::string_view item, const std::string& what, std::vector<Index>& chosen) const;
  Index name_or_number(std::string_view text) const;

  const std::vector<std::string>* names_;
  std::string path_;
  mutable std::unordered_map<std::string_view, Index> positions_;  ///< made once some names have been looked for
  mutable int searches_ = 0;
};

}  // namespace mercer
