#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/write.hpp"

namespace mercer {
namespace {

/// Quoted when a reader would otherwise see several cells, a comment, or lose blanks at the ends.
std::string cell_text(const std::string& text) {
  const bool plain = text.find_first_of(",;\t\"\r\n") == std::string::npos && trim(text).size() == text.size() &&
                     (text.empty() || (text.front() != '#' && !text.starts_with("/*")));
  if (plain) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

void write_standard_output(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(STDOUT_FILENO, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_file(std::string("cannot write to standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

}  // namespace

struct CsvWriter::State {
  std::unique_ptr<AtomicFile> file;  ///< null: standard output
  std::string path;
  std::size_t columns = 0;
  std::string buffer;

  void begin_row(std::size_t cells) const {
    if (cells != columns) {
      fail_internal(path + ": a row of " + std::to_string(cells) + " cells in a table of " + std::to_string(columns));
    }
  }
  /// A lone empty cell is quoted: a blank line would not be read as a row.
  void end_row(bool blank) {
    constexpr std::size_t full = std::size_t{1} << 18U;
    buffer += blank ? "\"\"\n" : "\n";
    if (buffer.size() >= full) flush();
  }
  void flush() {
    if (file != nullptr) {
      file->write(std::string_view(buffer));
    } else {
      write_standard_output(buffer);
    }
    buffer.clear();
  }
};

CsvWriter::CsvWriter(const std::string& path, const std::vector<std::string>& header) : state_(std::make_unique<State>()) {
  if (path != "-") state_->file = std::make_unique<AtomicFile>(path);
  state_->path = path;
  state_->columns = header.size();
  row(header);
}

CsvWriter::~CsvWriter() = default;

void CsvWriter::row(std::span<const double> values) {
  state_->begin_row(values.size());
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (j != 0) state_->buffer += ',';
    if (!std::isnan(values[j])) state_->buffer += shortest(values[j]);
  }
  state_->end_row(values.size() == 1 && std::isnan(values[0]));
}

void CsvWriter::row(const std::vector<std::string>& cells) {
  state_->begin_row(cells.size());
  for (std::size_t j = 0; j < cells.size(); ++j) {
    if (j != 0) state_->buffer += ',';
    state_->buffer += cell_text(cells[j]);
  }
  state_->end_row(cells.size() == 1 && cells[0].empty());
}

void CsvWriter::commit() {
  state_->flush();
  if (state_->file != nullptr) state_->file->commit();
}

}  // namespace mercer
