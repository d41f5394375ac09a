#pragma once
#include <memory>
#include <string>

#include "io/byte_source.hpp"
#include "io/dataset.hpp"
#include "io/table.hpp"

namespace mercer {

/// `header` is "auto", "yes" or "no"; a delimiter of '\0' is to be found out.
std::unique_ptr<TableReader> open_csv(std::unique_ptr<ByteSource> source, char delimiter, const std::string& header);
std::unique_ptr<TableReader> open_arff(std::unique_ptr<ByteSource> source);
std::unique_ptr<TableReader> open_svmlight(std::unique_ptr<ByteSource> source);
/// Column-major arrays must be held whole: at most memory_bound(memory_bytes).
std::unique_ptr<TableReader> open_npy(std::unique_ptr<ByteSource> source, Index memory_bytes);
/// `labels` may be null; else its one column is joined as the last.
std::unique_ptr<TableReader> open_idx(std::unique_ptr<ByteSource> images, std::unique_ptr<ByteSource> labels);
/// `dataset` is the name inside the file, or empty for the only one. What is gzipped or comes from a stream is held whole:
/// at most memory_bound(memory_bytes).
std::unique_ptr<TableReader> open_hdf5(std::unique_ptr<ByteSource> source, const std::string& dataset, Index memory_bytes);

/// Finds the format (options.format, else the name, else the content) and opens the file in it.
std::unique_ptr<TableReader> open_table(const std::string& path, const DatasetOptions& options);

}  // namespace mercer
