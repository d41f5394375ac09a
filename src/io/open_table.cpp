#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/readers.hpp"

namespace mercer {
namespace {

const std::vector<std::string>& known_formats() {
  static const std::vector<std::string> formats{"csv", "tsv", "arff", "svmlight", "npy", "idx", "hdf5"};
  return formats;
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

/// The format a file name tells, or "".
std::string format_by_name(const std::string& path) {
  std::string name = lower_case(path);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  struct Ending {
    std::string_view ending;
    const char* format;
  };
  constexpr std::array<Ending, 14> endings{{{".csv", "csv"},
                                            {".tsv", "tsv"},
                                            {".tab", "tsv"},
                                            {".arff", "arff"},
                                            {".svm", "svmlight"},
                                            {".svmlight", "svmlight"},
                                            {".libsvm", "svmlight"},
                                            {".npy", "npy"},
                                            {".idx", "idx"},
                                            {"-ubyte", "idx"},
                                            {".h5", "hdf5"},
                                            {".hdf5", "hdf5"},
                                            {".hdf", "hdf5"},
                                            {".he5", "hdf5"}}};
  for (const auto& [ending, format] : endings) {
    if (name.ends_with(ending)) return format;
  }
  return "";
}

/// "file.h5:/group/name" in its two parts; a file of that very name wins.
bool split_hdf5_path(const std::string& path, std::string& file, std::string& dataset) {
  const std::size_t colon = path.find(":/");
  if (colon == std::string::npos || exists(path)) return false;
  file = path.substr(0, colon);
  dataset = path.substr(colon + 1);
  return format_by_name(file) == "hdf5" || exists(file);
}

/// 1 3:0.5 or 1 qid:2 3:0.5: a number, then only index:value.
bool looks_like_svmlight(std::string_view line) {
  std::vector<std::string> words;
  for (const auto& word : split(line, ' ')) {
    if (!trim(word).empty()) words.emplace_back(trim(word));
  }
  double number = 0;
  if (words.size() < 2 || !parse_number(words[0], number)) return false;
  return std::all_of(words.begin() + 1, words.end(), [](const std::string& word) {
    const std::size_t colon = word.find(':');
    double ignored = 0;
    if (colon == std::string::npos || colon == 0 || !parse_number(word.substr(colon + 1), ignored)) return false;
    const std::string index = word.substr(0, colon);
    return index == "qid" || index.find_first_not_of("0123456789") == std::string::npos;
  });
}

std::string format_by_text(std::string_view start) {
  for (const auto& line : split(start.substr(0, start.rfind('\n')), '\n')) {
    const std::string_view text = trim(line);
    if (text.empty() || text.front() == '%' || text.front() == '#') continue;
    if (lower_case(std::string(text.substr(0, 9))) == "@relation" ||
        lower_case(std::string(text.substr(0, 10))) == "@attribute") {
      return "arff";
    }
    return looks_like_svmlight(text.substr(0, text.find('#'))) ? "svmlight" : "csv";
  }
  return "csv";
}

std::string format_by_content(ByteSource& source) {
  std::vector<char> buffer(std::size_t{1} << 16U);
  std::size_t size = 0;
  while (size < buffer.size()) {
    const std::size_t got = source.read(std::span(buffer).subspan(size));
    if (got == 0) break;
    size += got;
  }
  source.rewind();
  const std::string_view start(buffer.data(), size);
  if (start.starts_with("\x93NUMPY")) return "npy";
  if (start.starts_with("\x89HDF\r\n\x1a\n")) return "hdf5";
  const bool idx = size >= 4 && start[0] == 0 && start[1] == 0 && start[2] >= 0x08 && start[2] <= 0x0e && start[3] > 0;
  return idx ? "idx" : format_by_text(start);
}

/// …images-idx3-ubyte[.gz] → the …labels-idx1-ubyte[.gz] beside it, or null.
std::unique_ptr<ByteSource> sibling_labels(const std::string& path, Index memory_bytes) {
  struct Pair {
    std::string_view images;
    std::string_view labels;
  };
  constexpr std::array<Pair, 2> pairs{{{"images-idx3", "labels-idx1"}, {"images.idx3", "labels.idx1"}}};
  for (const auto& [images, labels] : pairs) {
    const std::size_t at = path.rfind(images);
    if (at == std::string::npos) continue;
    std::string other = path;
    other.replace(at, images.size(), labels);
    const bool packed = other.ends_with(".gz");
    const std::string alternative = packed ? other.substr(0, other.size() - 3) : other + ".gz";
    for (const auto& candidate : {other, alternative}) {
      if (exists(candidate)) return open_bytes(candidate, memory_bytes);
    }
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<TableReader> open_table(const std::string& path, const DatasetOptions& options) {
  std::string format = lower_case(options.format);
  if (!format.empty() && std::find(known_formats().begin(), known_formats().end(), format) == known_formats().end()) {
    fail_argument("unknown format " + quoted(options.format) + did_you_mean(format, known_formats()) + "; known are " +
                  join(known_formats(), ", "));
  }
  std::string file;
  std::string dataset;
  if ((format.empty() || format == "hdf5") && split_hdf5_path(path, file, dataset)) {
    return open_hdf5(open_bytes(file, options.memory_bytes), dataset, options.memory_bytes);
  }
  std::unique_ptr<ByteSource> source = open_bytes(path, options.memory_bytes);
  if (format.empty()) format = format_by_name(path);
  if (format.empty()) format = format_by_content(*source);
  if (format == "csv") return open_csv(std::move(source), '\0', options.header);
  if (format == "tsv") return open_csv(std::move(source), '\t', options.header);
  if (format == "arff") return open_arff(std::move(source));
  if (format == "svmlight") return open_svmlight(std::move(source));
  if (format == "npy") return open_npy(std::move(source), options.memory_bytes);
  if (format == "idx") return open_idx(std::move(source), sibling_labels(path, options.memory_bytes));
  return open_hdf5(std::move(source), "", options.memory_bytes);
}

}  // namespace mercer
