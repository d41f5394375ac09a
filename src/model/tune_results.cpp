#include "model/tune_results.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/fail.hpp"
#include "base/text.hpp"
#include "io/write.hpp"

namespace mercer {
namespace {

const std::vector<std::string>& header() {
  static const std::vector<std::string> names = {"kernel", "map", "loss", "penalty", "metric", "score", "spread", "setup"};
  return names;
}

/// Cells of one line as CsvWriter writes them; no cell of ours holds a line end.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      result.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      result.emplace_back();
    } else {
      result.back() += line[i];
    }
  }
  return result;
}

}  // namespace

TuneResults::TuneResults(std::string path, std::string setup, std::string metric)
    : path_(std::move(path)), setup_(std::move(setup)), metric_(std::move(metric)) {
  if (path_.empty()) return;
  std::error_code ignored;
  if (std::filesystem::exists(path_, ignored)) read();
  add({});  // a folder that is not there is known before the work, not after it
}

void TuneResults::read() {
  std::ifstream file(path_);
  std::string line;
  if (!std::getline(file, line) || cells(line) != header())
    fail_file(path_ + ": this is no table of results of mercer tune; name another file with --results");
  for (Index number = 2; std::getline(file, line); ++number) {
    const std::vector<std::string> c = cells(line);
    TuneRow row;
    row.spread = std::numeric_limits<double>::quiet_NaN();
    const bool numbers = c.size() == header().size() && parse_number(c[3], row.penalty) && parse_number(c[5], row.score) &&
                         (c[6].empty() || parse_number(c[6], row.spread));
    if (!numbers) fail_file(path_ + ": line " + std::to_string(number) + " is not a row of results");
    if (c[7] != setup_) {
      fail_file(path_ + ": line " + std::to_string(number) +
                " is of a search on other rows, folds, penalties or options; name another file with --results");
    }
    row.kernel = c[0];
    row.map = c[1];
    row.loss = c[2];
    rows_.push_back(std::move(row));
  }
}

std::vector<TuneRow> TuneResults::find(const std::string& kernel, const std::string& map, const std::string& loss) const {
  std::vector<TuneRow> found;
  for (const TuneRow& row : rows_) {
    if (row.kernel == kernel && row.map == map && row.loss == loss) found.push_back(row);
  }
  return found;
}

void TuneResults::add(const std::vector<TuneRow>& rows) {
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  if (path_.empty()) return;
  CsvWriter out(path_, header());
  for (const TuneRow& row : rows_) {
    out.row(std::vector<std::string>{row.kernel, row.map, row.loss, shortest(row.penalty), metric_, shortest(row.score),
                                     std::isnan(row.spread) ? "" : shortest(row.spread), setup_});
  }
  out.commit();
}

}  // namespace mercer
