#pragma once
#include <string>
#include <vector>

#include "model/tune.hpp"

namespace mercer {

/// The results file of a search: one row per configuration, rewritten whole (and atomically) after every map, so that a
/// search that was stopped goes on where it was. `setup` names data and comparison; rows of another are refused.
class TuneResults {
 public:
  /// Reads `path` where it exists; "" keeps nothing. Throws Error when it is something else or belongs to another search.
  TuneResults(std::string path, std::string setup, std::string metric);

  /// The rows of this kernel, map and loss; none when they are still to be computed.
  std::vector<TuneRow> find(const std::string& kernel, const std::string& map, const std::string& loss) const;
  /// Adds rows and rewrites the file.
  void add(const std::vector<TuneRow>& rows);

 private:
  void read();

  std::string path_;
  std::string setup_;
  std::string metric_;
  std::vector<TuneRow> rows_;
};

}  // namespace mercer
