#pragma once
#include <mercer/view.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mercer {

/// Where the rows of a data set stand in its files, for messages. Most follow each other line by line: something is kept
/// only where one was left out (a missing cell, an empty line) or took several lines.
class RowPlaces {
 public:
  struct Place {
    std::size_t file = 0;
    Index number = 0;  ///< of the line or row in it
  };

  /// Of the next row.
  void append(Place place) {
    if (runs_.empty() || runs_.back().place.file != place.file ||
        place.number - runs_.back().place.number != rows_ - runs_.back().first) {
      runs_.push_back({rows_, place});
    }
    ++rows_;
  }
  Place of(Index row) const {
    const auto after = std::ranges::upper_bound(runs_, row, {}, &Run::first);
    if (after == runs_.begin()) return {};
    const Run& run = *(after - 1);
    return {run.place.file, run.place.number + row - run.first};
  }
  void clear() {
    runs_.clear();
    rows_ = 0;
  }

 private:
  struct Run {
    Index first;  ///< row of the data set
    Place place;
  };
  std::vector<Run> runs_;
  Index rows_ = 0;
};

}  // namespace mercer
