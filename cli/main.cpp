#include <mercer/error.hpp>
#include <mercer/progress.hpp>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>

#include "arguments.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"

namespace {

using namespace mercer;
using namespace mercer::cli;

volatile std::sig_atomic_t signal_received = 0;

extern "C" void on_signal(int number) {
  if (signal_received != 0) {  // asked twice: now, even within LAPACK
    constexpr std::string_view line = "mercer: stopped at once\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    std::_Exit(128 + number);
  }
  signal_received = number;
  request_stop();
}

int complain(const std::string& message) {
  std::fprintf(stderr, "mercer: %s\n", message.c_str());
  return 2;
}

/// The option the user most likely meant, for words the parser did not know.
std::string unknown_words(const Verb& verb, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const auto& name : verb.options) known.push_back("--" + name);
  for (const auto& word : words) {
    if (!word.starts_with("-")) continue;
    const std::string name = word.substr(0, word.find('='));
    const auto longer =
        std::ranges::find_if(known, [&](const std::string& k) { return name.size() > 3 && k.starts_with(name); });
    const std::string hint = longer != known.end() ? " (did you mean '" + *longer + "'?)" : did_you_mean(name, known);
    return "unknown option " + mercer::quoted(name) + hint + "; mercer " + verb.name + " --help lists them";
  }
  return "unexpected argument " + mercer::quoted(words.empty() ? "" : words.front()) + "; mercer " + verb.name + " takes " +
         (verb.positionals.empty() ? "no files" : verb.positionals);
}

/// The parser's complaint, in our words when an option lacks its value.
std::string misused(const Verb& verb, const CLI::ParseError& error) {
  const std::string what(trim(split(error.what(), '\n').front()));
  const std::string name = what.substr(0, what.find(':'));
  const auto option = std::ranges::find(option_table(), name, &OptionSpec::name);
  const bool lacking = option != option_table().end() && !option->value.empty();
  return (lacking ? name + " needs a value, as in " + name + " " + option->value : what) + "; see mercer " + verb.name +
         " --help";
}

/// Files that would be replaced by what is made of them; "" for none. A merged file may be one of its parts.
std::string overwritten(const Verb& verb, const Arguments& arguments) {
  for (const char* option : {"output", "plot", "trace"}) {
    if (!arguments.has(option) || verb.name == "merge") continue;
    const std::string target = arguments.text(option);
    const auto same = [&](const std::string& file) {
      std::error_code ignored;
      return std::filesystem::is_regular_file(target, ignored) && std::filesystem::equivalent(file, target, ignored);
    };
    const auto file = std::ranges::find_if(arguments.files, same);
    if (file != arguments.files.end())
      return "--" + std::string(option) + " " + target + " would replace " + mercer::quoted(*file) +
             ", which is read: name another file";
  }
  return "";
}

int run_verb(const Verb& verb, int argc, char** argv) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras(false);
  bool help = false;
  app.add_flag("-h,--help", help);
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> flags;
  Arguments arguments;
  app.add_option("files", arguments.files)->expected(0, -1);
  for (const auto& name : verb.options) {
    const auto option = std::ranges::find(option_table(), "--" + name, &OptionSpec::name);
    const std::string spelled = name == "output" ? "-o,--output" : option->name;
    if (option->value.empty()) {
      app.add_flag(spelled, flags[name]);
    } else {
      app.add_option(spelled, texts[name])->take_last();
    }
  }
  std::vector<std::string> words(argv + 2, argv + argc);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ExtrasError&) {
    return complain(unknown_words(verb, app.remaining()));
  } catch (const CLI::ParseError& e) {
    return complain(misused(verb, e));
  }
  if (help) {
    std::fputs(help_text(verb).c_str(), stdout);
    return 0;
  }
  for (const auto& [name, given] : flags) {
    if (given) arguments.set(name, "true");
  }
  for (const auto& [name, value] : texts) {
    if (app.get_option("--" + name)->count() > 0) arguments.set(name, value);
  }
  if (arguments.files.size() < verb.least_files || arguments.files.size() > verb.most_files) {
    const std::size_t count = arguments.files.size();
    return complain(verb.name + " takes " + (verb.positionals.empty() ? "no files" : verb.positionals) + ", and " +
                    (count == 0 ? "no" : std::to_string(count)) + (count == 1 ? " file was" : " files were") +
                    " given; see mercer " + verb.name + " --help");
  }
  set_threads(static_cast<int>(std::min<std::int64_t>(1024, arguments.integer("threads", 0))));
  if (const std::string refusal = overwritten(verb, arguments); !refusal.empty()) return complain(refusal);
  return verb.run(arguments);
}

/// The exit code, once everything said has left; what overflowed the buffer earlier may have failed already.
int flushed(int code) {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0
             ? code
             : complain("cannot write to standard output (is the disk full?)");
}

/// mercer [--help | help [VERB | --markdown]]
int run_help(const std::vector<std::string>& words) {
  const std::string topic = words.size() > 1 ? words[1] : "";
  const auto verb = std::ranges::find(verbs(), topic, &Verb::name);
  const std::string text = topic == "--markdown"   ? reference_markdown()
                           : verb != verbs().end() ? help_text(*verb)
                                                   : help_text();
  std::fputs(text.c_str(), stdout);
  return words.empty() ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  try {
    const std::string word = argc > 1 ? argv[1] : "--help";
    if (word == "--help" || word == "-h" || word == "help") {
      return flushed(run_help({argv + 1, argv + argc}));
    }
    if (word == "--version") {
      std::puts("mercer " MERCER_VERSION);
      return 0;
    }
    const auto verb = std::ranges::find(verbs(), word, &Verb::name);
    if (verb == verbs().end()) {
      std::vector<std::string> names;
      for (const Verb& v : verbs()) names.push_back(v.name);
      return complain("unknown verb " + mercer::quoted(word) + did_you_mean(word, names) + "; the verbs are " +
                      join(names, ", "));
    }
    return flushed(run_verb(*verb, argc, argv));
  } catch (const Error& e) {
    complain(e.what());
    switch (e.kind()) {
      case ErrorKind::interrupted:
        // At once: an abandoned LAPACK call may still be running, and waiting for it is not what was asked for.
        std::fflush(nullptr);
        std::_Exit(128 + (signal_received != 0 ? signal_received : SIGINT));
      case ErrorKind::internal:
        return 1;
      case ErrorKind::invalid_argument:
      case ErrorKind::file:
        break;
    }
    return 2;
  } catch (const std::bad_alloc&) {
    return complain("not enough memory; use fewer features or a smaller --memory");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mercer: internal error: %s\n", e.what());
    return 1;
  }
}
