#include "console.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer::cli {
namespace {
bool shown = false;  // a line of progress, on the one terminal there is
}

bool TerminalProgress::watched() {
  return isatty(STDERR_FILENO) != 0;
}

TerminalProgress::TerminalProgress(bool quiet) : active_(!quiet && watched()) {}
TerminalProgress::~TerminalProgress() {
  clear();
}

void TerminalProgress::clear() {
  if (shown) std::fputs("\r\033[K", stderr);
  shown = false;
}

void TerminalProgress::update(std::string_view stage, double fraction) {
  if (!active_) return;
  const auto now = std::chrono::steady_clock::now();
  if (stage != stage_) {
    stage_ = stage;
    started_ = now;
    last_ = {};
  }
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  std::string line = "\r\033[K" + stage_ + "  " + std::to_string(static_cast<int>(100 * fraction)) + " %";
  if (fraction > 0.01 && elapsed > 1) line += ", " + human_seconds(elapsed * (1 - fraction) / fraction) + " left";
  std::fputs(line.c_str(), stderr);
  shown = true;
}

void TerminalProgress::tell(std::string_view sentence) {
  if (!active_) return;
  clear();
  std::fputs(("plan: " + std::string(sentence) + "\n").c_str(), stderr);
}

void Console::say(const std::string& line) const {
  if (quiet_) return;
  TerminalProgress::clear();
  std::fputs((line + "\n").c_str(), json_ ? stderr : stdout);
}

void Console::emit(const nlohmann::json& object) const {
  if (!json_) return;
  const std::string text = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail_file("cannot write to standard output (is the disk full?)");
  }
}

std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
  const auto length = [](const std::string& text) {  // characters, not bytes
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
  };
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < header.size(); ++c) {
    width.push_back(length(header[c]));
    for (const auto& row : rows) width[c] = std::max(width[c], length(row[c]));
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string pad(width[c] - length(cells[c]), ' ');
      text += c == 0 ? cells[c] + pad : "  " + pad + cells[c];
    }
    out += text + "\n";
  };
  line(header);
  for (const auto& row : rows) line(row);
  out.pop_back();
  return out;
}

std::string brief(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.4g", value);
  return buffer.data();
}

}  // namespace mercer::cli
