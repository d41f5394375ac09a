#include "arguments.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "base/text.hpp"

namespace mercer::cli {
namespace {

const OptionSpec& spec(const std::string& name) {
  const auto& table = option_table();
  const auto found = std::ranges::find(table, "--" + name, &OptionSpec::name);
  if (found == table.end()) fail_internal("option --" + name + " is not in the table");
  return *found;
}

/// Breaks text at spaces so that lines stay within `width`, continuing at `indent`.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (const auto& word : split(text, ' ')) {
    if (column + word.size() + 1 > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string usage(const Verb& verb) {
  return "mercer " + verb.name + (verb.positionals.empty() ? "" : " " + verb.positionals) + " [options]";
}

std::string left_column(const OptionSpec& option) {
  const std::string alias = option.name == "--output" ? "-o, " : "";
  return alias + option.name + (option.value.empty() ? "" : " " + option.value);
}

}  // namespace

std::string Arguments::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found != values_.end() ? found->second : spec(name).fallback;
}

double Arguments::number(const std::string& name) const {
  double value = 0;
  if (!parse_number(text(name), value) || !std::isfinite(value)) {
    fail_argument("--" + name + " " + mercer::quoted(text(name)) + " is not a number");
  }
  return value;
}

std::int64_t Arguments::integer(const std::string& name, std::int64_t least) const {
  const double value = number(name);
  constexpr double most = 9007199254740992.0;  // 2⁵³
  if (value != std::floor(value) || value < static_cast<double>(least) || value > most) {
    fail_argument("--" + name + " must be a whole number of at least " + std::to_string(least) + ", got " +
                  mercer::quoted(text(name)));
  }
  return static_cast<std::int64_t>(value);
}

Index Arguments::bytes(const std::string& name) const {
  std::string given = text(name);
  std::ranges::transform(given, given.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  double unit = 1;
  for (const auto& [suffix, factor] : std::vector<std::pair<std::string, double>>{{"TIB", 0x1p40},
                                                                                  {"GIB", 0x1p30},
                                                                                  {"MIB", 0x1p20},
                                                                                  {"KIB", 0x1p10},
                                                                                  {"TB", 1e12},
                                                                                  {"GB", 1e9},
                                                                                  {"MB", 1e6},
                                                                                  {"KB", 1e3},
                                                                                  {"T", 1e12},
                                                                                  {"G", 1e9},
                                                                                  {"M", 1e6},
                                                                                  {"K", 1e3},
                                                                                  {"B", 1}}) {
    if (given.size() > suffix.size() && given.ends_with(suffix)) {
      unit = factor;
      given.resize(given.size() - suffix.size());
      break;
    }
  }
  double value = 0;
  if (!parse_number(trim(given), value) || !(value * unit >= 1e6) || value * unit > 1e15) {
    fail_argument("--" + name + " " + mercer::quoted(text(name)) +
                  " is not an amount of memory from 1MB to 1000TB, such as 500MB or 2GB");
  }
  return static_cast<Index>(value * unit);
}

std::string help_text(const Verb& verb) {
  constexpr std::size_t width = 110;
  constexpr std::size_t indent = 28;
  std::string out = verb.summary + "\n\nusage: " + usage(verb) + "\n\n" + verb.description + "\n\noptions:\n";
  for (const auto& name : verb.options) {
    const OptionSpec& option = spec(name);
    std::string left = "  " + left_column(option);
    left += left.size() + 2 > indent ? "\n" + std::string(indent, ' ') : std::string(indent - left.size(), ' ');
    const std::string fallback = option.fallback.empty() ? "" : " [default: " + option.fallback + "]";
    out += left + wrapped(option.help + fallback, indent, width) + "\n";
  }
  return out;
}

std::string help_text() {
  std::string out =
      "mercer learns scalar- and vector-valued functions with kernels, at scale.\n\n"
      "usage: mercer VERB ... (mercer VERB --help tells more)\n\nverbs:\n";
  for (const Verb& verb : verbs())
    out += "  " + verb.name + std::string(13 - std::min<std::size_t>(12, verb.name.size()), ' ') + verb.summary + "\n";
  out +=
      "\na first try:\n"
      "  mercer fit train.csv --target y -o model.mercer\n"
      "  mercer predict model.mercer new.csv --std -o predictions.csv\n"
      "  mercer score model.mercer test.csv\n";
  return out;
}

std::string reference_markdown() {
  std::string out =
      "# The command line\n\n"
      "<!-- written by `make docs` from the option table in cli/options.cpp and the verbs in cli/; do not edit -->\n\n"
      "Exit codes: 0 done; 2 your or the file's fault, with one line on standard error; 1 our fault; 130 interrupted.\n"
      "With `--json` standard output holds exactly one JSON object; everything else goes to standard error.\n";
  for (const Verb& verb : verbs()) {
    out += "\n## mercer " + verb.name + "\n\n" + verb.summary + "\n\n    " + usage(verb) + "\n\n```\n" + verb.description +
           "\n```\n\n| option | default | meaning |\n|---|---|---|\n";
    for (const auto& name : verb.options) {
      const OptionSpec& option = spec(name);
      std::string left = left_column(option);
      std::string help = option.help;
      for (std::string* cell : {&left, &help}) {
        for (std::size_t at = cell->find('|'); at != std::string::npos; at = cell->find('|', at + 2)) cell->insert(at, "\\");
      }
      out += "| `" + left + "` | " + (option.fallback.empty() ? "" : "`" + option.fallback + "`") + " | " + help + " |\n";
    }
  }
  return out;
}

}  // namespace mercer::cli
