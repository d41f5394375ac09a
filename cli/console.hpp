#pragma once
#include <mercer/progress.hpp>

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "arguments.hpp"

namespace mercer::cli {

/// What is going to be done, and a progress line with the time left, on standard error when that is a terminal.
class TerminalProgress : public Progress {
 public:
  explicit TerminalProgress(bool quiet);
  ~TerminalProgress() override;
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;
  void update(std::string_view stage, double fraction) override;
  void tell(std::string_view sentence) override;
  static bool watched();  ///< whether it is
  static void clear();    ///< the line, before anything else is written

 private:
  bool active_;
  std::string stage_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point last_;
};

/// Human words go to standard output, or to standard error when standard output carries JSON; --quiet drops them.
class Console {
 public:
  explicit Console(const Arguments& arguments) : json_(arguments.flag("json")), quiet_(arguments.flag("quiet")) {}
  void say(const std::string& line) const;
  void emit(const nlohmann::json& object) const;  ///< with --json
  bool json() const { return json_; }

 private:
  bool json_;
  bool quiet_;
};

/// Columns aligned under their headings, numbers to the right.
std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// Four significant digits.
std::string brief(double value);

}  // namespace mercer::cli
