// `mercer reproduce`: the tables and figures of the papers, each from one command.
#include "reproduce.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "common.hpp"
#include "io/atomic_file.hpp"
#include "io/write.hpp"

namespace mercer::cli {
namespace reproduce {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = {
      {"orff-fig1", "kernel error against the number of frequencies", orff_fig1},
      {"orff-fig2", "MNIST: seconds of exact and random-feature fits against the number of images", orff_fig2},
      {"orff-fig3", "MNIST: test error against the number of frequencies", orff_fig3},
      {"orff-fig4", "a curl-free field: error against the number of frequencies", orff_fig4},
      {"orff-fig5", "a curl-free field: seconds of exact and random-feature fits against the number of rows", orff_fig5},
      {"orff-fig6", "variance of the kernel estimate, measured, exact and bounded", orff_fig6},
      {"orff-table3", "twenty outputs of rank one, with and without noise", orff_table3},
      {"fields", "ocean drifters and a magnetic field: which structure pays on real data", fields},
      {"psketch-fig1", "p-SR sketches with the Huber loss: error and time against the sketch size; outliers", psketch_fig1},
      {"psketch-fig2", "p-SG sketches with the Huber loss: error and time against the sketch size", psketch_fig2},
      {"psketch-fig3", "p-SR sketches with the ε-insensitive loss: error and time against the sketch size", psketch_fig3},
      {"psketch-fig4", "p-SG sketches with the ε-insensitive loss: error and time against the sketch size", psketch_fig4},
      {"psketch-table1", "Boston: five quantiles together, exact and sketched", psketch_table1},
      {"psketch-table2", "river flows and prices: mean relative error, exact and sketched", psketch_table2},
      {"psketch-table6", "river flows and prices: relative error of every target", psketch_table6},
      {"conformal", "five data sets: how often 90 % intervals hold the truth, of means and of quantiles", conformal},
      {"sm-fig1", "spectral mixtures: kernel error during training by the allocation of spectral points", sm_fig1},
      {"sm-fig2", "spectral mixtures: training of exact, variational and sparse-spectrum processes", sm_fig2},
      {"sm-series", "airline, CO2 and sunspots: forecasts of spectral-mixture processes", sm_series},
  };
  return all;
}

}  // namespace reproduce

namespace {

using reproduce::Experiment;
using reproduce::Findings;

std::vector<const Experiment*> chosen(const std::vector<std::string>& names) {
  const auto& all = reproduce::experiments();
  std::vector<std::string> known;
  for (const Experiment& e : all) known.push_back(e.name);
  std::vector<const Experiment*> list;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &Experiment::name);
    if (found == all.end()) {
      fail_argument("there is no experiment " + mercer::quoted(name) + did_you_mean(name, known) + "; there are " +
                    join(known, ", "));
    }
    list.push_back(&*found);
  }
  return list;
}

std::string data_folder(const Arguments& a) {
  if (a.has("data")) return a.text("data");
  const char* set = std::getenv("MERCER_DATA");
  return set != nullptr ? set : "../shared/data";
}

void make_folder(const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) fail_file(folder + ": cannot make this folder: " + failure.message());
}

/// "| a | b |": a line of a table in Markdown.
std::string markdown_line(const std::vector<std::string>& cells) {
  return "| " + join(cells, " | ") + " |\n";
}

/// The table that is printed, in Markdown, for the page of the experiment.
void write_table(const std::string& path, const std::vector<std::vector<std::string>>& table) {
  AtomicFile file(path);
  file.write(markdown_line(table.front()));
  file.write(markdown_line(std::vector<std::string>(table.front().size(), "---")));
  for (std::size_t i = 1; i < table.size(); ++i) file.write(markdown_line(table[i]));
  file.commit();
}

/// Writes <folder>/<name>.csv, <name>.md and <name><suffix>.svg; the paths.
std::vector<std::string> write_findings(const std::string& folder, const std::string& name, const Findings& findings) {
  std::vector<std::string> paths = {folder + "/" + name + ".csv"};
  CsvWriter csv(paths.front(), findings.columns);
  for (const auto& row : findings.rows) csv.row(row);
  csv.commit();
  paths.push_back(folder + "/" + name + ".md");
  write_table(paths.back(), findings.table);
  for (const reproduce::Chart& chart : findings.charts) {
    paths.push_back(folder + "/" + name + chart.suffix + ".svg");
    AtomicFile file(paths.back());
    file.write(chart.svg);
    file.commit();
  }
  return paths;
}

}  // namespace

int run_reproduce(const Arguments& a) {
  const Console console(a);
  warn_about_backend(console);
  TerminalProgress progress(a.flag("quiet"));
  const auto list = chosen(a.files);
  const std::string folder = a.has("output") ? a.text("output") : "docs/reproduction";
  make_folder(folder);
  reproduce::Settings settings;
  settings.quick = a.flag("quick");
  settings.data = data_folder(a);
  settings.seed = static_cast<std::uint64_t>(a.integer("seed", 0));
  settings.progress = &progress;
  nlohmann::json done = nlohmann::json::array();
  for (const Experiment* experiment : list) {
    const Stopwatch watch;
    const Findings findings = experiment->run(settings);
    const auto paths = write_findings(folder, experiment->name, findings);
    const double seconds = watch.seconds();
    console.say(experiment->name + ": " + experiment->what +
                (settings.quick ? " (--quick: a slice, not the experiment)" : ""));
    const std::vector<std::vector<std::string>> body(findings.table.begin() + 1, findings.table.end());
    console.say(table(findings.table.front(), body));
    nlohmann::json headline = nlohmann::json::object();
    for (const auto& [name, value] : findings.headline) {
      headline[name] = value;
      console.say(name + ": " + brief(value));
    }
    console.say("wrote " + join(paths, ", ") + " in " + human_seconds(seconds) + "\n");
    done.push_back({{"name", experiment->name},
                    {"quick", settings.quick},
                    {"headline", headline},
                    {"files", paths},
                    {"seconds", seconds}});
  }
  console.emit({{"experiments", done}});
  return 0;
}

}  // namespace mercer::cli
