#pragma once
#include <mercer/view.hpp>

#include <string>
#include <string_view>

#include "io/element.hpp"

namespace mercer {

struct NpyHeader {
  Element element;
  bool column_major = false;
  Index rows = 0;
  Index cols = 1;  ///< 1 for a one-dimensional array
};

/// Reads the Python dictionary of an NPY header: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }. Everything
/// that is not exactly that, or not a 1-D or 2-D array of numbers, is refused by fail_file naming `path`.
NpyHeader parse_npy_header(std::string_view text, const std::string& path);

}  // namespace mercer
