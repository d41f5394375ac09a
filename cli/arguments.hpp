#pragma once
#include <mercer/view.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mercer::cli {

/// One option of the program. This table feeds the parser, --help and docs/cli.md.
struct OptionSpec {
  std::string name;      ///< "--kernel"
  std::string value;     ///< "K" as shown in help; "" for a flag
  std::string fallback;  ///< default as text; "" for none
  std::string help;
};
const std::vector<OptionSpec>& option_table();

/// What the user gave, by option name without dashes.
class Arguments {
 public:
  std::vector<std::string> files;

  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }
  bool has(const std::string& name) const { return values_.contains(name); }
  bool flag(const std::string& name) const { return has(name); }
  /// The given text, or the option's default.
  std::string text(const std::string& name) const;
  /// As a number; Error(invalid_argument) naming the option otherwise.
  double number(const std::string& name) const;
  std::int64_t integer(const std::string& name, std::int64_t least) const;
  /// "512MB", "2GB", "1e9": bytes.
  Index bytes(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

struct Verb {
  std::string name;
  std::string summary;      ///< one line
  std::string positionals;  ///< "DATA..." as in the usage line
  std::size_t least_files = 0;
  std::size_t most_files = 0;
  std::string description;  ///< a paragraph and examples
  std::vector<std::string> options;
  int (*run)(const Arguments&) = nullptr;
};
const std::vector<Verb>& verbs();

/// Help of one verb, or of the program.
std::string help_text(const Verb& verb);
std::string help_text();
/// docs/cli.md, generated.
std::string reference_markdown();

}  // namespace mercer::cli
